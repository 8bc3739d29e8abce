#include "views/common/category_legend.h"

#include <QPainter>

#include <algorithm>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr int gap = 12;
constexpr int inner = 4;

} // namespace

CategoryLegend::CategoryLegend(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed); }

void CategoryLegend::setCategories(const std::vector<OprCategory>& categories) {
    categories_ = categories;
    std::ranges::sort(categories_);
    const auto rest = std::ranges::unique(categories_);
    categories_.erase(rest.begin(), rest.end());
    QStringList names;
    for (const OprCategory category : categories_) names << text(category_name(category));
    setToolTip(names.join(QStringLiteral(", ")));
    setAccessibleName(toolTip());
    updateGeometry();
    update();
}

QSize CategoryLegend::sizeHint() const {
    const int swatch = fontMetrics().ascent();
    int width = 0;
    for (const OprCategory category : categories_) width += swatch + inner + fontMetrics().horizontalAdvance(text(category_name(category))) + gap;
    return {width, fontMetrics().height() + 4};
}

void CategoryLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const int swatch = fontMetrics().ascent();
    int x = 0;
    for (const OprCategory category : categories_) {
        const QString name = text(category_name(category));
        const int wide = swatch + inner + fontMetrics().horizontalAdvance(name);
        if (x + wide > width()) break;
        painter.fillRect(x, (height() - swatch) / 2, swatch, swatch, categoryFill(category, isDark(palette())));
        painter.setPen(themeColours(palette()).dimmedText);
        painter.drawText(QRect(x + swatch + inner, 0, wide, height()), Qt::AlignLeft | Qt::AlignVCenter, name);
        x += wide + gap;
    }
}

} // namespace megascope
