#include <QElapsedTimer>
#include <QPainter>
#include <QResizeEvent>

#include <algorithm>
#include <cmath>

#include "views/graph/colour_bar.h"
#include "views/graph/graph_view.h"
#include "views/graph/minimap.h"

// What part of the drawing a graph view shows, and what stands in its corners.

namespace megascope {

namespace {

constexpr double most_scale = 4;
constexpr double most_selection_scale = 1.5;
constexpr double margin = 24;
constexpr qint64 frame_ms = 16; ///< 60 a second
constexpr int map_margin = 12; ///< of the minimap to the view's corner, and of boxes to the minimap

bool same(const std::optional<GraphTransform>& a, const GraphTransform& b) { return a && a->scale == b.scale && a->x == b.x && a->y == b.y; }

} // namespace

QRect GraphView::sight() const { return {0, 0, width(), height() - (bar_->isHidden() ? 0 : bar_->height())}; }

void GraphView::placeBar() {
    const QRect before = sight();
    const bool shown = !bar_->empty();
    if (shown) {
        const int h = bar_->heightFor(width(), height() / 3);
        bar_->setGeometry(0, height() - h, width(), h);
    }
    bar_->setVisible(shown);
    if (sight() != before) sightChanged(before);
}

void GraphView::sightChanged(const QRect& before) {
    if (!picture_) return;
    if (same(start_, transform_)) showStart(); // nobody has moved yet: a start for the new size
    else if (same(fitted_, transform_)) setTransform(*(fitted_ = fitting()));
    else {
        // The middle stays in the middle from side to side; what is at the top stays there.
        GraphTransform t = transform_;
        t.x += (before.width() - sight().width()) / t.scale / 2;
        setTransform(t);
    }
}

void GraphView::showStart() {
    // A drawing that fits is shown whole; a long one from its start, wide enough to read.
    const QRect view = sight();
    const LayoutRect& b = picture_->layout.bounds;
    double room = view.width(); // from side to side; beside the minimap when there will be one
    const double h = std::max(1.0, view.height() - 2 * margin);
    const auto wide = [&] { return std::max(1.0, room - 2 * margin); };
    const double whole = std::min(wide() / std::max(1.0, b.width), h / std::max(1.0, b.height));
    GraphTransform t;
    const bool sideways = request_.layout.direction == LayoutDirection::right;
    if (whole < 0.75 && !sideways && mapHasRoom()) room -= minimap_->fittingSize(view.size()).width() + map_margin;
    t.scale = std::min(1.0, std::max(whole, std::clamp((sideways ? h / std::max(1.0, b.height) : wide() / std::max(1.0, b.width)), 0.55, 1.0)));
    if (whole >= 0.75) t.scale = std::min(1.0, whole);
    LayoutRect first = b;
    if (!picture_->layout.nodes.empty() && t.scale > whole) {
        // What the first screen of the flow holds.
        LayoutRect strip = b, found;
        if (sideways) strip.width = view.width() / t.scale;
        else strip.height = view.height() / t.scale;
        std::vector<double> middles;
        picture_->node_index.query(strip, [&](std::uint32_t i) {
            found = found.united(picture_->layout.nodes[i]);
            middles.push_back(sideways ? picture_->layout.nodes[i].center_y() : picture_->layout.nodes[i].center_x());
        });
        if (!found.empty()) first = found;
        // More than fits: where most of it is.
        if (!middles.empty() && (sideways ? found.height * t.scale > view.height() : found.width * t.scale > room)) {
            const auto half = middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
            std::nth_element(middles.begin(), half, middles.end());
            (sideways ? first.y : first.x) = *half;
            (sideways ? first.height : first.width) = 0;
            room = view.width();
        }
    }
    t.x = first.center_x() - room / t.scale / 2;
    t.y = first.center_y() - view.height() / t.scale / 2;
    if (!sideways && b.height > view.height() / t.scale) t.y = b.y - margin / t.scale;
    if (sideways && b.width > view.width() / t.scale) t.x = b.x - margin / t.scale;
    setTransform(t);
    start_ = transform_;
}

void GraphView::showArea(const GraphTransform& transform) {
    motion_.stop();
    setTransform(transform);
}

double GraphView::leastScale() const {
    if (!picture_) return 0.01;
    const LayoutRect& b = picture_->layout.bounds;
    return std::min(0.25, 0.8 * std::min(sight().width() / std::max(1.0, b.width), sight().height() / std::max(1.0, b.height)));
}

void GraphView::clampTransform(GraphTransform& t) const {
    t.scale = std::clamp(t.scale, leastScale(), most_scale);
    if (!picture_) return;
    // Some part of the drawing always stays in sight.
    const LayoutRect& b = picture_->layout.bounds;
    const double keep_x = std::min(60.0 / t.scale, b.width), keep_y = std::min(60.0 / t.scale, b.height);
    t.x = std::clamp(t.x, b.x - sight().width() / t.scale + keep_x, b.right() - keep_x);
    t.y = std::clamp(t.y, b.y - sight().height() / t.scale + keep_y, b.bottom() - keep_y);
}

void GraphView::setTransform(GraphTransform t) {
    clampTransform(t);
    const bool zoomed = t.scale != transform_.scale, shifted = zoomed || t.x != transform_.x || t.y != transform_.y;
    transform_ = t;
    minimap_->setVisibleArea(t.to_layout(QRectF(sight())));
    placeMinimap();
    update();
    if (zoomed) emit zoomChanged(t.scale);
    if (shifted) emit moved();
}

GraphTransform GraphView::fitting() const {
    const LayoutRect& b = picture_->layout.bounds;
    const QRect view = sight();
    GraphTransform t;
    t.scale = std::clamp(std::min((view.width() - 2 * margin) / std::max(1.0, b.width), (view.height() - 2 * margin) / std::max(1.0, b.height)), leastScale(), 1.0);
    t.x = b.center_x() - view.width() / t.scale / 2;
    t.y = b.center_y() - view.height() / t.scale / 2;
    clampTransform(t);
    return t;
}

void GraphView::fit() {
    if (!picture_) return;
    fitted_ = fitting();
    animateTo(*fitted_);
}

bool GraphView::mapHasRoom() const { return sight().width() > 360 && sight().height() > 240; }

QRect GraphView::mapPlace() const {
    const QSize size = minimap_->fittingSize(sight().size());
    return {sight().width() - size.width() - map_margin, map_margin, size.width(), size.height()};
}

bool GraphView::mapShownAt(const GraphTransform& t) const {
    const LayoutRect seen = t.to_layout(QRectF(sight())), &b = picture_->layout.bounds;
    return mapHasRoom() && !(seen.x <= b.x && seen.y <= b.y && seen.right() >= b.right() && seen.bottom() >= b.bottom());
}

void GraphView::placeMinimap() {
    if (!picture_) return minimap_->hide();
    minimap_->setVisible(mapShownAt(transform_));
    minimap_->setGeometry(mapPlace());
}

bool GraphView::inSight(const LayoutRect& r) const {
    const QRectF device = transform_.to_device(r);
    if (!QRectF(sight()).adjusted(margin, margin, -margin, -margin).contains(device)) return false;
    if (covered().intersects(device)) return false;
    return !mapShownAt(transform_) || !QRectF(mapPlace()).intersects(device);
}

QRectF GraphView::covered() const {
    for (const QObject* child : children())
        if (const auto* panel = qobject_cast<const QWidget*>(child); panel && panel != bar_ && panel != minimap_ && !panel->isWindow() && !panel->isHidden()) return panel->geometry();
    return {};
}

GraphTransform GraphView::around(const LayoutRect& r, double scale) const {
    const QRectF view(sight());
    GraphTransform t;
    t.scale = scale;
    t.x = r.center_x() - view.width() / t.scale / 2;
    t.y = r.center_y() - view.height() / t.scale / 2;
    const QRectF map = mapShownAt(t) ? QRectF(mapPlace()).adjusted(-map_margin, 0, 0, map_margin) : QRectF(view.right(), 0, 0, 0);
    QRectF device = t.to_device(r);
    if (map.intersects(device)) {
        if (device.width() <= map.left() - margin) t.x += (device.right() - map.left()) / scale;
        else if (device.height() <= view.height() - margin - map.bottom()) t.y -= (map.bottom() - device.top()) / scale;
        device = t.to_device(r);
    }
    // A panel in the left corner: beside it where there is room, else below.
    const QRectF panel = covered().adjusted(0, 0, map_margin, map_margin);
    if (!covered().isEmpty() && panel.intersects(device)) {
        if (device.width() <= map.left() - panel.right()) t.x += (device.center().x() - (panel.right() + map.left()) / 2) / scale;
        else if (device.height() <= view.height() - map_margin - panel.bottom()) t.y -= (panel.bottom() - device.top()) / scale;
    }
    return t;
}

void GraphView::bringIntoView(const LayoutRect& r) {
    const bool readable = transform_.scale >= GraphPainter::text_scale;
    if (readable && inSight(r)) return;
    animateTo(around(r, readable ? transform_.scale : 0.8));
}

void GraphView::centerOn(OprId opr) {
    if (const auto node = nodeOf(opr)) animateTo(around(picture_->layout.nodes[*node], transform_.scale < GraphPainter::text_scale ? 0.8 : transform_.scale));
}

LayoutRect GraphView::selectedArea() const {
    LayoutRect area;
    if (highlight_.frame) area = picture_->layout.clusters[*highlight_.frame];
    if (highlight_.node) area = area.united(picture_->layout.nodes[*highlight_.node]);
    for (std::size_t i = 0; i < highlight_.several.size(); ++i)
        if (highlight_.several[i]) area = area.united(picture_->layout.nodes[i]);
    if (selected_var_.valid()) {
        // A var is its line: from where it comes to all who read it.
        if (const auto node = nodeOf(picture_->graph().var(selected_var_).producer)) area = area.united(picture_->layout.nodes[*node]);
        for (const OprId reader : picture_->graph().consumers(selected_var_))
            if (const auto node = nodeOf(reader)) area = area.united(picture_->layout.nodes[*node]);
    }
    return area;
}

void GraphView::zoomToSelection() {
    if (!picture_) return;
    const LayoutRect area = selectedArea();
    if (area.empty()) return;
    const auto scale_in = [&](double width) {
        return std::clamp(std::min((width - 2 * margin) / area.width, (sight().height() - 2 * margin) / area.height), leastScale(), most_selection_scale);
    };
    GraphTransform t = around(area, scale_in(sight().width()));
    if (mapShownAt(t) && QRectF(mapPlace()).intersects(t.to_device(area))) t = around(area, scale_in(mapPlace().left() - margin));
    animateTo(t);
}

void GraphView::zoomToActualSize() {
    if (!picture_) return;
    if (highlight_.node) return animateTo(around(picture_->layout.nodes[*highlight_.node], 1));
    GraphTransform t = transform_;
    const LayoutPoint middle = t.to_layout(QRectF(sight()).center());
    t.scale = 1;
    t.x = middle.x - sight().width() / 2.0;
    t.y = middle.y - sight().height() / 2.0;
    animateTo(t);
}

void GraphView::zoomBy(double factor) { zoomAt(QRectF(sight()).center(), factor); }

void GraphView::zoomAt(const QPointF& position, double factor) {
    motion_.stop();
    GraphTransform t = transform_;
    const LayoutPoint p = t.to_layout(position);
    t.scale = std::clamp(t.scale * factor, leastScale(), most_scale);
    t.x = p.x - position.x() / t.scale;
    t.y = p.y - position.y() / t.scale;
    setTransform(t);
}

void GraphView::panBy(double dx, double dy) {
    motion_.stop();
    GraphTransform t = transform_;
    t.x += dx / t.scale;
    t.y += dy / t.scale;
    setTransform(t);
}

void GraphView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setClipRect(sight());
    if (!picture_) {
        painter.fillRect(rect(), style_.background);
        return;
    }
    paint_.opacity = dimmed_ ? 0.4 : 1;
    paint_.gliding = gliding() ? &glide_now_ : nullptr;
    QElapsedTimer clock;
    clock.start();
    GraphPainter(*picture_, style_, fonts_, highlight_, paint_).paint(painter, transform_, QRectF(sight()));
    paint_.gliding = nullptr; // pictures for files are of the drawing at rest
    paintFlags(painter);
    paintBand(painter);
    if (!gliding()) return;
    // A machine that does not keep up sees no motion, but a stumble: it gets the end. One slow frame may be due to new letters.
    slow_frames_ = clock.elapsed() > frame_ms ? slow_frames_ + 1 : 0;
    if (slow_frames_ > 1) endGlide();
}

void GraphView::resizeEvent(QResizeEvent* event) {
    const int bar = bar_->isHidden() ? 0 : bar_->height();
    const QRect before(0, 0, event->oldSize().width(), event->oldSize().height() - bar);
    if (!bar_->empty()) {
        const int h = bar_->heightFor(width(), height() / 3);
        bar_->setGeometry(0, height() - h, width(), h);
    }
    if (event->oldSize().isValid()) sightChanged(before);
    else if (picture_ && same(start_, transform_)) showStart();
    placeMinimap();
}

} // namespace megascope
