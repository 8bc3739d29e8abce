#include <QFontMetricsF>
#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"
#include "views/graph/minimap.h"

// What a graph view fills its boxes with instead of categories, and the legends for it.

namespace megascope {

void GraphView::setColumnColors(std::vector<std::optional<double>> per_opr, const QString& legend, bool logarithmic, const QString& unit) {
    column_ = Column{std::move(per_opr), legend, unit, logarithmic};
    marks_.clear();
    applyColours();
    minimap_->setPicture(picture_, paint_);
    update();
}

void GraphView::clearColumnColors() {
    column_.reset();
    applyColours();
    minimap_->setPicture(picture_, paint_);
    update();
}

void GraphView::setColumnClip(double share) {
    column_clip_ = std::clamp(share, 0.0, 1.0);
    applyColours();
    minimap_->setPicture(picture_, paint_);
    update();
}

void GraphView::setMarks(std::vector<std::uint8_t> mark_of, std::vector<GraphMark> marks) {
    mark_of_ = std::move(mark_of);
    marks_ = std::move(marks);
    if (!marks_.empty()) column_.reset();
    applyColours();
    minimap_->setPicture(picture_, paint_);
    update();
}

void GraphView::applyMarks() {
    const GraphScene& scene = picture_->scene;
    std::vector<std::uint8_t> of_node(scene.nodes.size(), 0);
    for (std::size_t o = 0; o < std::min(mark_of_.size(), scene.node_of_opr.size()); ++o) {
        const auto node = mark_of_[o] ? nodeOf(OprId(o)) : std::nullopt; // a folded constant marks its reader
        if (node) of_node[*node] = std::max(of_node[*node], mark_of_[o]);
    }
    paint_.colours.resize(of_node.size());
    for (std::size_t i = 0; i < of_node.size(); ++i)
        if (of_node[i] && of_node[i] <= marks_.size()) paint_.colours[i] = marks_[of_node[i] - 1U].colour;
}

void GraphView::paintMarks(QPainter& painter) const {
    if (marks_.empty()) return;
    const QFontMetricsF metrics(font());
    double widest = 0;
    std::size_t rows = 0;
    for (const GraphMark& m : marks_) {
        widest = std::max(widest, metrics.horizontalAdvance(m.text));
        rows += !m.text.isEmpty();
    }
    const double row = metrics.height() + 4, h = row * static_cast<double>(rows) + 12;
    const QRectF box(12, height() - h - 12, widest + 42, h);
    QColor back = style_.background;
    back.setAlpha(235);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(font());
    painter.setBrush(back);
    painter.setPen(QPen(style_.frame_border, 1));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    double y = box.y() + 6;
    for (const GraphMark& m : marks_) {
        if (m.text.isEmpty()) continue;
        painter.setBrush(m.colour);
        painter.setPen(QPen(style_.frame_border, 1));
        painter.drawRoundedRect(QRectF(box.x() + 10, y + 3, 14, row - 8), 3, 3);
        painter.setPen(style_.text);
        painter.drawText(QPointF(box.x() + 32, y + metrics.ascent() + 1), m.text);
        y += row;
    }
}

void GraphView::applyColours() {
    paint_.colours.clear();
    if (picture_ && !column_ && !marks_.empty()) return applyMarks();
    if (!column_ || !picture_) return;
    // Sums per node: an operator's own number, a group's total.
    const GraphScene& scene = picture_->scene;
    std::vector<std::optional<double>> values(scene.nodes.size());
    for (std::size_t o = 0; o < std::min(column_->values.size(), scene.node_of_opr.size()); ++o) {
        const std::uint32_t node = scene.node_of_opr[o];
        const auto& v = column_->values[o];
        if (node != GraphScene::hidden && v && std::isfinite(*v)) values[node] = values[node].value_or(0) + *v;
    }
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& v : values) {
        if (!v || (column_->logarithmic && *v <= 0)) continue;
        low = std::min(low, *v);
        high = std::max(high, *v);
    }
    if (low > high) low = high = 0;
    column_->clipped = false;
    if (column_clip_ < 1) {
        std::vector<double> order;
        for (const auto& v : values)
            if (v && (!column_->logarithmic || *v > 0)) order.push_back(*v);
        if (!order.empty()) {
            // The number that `column_clip_` of all do not exceed.
            const auto rank = static_cast<std::size_t>(std::ceil(column_clip_ * static_cast<double>(order.size())));
            const auto at = order.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
            std::nth_element(order.begin(), at, order.end());
            column_->clipped = *at < high;
            high = *at;
        }
    }
    if (!column_->logarithmic) low = std::min(low, 0.0);
    column_->low = low;
    column_->high = high;
    paint_.colours.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        double t = 0;
        if (column_->logarithmic) t = *values[i] <= 0 || high <= low ? 0 : std::log(*values[i] / low) / std::log(high / low);
        else t = high > low ? (*values[i] - low) / (high - low) : 0;
        paint_.colours[i] = viridis(*values[i] > high ? 1 : t);
    }
}

void GraphView::paintLegend(QPainter& painter) const {
    if (!column_) return;
    const auto text = [&](double v) {
        return column_->unit == QStringLiteral("s") ? secondsText(v) : column_->unit == QStringLiteral("B") ? bytesText(v) : numberText(v, 3);
    };
    const QFontMetricsF metrics(font());
    const QString title = column_->legend + (column_->logarithmic ? tr(" (log)") : QString()) + (column_->clipped ? tr(", clipped at %1 %").arg(std::lround(column_clip_ * 100)) : QString());
    const QString low = text(column_->low), high = (column_->clipped ? QStringLiteral("≥ ") : QString()) + text(column_->high);
    const double bar = 140, w = std::max(bar, metrics.horizontalAdvance(title)) + 20, h = 2 * metrics.height() + 26;
    const QRectF box(12, height() - h - 12, w, h);
    QColor back = style_.background;
    back.setAlpha(235);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(back);
    painter.setPen(QPen(style_.frame_border, 1));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.setFont(font());
    painter.setPen(style_.text);
    painter.drawText(QPointF(box.x() + 10, box.y() + 6 + metrics.ascent()), title);
    const QRectF ramp(box.x() + 10, box.y() + metrics.height() + 10, w - 20, 8);
    QLinearGradient gradient(ramp.topLeft(), ramp.topRight());
    for (int i = 0; i <= 16; ++i) gradient.setColorAt(i / 16.0, viridis(i / 16.0));
    painter.fillRect(ramp, gradient);
    painter.setPen(style_.dimmed);
    const double y = ramp.bottom() + 2 + metrics.ascent();
    painter.drawText(QPointF(ramp.x(), y), low);
    painter.drawText(QPointF(ramp.right() - metrics.horizontalAdvance(high), y), high);
}

} // namespace megascope
