#include "views/common/number_text.h"

#include <QStringList>

namespace megascope {

QString indexText(const Shape& shape, std::uint64_t index) {
    QStringList parts;
    for (std::size_t axis = shape.ndim(); axis-- > 0;) {
        const auto size = static_cast<std::uint64_t>(shape[axis]);
        if (size == 0) return QStringLiteral("[]");
        parts.prepend(QString::number(index % size));
        index /= size;
    }
    return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

} // namespace megascope
