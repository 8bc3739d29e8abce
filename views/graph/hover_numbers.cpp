#include "views/graph/hover_numbers.h"

#include <QCoreApplication>
#include <QStringList>

namespace megascope {

const OprNumbers* HoverNumbers::of(const QString& id) {
    const auto [it, fresh] = known_.try_emplace(id);
    if (fresh) it->second = columns_.numbers(id);
    return it->second ? &*it->second : nullptr;
}

TooltipLines HoverNumbers::lines(const std::vector<OprId>& oprs) {
    TooltipLines lines;
    static const QStringList ids = {QStringLiteral("order"), QStringLiteral("time"), QStringLiteral("share"), QStringLiteral("host"), QStringLiteral("flops"), QStringLiteral("throughput"),
                                    QStringLiteral("bytes"), QStringLiteral("bandwidth"), QStringLiteral("intensity"), QStringLiteral("error")};
    const auto tr = [](const char* s) { return QCoreApplication::translate("HoverNumbers", s); };
    for (const QString& id : ids) {
        const OprNumbers* found = of(id);
        const auto value = found ? found->of(oprs) : std::nullopt;
        if (!value) continue;
        const OprColumn& column = found->column;
        QString line = columnText(*value, column.unit);
        if (id == QLatin1String("flops") || id == QLatin1String("bytes") || id == QLatin1String("time")) line += QStringLiteral("  (%1)").arg(columnExact(*value, column.unit));
        if (id == QLatin1String("order") && oprs.size() > 1) line = tr("from %1").arg(line);
        if (id == QLatin1String("error") && oprs.size() > 1) line = tr("at most %1").arg(line);
        // As the labels of a tooltip are written.
        QString label = column.title;
        label[0] = label[0].toLower();
        lines.append({label, line});
    }
    return lines;
}

} // namespace megascope
