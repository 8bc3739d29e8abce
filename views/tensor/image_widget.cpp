#include "views/tensor/image_widget.h"

#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

void ImageWidget::setImage(const TensorImage& image) {
    image_ = image;
    update();
}

void ImageWidget::clear() {
    image_ = {};
    update();
}

void ImageWidget::paintEvent(QPaintEvent*) {
    if (image_.image.isNull()) return;
    QPainter painter(this);
    const ThemeColours colours = themeColours(palette());
    const int legend = fontMetrics().height() + 8;
    const QRectF area = QRectF(rect()).adjusted(4, 4, -4, -legend);
    const QSizeF size(image_.image.size());
    double scale = std::min(area.width() / size.width(), area.height() / size.height());
    if (scale > 1) scale = std::floor(scale); // whole pixels
    const QSizeF shown = size * scale;
    const QRectF target(area.left() + (area.width() - shown.width()) / 2, area.top() + (area.height() - shown.height()) / 2, shown.width(), shown.height());
    painter.setRenderHint(QPainter::SmoothPixmapTransform, scale < 1);
    painter.drawImage(target, image_.image);
    painter.setPen(colours.separator);
    painter.drawRect(target.adjusted(-0.5, -0.5, 0.5, 0.5));

    const QRectF labels(4, height() - legend + 2, width() - 8, fontMetrics().height() + 4);
    painter.setPen(colours.dimmedText);
    const QString low = numberText(image_.low, 4);
    const QString high = numberText(image_.high, 4);
    painter.drawText(labels, Qt::AlignLeft | Qt::AlignVCenter, low);
    painter.drawText(labels, Qt::AlignRight | Qt::AlignVCenter, high);
    QRectF bar = labels;
    bar.setLeft(labels.left() + fontMetrics().horizontalAdvance(low) + 8);
    bar.setRight(labels.right() - fontMetrics().horizontalAdvance(high) - 8);
    bar = bar.adjusted(0, bar.height() / 2 - 3, 0, -(bar.height() / 2 - 3));
    if (bar.width() < 16) return;
    QLinearGradient gradient(bar.topLeft(), bar.topRight());
    for (int i = 0; i <= 8; ++i) gradient.setColorAt(i / 8.0, image_.plan.kind == ImagePlan::Kind::map ? viridis(i / 8.0) : QColor(i * 255 / 8, i * 255 / 8, i * 255 / 8));
    painter.fillRect(bar, gradient);
}

} // namespace megascope
