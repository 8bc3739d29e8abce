#include "views/tensor/histogram_widget.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

HistogramWidget::HistogramWidget(QWidget* parent) : QWidget(parent) { setAccessibleName(tr("Histogram of the values")); }

void HistogramWidget::setStatistics(const TensorStatistics& statistics) {
    statistics_ = statistics;
    update();
}

void HistogramWidget::clear() {
    statistics_ = {};
    update();
}

QRectF HistogramWidget::plot() const { return QRectF(rect()).adjusted(4, 4, -4, -(fontMetrics().height() + 6)); }

void HistogramWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const auto& bins = statistics_.histogram;
    if (bins.empty()) return;
    const ThemeColours colours = themeColours(palette());
    const QRectF area = plot();
    const double most = static_cast<double>(*std::max_element(bins.begin(), bins.end()));
    const double width = area.width() / static_cast<double>(bins.size());
    for (std::size_t i = 0; i < bins.size(); ++i) {
        if (bins[i] == 0) continue;
        // A bin that holds anything shows at least one pixel.
        const double height = std::max(1.0, area.height() * static_cast<double>(bins[i]) / most);
        painter.fillRect(QRectF(area.left() + width * static_cast<double>(i), area.bottom() - height, std::max(1.0, width - 1), height), colours.accent);
    }
    painter.setPen(colours.separator);
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    if (statistics_.min < 0 && statistics_.max > 0) {
        const double zero = area.left() - statistics_.min / (statistics_.max - statistics_.min) * area.width();
        painter.setPen(QPen(colours.dimmedText, 1, Qt::DashLine));
        painter.drawLine(QPointF(zero, area.top()), QPointF(zero, area.bottom()));
    }
    painter.setPen(colours.dimmedText);
    const QRectF labels(area.left(), area.bottom() + 2, area.width(), fontMetrics().height() + 4);
    painter.drawText(labels, Qt::AlignLeft | Qt::AlignTop, numberText(statistics_.min, 4));
    painter.drawText(labels, Qt::AlignRight | Qt::AlignTop, numberText(statistics_.max, 4));
}

bool HistogramWidget::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && !statistics_.histogram.empty()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QRectF area = plot();
        const auto count = static_cast<double>(statistics_.histogram.size());
        const double t = (help->pos().x() - area.left()) / area.width();
        if (t >= 0 && t < 1) {
            const auto bin = static_cast<std::size_t>(t * count);
            const double step = (statistics_.max - statistics_.min) / count;
            const double from = statistics_.min + step * static_cast<double>(bin);
            QToolTip::showText(help->globalPos(), tr("%1 … %2: %3 values").arg(numberText(from, 4), numberText(from + step, 4), countText(statistics_.histogram[bin])), this);
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
