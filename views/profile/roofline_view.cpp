#include "views/profile/roofline_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr double smallest = 3.5; // pixels, radius
constexpr double largest = 16;

} // namespace

RooflineView::RooflineView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumHeight(120);
    setAccessibleName(tr("Roofline"));
}

void RooflineView::setScene(std::shared_ptr<const RooflineScene> scene) {
    scene_ = std::move(scene);
    shown_.clear();
    current_.reset();
    hovered_.reset();
    byTime_.clear();
    longest_ = 0;
    if (scene_) {
        const auto& points = scene_->roofline.points;
        byTime_.resize(points.size());
        std::iota(byTime_.begin(), byTime_.end(), 0U);
        std::ranges::stable_sort(byTime_, [&](std::uint32_t a, std::uint32_t b) { return points[a].seconds > points[b].seconds; });
        if (!byTime_.empty()) longest_ = points[byTime_.front()].seconds;
    }
    fit();
}

void RooflineView::setPeak(std::optional<MachinePeak> peak) {
    peak_ = std::move(peak);
    fit();
}

void RooflineView::setShown(std::vector<bool> shown) {
    shown_ = std::move(shown);
    update();
}

void RooflineView::setHighlighted(OprId opr) {
    current_.reset();
    if (scene_ && opr.valid())
        for (std::uint32_t i = 0; i < scene_->roofline.points.size(); ++i) {
            const RooflinePoint& point = scene_->roofline.points[i];
            if (point.opr == opr || std::ranges::find(point.fused, opr) != point.fused.end()) current_ = i;
        }
    update();
}

void RooflineView::fit() {
    range_ = Range();
    bool any = false;
    const auto add = [&](double intensity, double rate) {
        if (!(intensity > 0) || !(rate > 0)) return;
        const double x = std::log10(intensity);
        const double y = std::log10(rate);
        range_ = any ? Range{std::min(range_.left, x), std::max(range_.right, x), std::min(range_.bottom, y), std::max(range_.top, y)} : Range{x, x, y, y};
        any = true;
    };
    if (scene_)
        for (const RooflinePoint& point : scene_->roofline.points) add(point.intensity(), point.achieved());
    if (peak_) {
        const double most = std::max(peak_->float32, peak_->int8.value_or(0));
        add(ridge(peak_->float32, peak_->bandwidth), most);
        if (!any || range_.right - range_.left < 1) add(ridge(most, peak_->bandwidth) * 10, most);
    }
    if (!any) range_ = Range();
    range_.left -= 0.35;
    range_.right += 0.45;
    range_.bottom -= 0.35;
    range_.top += 0.45;
    update();
}

QRectF RooflineView::area(QSizeF size) const {
    const double left = fontMetrics().horizontalAdvance(QStringLiteral("00.0 GFLOP/s")) + 16;
    const double bottom = fontMetrics().height() * 2 + 10;
    return {left, 10, std::max(1.0, size.width() - left - 14), std::max(1.0, size.height() - bottom - 10)};
}

QPointF RooflineView::toPixel(double intensity, double rate, const QRectF& area) const {
    return {area.left() + (std::log10(intensity) - range_.left) / (range_.right - range_.left) * area.width(),
            area.bottom() - (std::log10(rate) - range_.bottom) / (range_.top - range_.bottom) * area.height()};
}

QPointF RooflineView::placeOf(std::uint32_t point) const {
    const RooflinePoint& p = scene_->roofline.points[point];
    return toPixel(p.intensity(), p.achieved(), area(size()));
}

double RooflineView::radius(std::uint32_t point) const {
    // Area by time.
    return longest_ > 0 ? std::max(smallest, largest * std::sqrt(scene_->roofline.points[point].seconds / longest_)) : smallest;
}

std::optional<std::uint32_t> RooflineView::pointAt(QPoint position) const {
    if (!scene_) return std::nullopt;
    for (std::size_t i = byTime_.size(); i-- > 0;) { // the last drawn lies on top
        const std::uint32_t point = byTime_[i];
        if (!isShown(point)) continue;
        const QPointF off = placeOf(point) - QPointF(position);
        if (std::hypot(off.x(), off.y()) <= radius(point) + 2) return point;
    }
    return std::nullopt;
}

void RooflineView::paintGrid(QPainter& painter, const QRectF& a) const {
    const ThemeColours colours = themeColours(palette());
    const int h = fontMetrics().height();
    const auto decades = [](double from, double to) { return std::pair(static_cast<int>(std::ceil(from)), static_cast<int>(std::floor(to))); };
    const auto [x0, x1] = decades(range_.left, range_.right);
    for (int d = x0; d <= x1; ++d) {
        const double x = toPixel(std::pow(10, d), 1, a).x();
        painter.setPen(colours.separator);
        painter.drawLine(QPointF(x, a.top()), QPointF(x, a.bottom()));
        painter.setPen(colours.dimmedText);
        // In words, not with an exponent; at the edges it moves inside.
        const QString label = d >= -4 && d <= 6 ? QString::number(std::pow(10, d), 'f', std::max(0, -d)) : numberText(std::pow(10, d), 3);
        const double half = fontMetrics().horizontalAdvance(label) / 2.0 + 2;
        painter.drawText(QRectF(std::clamp(x, half, std::max(half, width() - half)) - 50, a.bottom() + 2, 100, h), Qt::AlignCenter, label);
    }
    const auto [y0, y1] = decades(range_.bottom, range_.top);
    for (int d = y0; d <= y1; ++d) {
        const double y = toPixel(1, std::pow(10, d), a).y();
        painter.setPen(colours.separator);
        painter.drawLine(QPointF(a.left(), y), QPointF(a.right(), y));
        painter.setPen(colours.dimmedText);
        painter.drawText(QRectF(0, y - h / 2.0, a.left() - 6, h), Qt::AlignRight | Qt::AlignVCenter, siText(std::pow(10, d), "FLOP/s"));
    }
    painter.setPen(colours.dimmedText);
    painter.drawText(QRectF(a.left(), a.bottom() + h + 2, a.width(), h), Qt::AlignCenter, tr("operations per byte"));
}

void RooflineView::paintCeilings(QPainter& painter, const QRectF& a) const {
    if (!peak_) return;
    const ThemeColours colours = themeColours(palette());
    const int h = fontMetrics().height();
    const double low = std::pow(10, range_.left);
    const double high = std::pow(10, range_.right);
    const double most = std::max(peak_->float32, peak_->int8.value_or(0));
    painter.save();
    painter.setClipRect(a);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colours.caution, 1.5));
    const double end = ridge(most, peak_->bandwidth);
    painter.drawLine(toPixel(low, low * peak_->bandwidth, a), toPixel(end, most, a));
    const auto level = [&](double rate, const QString& name, const QColor& colour) {
        painter.setPen(QPen(colour, 1.5));
        const QPointF from = toPixel(ridge(rate, peak_->bandwidth), rate, a);
        painter.drawLine(from, toPixel(high, rate, a));
        const double middle = std::clamp(from.x(), a.left(), a.right());
        painter.drawText(QRectF(middle, from.y() - h - 1, a.right() - middle - 4, h), Qt::AlignRight, name);
    };
    if (peak_->int8) level(*peak_->int8, tr("int8 %1").arg(siText(*peak_->int8, "OP/s")), colours.dimmedText);
    level(peak_->float32, tr("float32 %1").arg(siText(peak_->float32, "FLOP/s")), colours.bad);
    // The ridge point and what lies left of it.
    const double turn = ridge(peak_->float32, peak_->bandwidth);
    const QPointF corner = toPixel(turn, peak_->float32, a);
    painter.setPen(QPen(colours.dimmedText, 1, Qt::DotLine));
    painter.drawLine(corner, QPointF(corner.x(), a.bottom()));
    painter.setPen(colours.dimmedText);
    painter.drawText(QRectF(corner.x() + 4, a.bottom() - h - 2, 260, h), Qt::AlignLeft, tr("ridge %1 FLOP/B").arg(numberText(turn, 3)));
    // Along the rising line.
    const QPointF from = toPixel(low, low * peak_->bandwidth, a);
    const double angle = std::atan2(corner.y() - from.y(), corner.x() - from.x()) * 180 / 3.14159265358979;
    QPointF at = from;
    if (at.y() > a.bottom()) at = from + (corner - from) * ((from.y() - a.bottom()) / (from.y() - corner.y()));
    painter.translate(at + (corner - at) * 0.08);
    painter.rotate(angle);
    painter.setPen(colours.caution);
    painter.drawText(QRectF(0, -h - 2, std::hypot(corner.x() - at.x(), corner.y() - at.y()), h), Qt::AlignLeft, tr("memory %1").arg(siText(peak_->bandwidth, "B/s")));
    painter.restore();
}

void RooflineView::paintPoints(QPainter& painter, const QRectF& a) const {
    if (!scene_) return;
    const bool dark = isDark(palette());
    const ThemeColours colours = themeColours(palette());
    painter.save();
    painter.setClipRect(a.adjusted(-1, -1, 1, 1));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const std::uint32_t i : byTime_) {
        if (!isShown(i)) continue;
        const RooflinePoint& point = scene_->roofline.points[i];
        const OprCategory category = scene_->facts->category(point.opr);
        QColor fill = categoryFill(category, dark);
        fill.setAlpha(210);
        painter.setBrush(fill);
        painter.setPen(QPen(categoryOutline(category, dark), 1));
        painter.drawEllipse(toPixel(point.intensity(), point.achieved(), a), radius(i), radius(i));
    }
    painter.setBrush(Qt::NoBrush);
    const auto ring = [&](std::uint32_t i, double width) {
        const RooflinePoint& point = scene_->roofline.points[i];
        painter.setPen(QPen(colours.accent, width));
        painter.drawEllipse(toPixel(point.intensity(), point.achieved(), a), radius(i) + 2, radius(i) + 2);
    };
    if (hovered_) ring(*hovered_, 1);
    if (current_) ring(*current_, 2.5);
    painter.restore();
}

void RooflineView::drawInto(QPainter& painter, QSize size) const {
    painter.setFont(font());
    painter.fillRect(QRect(QPoint(), size), palette().base());
    const QRectF a = area(size);
    paintGrid(painter, a);
    paintCeilings(painter, a);
    paintPoints(painter, a);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(themeColours(palette()).separator);
    painter.drawRect(a);
}

void RooflineView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    drawInto(painter, size());
}

QString RooflineView::describe(std::uint32_t index) const {
    const RooflinePoint& point = scene_->roofline.points[index];
    const Graph& graph = *scene_->facts->graph;
    QString types = text(graph.type_text(point.opr));
    for (const OprId id : point.fused) types += QStringLiteral(" + ") + text(graph.type_text(id));
    QStringList lines = {text(graph.display_name(point.opr)), types};
    lines << tr("%1 in %2: %3").arg(siText(point.flops, "FLOP"), secondsText(point.seconds), siText(point.achieved(), "FLOP/s"));
    lines << tr("%1 touched: %2 operations per byte").arg(bytesText(point.bytes), numberText(point.intensity(), 4));
    if (peak_) {
        const double allowed = attainable(peak_->float32, peak_->bandwidth, point.intensity());
        lines << (point.intensity() < ridge(peak_->float32, peak_->bandwidth) ? tr("%1 % of what memory allows (%2)") : tr("%1 % of what float32 arithmetic allows (%2)"))
                     .arg(100 * point.achieved() / allowed, 0, 'f', 1)
                     .arg(siText(allowed, "FLOP/s"));
    }
    return lines.join(QLatin1Char('\n'));
}

void RooflineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    pressed_ = last_ = event->position().toPoint();
    dragging_ = true;
    moved_ = false;
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    if (dragging_) {
        moved_ = moved_ || (position - pressed_).manhattanLength() > 3;
        if (!moved_) return;
        const QRectF a = area(size());
        const double dx = (last_.x() - position.x()) / a.width() * (range_.right - range_.left);
        const double dy = (position.y() - last_.y()) / a.height() * (range_.top - range_.bottom);
        range_ = {range_.left + dx, range_.right + dx, range_.bottom + dy, range_.top + dy};
        last_ = position;
        update();
        return;
    }
    const auto point = pointAt(position);
    if (point == hovered_) return;
    hovered_ = point;
    update();
    emit pointHovered(point);
}

void RooflineView::mouseReleaseEvent(QMouseEvent* event) {
    if (!dragging_) return;
    dragging_ = false;
    if (moved_) return;
    const auto point = pointAt(event->position().toPoint());
    if (!point) return;
    current_ = point;
    update();
    emit pointPicked(*point);
}

void RooflineView::leaveEvent(QEvent*) {
    if (!hovered_) return;
    hovered_.reset();
    update();
    emit pointHovered(std::nullopt);
}

void RooflineView::wheelEvent(QWheelEvent* event) {
    const QRectF a = area(size());
    const double factor = std::pow(0.85, event->angleDelta().y() / 120.0);
    const double x = range_.left + (event->position().x() - a.left()) / a.width() * (range_.right - range_.left);
    const double y = range_.top - (event->position().y() - a.top()) / a.height() * (range_.top - range_.bottom);
    if ((range_.right - range_.left) * factor < 0.02 || (range_.right - range_.left) * factor > 40) return;
    range_ = {x - (x - range_.left) * factor, x + (range_.right - x) * factor, y - (y - range_.bottom) * factor, y + (range_.top - y) * factor};
    update();
    event->accept();
}

void RooflineView::walk(int step) {
    std::vector<std::uint32_t> shown;
    for (const std::uint32_t point : byTime_)
        if (isShown(point)) shown.push_back(point);
    if (shown.empty()) return;
    const auto at = current_ ? std::ranges::find(shown, *current_) : shown.end();
    std::ptrdiff_t next = at == shown.end() ? 0 : (at - shown.begin()) + step;
    next = std::clamp<std::ptrdiff_t>(next, 0, static_cast<std::ptrdiff_t>(shown.size()) - 1);
    current_ = shown[static_cast<std::size_t>(next)];
    update();
    emit pointPicked(*current_);
}

void RooflineView::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_F: fit(); return;
    case Qt::Key_Right:
    case Qt::Key_Down: walk(1); return;
    case Qt::Key_Left:
    case Qt::Key_Up: walk(-1); return;
    default: return QWidget::keyPressEvent(event);
    }
}

bool RooflineView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        if (const auto point = pointAt(help->pos())) QToolTip::showText(help->globalPos(), describe(*point), this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
