#include "views/graph/minimap.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace megascope {

namespace {
constexpr int margin = 6;
}

Minimap::Minimap(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Overview of the graph"));
    setCursor(Qt::PointingHandCursor);
}

void Minimap::setPicture(std::shared_ptr<const GraphPicture> picture, const GraphPaintOptions& options) {
    picture_ = std::move(picture);
    options_ = options;
    cache_ = {};
    update();
}

void Minimap::setVisibleArea(const LayoutRect& area) {
    if (visible_ == area) return;
    visible_ = area;
    update();
}

QSize Minimap::fittingSize(const QSize& view) const {
    if (!picture_) return {};
    const LayoutRect& b = picture_->layout.bounds;
    const double most_w = std::min(200.0, view.width() * 0.22), most_h = std::min(420.0, view.height() * 0.5);
    const double scale = std::min(most_w / std::max(1.0, b.width), most_h / std::max(1.0, b.height));
    // Very long drawings are stretched across, very wide ones along, so that there is something to hit.
    const double w = std::clamp(b.width * scale, std::min(44.0, most_w), most_w), h = std::clamp(b.height * scale, std::min(44.0, most_h), most_h);
    return {static_cast<int>(w) + 2 * margin, static_cast<int>(h) + 2 * margin};
}

double Minimap::scaleX() const { return (width() - 2 * margin) / std::max(1.0, picture_->layout.bounds.width); }
double Minimap::scaleY() const { return (height() - 2 * margin) / std::max(1.0, picture_->layout.bounds.height); }

void Minimap::render() {
    const double ratio = devicePixelRatioF();
    cache_ = QPixmap(size() * ratio);
    cache_.setDevicePixelRatio(ratio);
    cache_.fill(Qt::transparent);
    QPainter painter(&cache_);
    painter.translate(margin, margin);
    const GraphStyle style(palette());
    const GraphFonts fonts(font());
    const GraphHighlight none;
    GraphPainter(*picture_, style, fonts, none, options_).paint_density(painter, scaleX(), scaleY());
}

void Minimap::paintEvent(QPaintEvent*) {
    if (!picture_) return;
    if (cache_.isNull()) render();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const GraphStyle style(palette());
    QColor back = mixed(style.background, style.text, 0.03);
    back.setAlpha(235);
    painter.setBrush(back);
    painter.setPen(QPen(style.frame_border, 1));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.drawPixmap(0, 0, cache_);
    QRectF seen(margin + visible_.x * scaleX(), margin + visible_.y * scaleY(), visible_.width * scaleX(), visible_.height * scaleY());
    // Never smaller than a few pixels, or it could not be seen on a drawing of 100,000 operators.
    if (seen.height() < 4) seen.adjust(0, (seen.height() - 4) / 2, 0, (4 - seen.height()) / 2);
    if (seen.width() < 4) seen.adjust((seen.width() - 4) / 2, 0, (4 - seen.width()) / 2, 0);
    seen = seen.intersected(QRectF(rect()).adjusted(2, 2, -2, -2));
    QColor fill = style.accent;
    fill.setAlpha(36);
    painter.setBrush(fill);
    painter.setPen(QPen(style.accent, 1.25));
    painter.drawRect(seen);
}

void Minimap::request(const QPointF& p) {
    if (picture_) emit requested((p.x() - margin) / scaleX(), (p.y() - margin) / scaleY());
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) request(event->position());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) request(event->position());
}

void Minimap::resizeEvent(QResizeEvent*) { cache_ = {}; }

void Minimap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        cache_ = {};
        update();
    }
    QWidget::changeEvent(event);
}

} // namespace megascope
