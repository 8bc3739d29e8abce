#include "views/profile/memory_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr int curveShare = 4; // the curve takes a quarter of the height

/// A round number of bytes, at least `least`: powers of two.
double roundBytes(double least) { return std::exp2(std::ceil(std::log2(std::max(least, 1.0)))); }

} // namespace

MemoryView::MemoryView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumHeight(120);
    setAccessibleName(tr("Memory over the steps"));
}

void MemoryView::setMap(std::shared_ptr<const MemoryMap> map) {
    map_ = std::move(map);
    highlighted_.clear();
    hovered_.reset();
    step_ = map_ ? map_->peak_step : 0;
    fit();
}

void MemoryView::setColour(Colour colour) {
    colour_ = std::move(colour);
    changed();
}

void MemoryView::changed() {
    content_ = QPixmap();
    update();
}

void MemoryView::fit() {
    layoutAreas();
    x_.show(0, map_ ? std::max<double>(1, static_cast<double>(map_->steps.size())) : 1);
    low_ = 0;
    high_ = map_ ? std::max<double>(1, static_cast<double>(map_->area)) * 1.04 : 1;
    changed();
}

void MemoryView::layoutAreas() {
    const int left = fontMetrics().horizontalAdvance(QStringLiteral("0000.0 MiB"));
    const int across = std::max(1, width() - left - 8);
    const int top = fontMetrics().height() + 6;
    curve_ = {left, top, across, std::max(1, (height() - top) / curveShare)};
    area_ = {left, curve_.bottom() + 12, across, std::max(1, height() - curve_.bottom() - 12 - fontMetrics().height() - 8)};
    x_.width = across;
}

double MemoryView::yOf(double address) const {
    const QRect area = blockArea();
    return area.top() + area.height() - (address - low_) / (high_ - low_) * area.height();
}

QRectF MemoryView::boxOf(std::uint32_t index) const {
    const MemoryBlock& block = map_->blocks[index];
    const double left = blockArea().left() + x_.toPixel(block.first);
    const double right = blockArea().left() + x_.toPixel(static_cast<double>(block.last) + 1);
    const double bottom = yOf(static_cast<double>(block.address));
    const double top = yOf(static_cast<double>(block.address + block.bytes));
    return {left, top, right - left, bottom - top};
}

std::optional<std::uint32_t> MemoryView::stepAt(QPoint position) const {
    if (!map_ || map_->steps.empty() || position.x() < blockArea().left() || position.x() > blockArea().right()) return std::nullopt;
    const double step = std::floor(x_.toTime(position.x() - blockArea().left()));
    if (step < 0 || step >= static_cast<double>(map_->steps.size())) return std::nullopt;
    return static_cast<std::uint32_t>(step);
}

std::optional<std::uint32_t> MemoryView::blockAt(QPoint position) const {
    if (!map_ || !blockArea().contains(position)) return std::nullopt;
    // The narrowest one wins: what is drawn as a line is hard enough to hit.
    std::optional<std::uint32_t> best;
    double bestSize = 0;
    for (std::uint32_t i = 0; i < map_->blocks.size(); ++i) {
        const MemoryBlock& block = map_->blocks[i];
        if (static_cast<double>(block.first) > x_.toTime(position.x() + 1 - blockArea().left())) break; // they are sorted
        const QRectF box = boxOf(i).adjusted(-1, -1, 1, 1);
        if (!box.contains(position)) continue;
        const double size = box.width() * box.height();
        if (best && size >= bestSize) continue;
        best = i;
        bestSize = size;
    }
    return best;
}

QColor MemoryView::fillOf(const MemoryBlock& block) const {
    if (block.kind == MemoryBlock::Kind::workspace) return isDark(palette()) ? QColor(0x6b, 0x6f, 0x76) : QColor(0xb4, 0xba, 0xc2);
    if (colour_) return colour_(block);
    return categoryFill(OprCategory::data, isDark(palette()));
}

void MemoryView::paintBlocks(QPainter& painter) const {
    const QRect area = blockArea();
    painter.setClipRect(area.adjusted(0, 0, 1, 1));
    const QColor edge = palette().color(QPalette::Base);
    for (std::uint32_t i = 0; i < map_->blocks.size(); ++i) {
        const MemoryBlock& block = map_->blocks[i];
        if (static_cast<double>(block.first) > x_.end) break;
        if (static_cast<double>(block.last) + 1 < x_.begin) continue;
        QRectF box = boxOf(i);
        if (box.bottom() < area.top() || box.top() > area.bottom()) continue;
        box.setWidth(std::max(box.width(), 1.0));
        if (box.height() < 1) box.setTop(box.bottom() - 1);
        const QColor fill = fillOf(block);
        painter.fillRect(box, fill);
        if (box.width() > 4 && box.height() > 4) {
            painter.setPen(edge);
            painter.drawRect(box);
        }
        const QRectF room = box.intersected(area).adjusted(4, 0, -4, 0);
        if (room.width() > fontMetrics().averageCharWidth() * 4 && box.height() >= fontMetrics().height()) {
            painter.setPen(readableOn(fill));
            painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(text(block.name), Qt::ElideMiddle, static_cast<int>(room.width())));
        }
    }
    painter.setClipping(false);
}

void MemoryView::paintCurve(QPainter& painter) const {
    const QRect area = curveArea();
    const ThemeColours colours = themeColours(palette());
    const double most = std::max<double>(1, static_cast<double>(map_->peak)) * 1.05;
    painter.setClipRect(area.adjusted(0, 0, 1, 1));
    QColor fill = colours.accent;
    fill.setAlpha(50);
    // Between two pixels the largest value is drawn.
    const auto first = static_cast<std::size_t>(std::clamp(std::floor(x_.begin), 0.0, static_cast<double>(map_->live.size())));
    std::size_t step = first;
    while (step < map_->live.size() && static_cast<double>(step) < x_.end) {
        std::uint64_t bytes = map_->live[step];
        std::size_t next = step + 1;
        while (next < map_->live.size() && static_cast<double>(next) < static_cast<double>(step) + x_.perPixel()) bytes = std::max(bytes, map_->live[next++]);
        const int left = area.left() + static_cast<int>(x_.toPixel(static_cast<double>(step)));
        const int right = area.left() + static_cast<int>(x_.toPixel(static_cast<double>(next)));
        const int high = static_cast<int>(static_cast<double>(bytes) / most * area.height());
        painter.fillRect(left, area.bottom() - high, std::max(1, right - left), high, fill);
        painter.fillRect(left, area.bottom() - high, std::max(1, right - left), 1, colours.accent);
        step = next;
    }
    const int peak = area.bottom() - static_cast<int>(static_cast<double>(map_->peak) / most * area.height());
    painter.setPen(QPen(colours.bad, 1, Qt::DashLine));
    painter.drawLine(area.left(), peak, area.right(), peak);
    painter.setClipping(false);
    painter.setPen(colours.bad);
    painter.drawText(QRect(0, peak - fontMetrics().height() / 2, margin() - 6, fontMetrics().height()), Qt::AlignRight | Qt::AlignVCenter, bytesText(static_cast<double>(map_->peak)));
}

void MemoryView::paintScales(QPainter& painter) const {
    const QRect area = blockArea();
    const ThemeColours colours = themeColours(palette());
    const double spacing = roundBytes((high_ - low_) / area.height() * fontMetrics().height() * 3);
    int drawn = 0;
    for (double address = std::ceil(std::max(low_, 0.0) / spacing) * spacing; address <= high_ && drawn < 200; address += spacing, ++drawn) {
        const int y = static_cast<int>(yOf(address));
        painter.setPen(colours.separator);
        painter.drawLine(area.left(), y, area.right(), y);
        painter.setPen(colours.dimmedText);
        const int half = fontMetrics().height() / 2;
        const int middle = std::min(y, area.bottom() - half); // the lowest one stays clear of the steps below
        painter.drawText(QRect(0, middle - half, margin() - 6, 2 * half), Qt::AlignRight | Qt::AlignVCenter, bytesText(address));
    }
    const double least = x_.perPixel() * fontMetrics().horizontalAdvance(QStringLiteral("000000")) * 1.6;
    double every = std::pow(10, std::floor(std::log10(std::max(least, 1.0))));
    for (const double multiple : {1.0, 2.0, 5.0, 10.0})
        if (every * multiple >= least) {
            every *= multiple;
            break;
        }
    for (double step = std::max(0.0, std::ceil(x_.begin / every) * every); step <= x_.end && step <= static_cast<double>(map_->steps.size()); step += every) {
        const int x = area.left() + static_cast<int>(x_.toPixel(step));
        painter.setPen(colours.separator);
        painter.drawLine(x, area.bottom(), x, area.bottom() + 4);
        painter.setPen(colours.dimmedText);
        painter.drawText(QRect(x + 3, area.bottom() + 2, 80, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter, QString::number(step, 'f', 0));
    }
    painter.setPen(colours.dimmedText);
    painter.drawText(QRect(0, area.bottom() + 2, margin() - 6, fontMetrics().height()), Qt::AlignRight | Qt::AlignVCenter, tr("step"));
    painter.drawText(QRect(area.left(), 2, area.width(), fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter, tr("bytes alive"));
    if (!map_->steps.empty()) {
        const QString at = tr("step %1: %2, %3").arg(step_).arg(text(map_->steps[step_]), bytesText(static_cast<double>(map_->live[step_])));
        painter.drawText(QRect(area.left(), 2, area.width(), fontMetrics().height()), Qt::AlignRight | Qt::AlignVCenter, fontMetrics().elidedText(at, Qt::ElideMiddle, area.width() * 3 / 4));
    }
    painter.setPen(colours.separator);
    painter.drawRect(area);
    painter.drawLine(curveArea().bottomLeft(), curveArea().bottomRight());
}

void MemoryView::paintContent(QPainter& painter) const {
    painter.fillRect(rect(), palette().base());
    painter.setFont(font());
    if (!map_) return;
    paintScales(painter);
    paintBlocks(painter);
    paintCurve(painter);
}

void MemoryView::paintEvent(QPaintEvent*) {
    const double ratio = devicePixelRatioF();
    if (content_.isNull()) {
        content_ = QPixmap(size() * ratio);
        content_.setDevicePixelRatio(ratio);
        QPainter painter(&content_);
        paintContent(painter);
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, content_);
    if (!map_) return;
    const ThemeColours colours = themeColours(palette());
    if (!map_->steps.empty()) {
        const QRect whole = curveArea().united(blockArea());
        const double left = whole.left() + x_.toPixel(step_);
        const double right = whole.left() + x_.toPixel(static_cast<double>(step_) + 1);
        if (right > whole.left() && left < whole.right()) {
            QColor tint = colours.accent;
            tint.setAlpha(40);
            painter.setClipRect(whole);
            painter.fillRect(QRectF(left, whole.top(), std::max(1.0, right - left), whole.height()), tint);
        }
    }
    painter.setClipRect(blockArea().adjusted(-1, -1, 2, 2));
    const auto outline = [&](std::uint32_t block, int width) {
        QRectF box = boxOf(block);
        box.setSize({std::max(box.width(), 3.0), std::max(box.height(), 3.0)});
        painter.setPen(QPen(colours.accent, width));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box);
    };
    for (const std::uint32_t block : highlighted_) outline(block, 3);
    if (hovered_) outline(*hovered_, 1);
}

QString MemoryView::describe(std::uint32_t index) const {
    const MemoryBlock& block = map_->blocks[index];
    QStringList lines = {text(block.name)};
    if (block.kind == MemoryBlock::Kind::workspace) lines << tr("workspace");
    lines << tr("%1 (%2 bytes) at %3").arg(bytesText(static_cast<double>(block.bytes)), QString::number(block.bytes), QString::number(block.address));
    lines << (block.first == block.last ? tr("alive at step %1").arg(block.first) : tr("alive from step %1 to %2").arg(block.first).arg(block.last));
    if (block.shared_by > 0) lines << tr("%n further vars live in it, in place or forwarded", nullptr, static_cast<int>(block.shared_by));
    if (block.overwrites) lines << tr("overwrites %1").arg(text(map_->blocks[*block.overwrites].name));
    if (map_->peak > 0 && block.first <= map_->peak_step && map_->peak_step <= block.last)
        lines << tr("%1 % of the peak").arg(100.0 * static_cast<double>(block.bytes) / static_cast<double>(map_->peak), 0, 'f', 1);
    return lines.join(QLatin1Char('\n'));
}

void MemoryView::setHighlighted(std::vector<std::uint32_t> blocks) {
    highlighted_ = std::move(blocks);
    const QRectF area = blockArea();
    const bool seen = std::ranges::any_of(highlighted_, [&](std::uint32_t b) { return boxOf(b).adjusted(0, -1, 1, 1).intersects(area); });
    if (map_ && !highlighted_.empty() && !seen) {
        const MemoryBlock& block = map_->blocks[highlighted_.front()];
        const double half = x_.span() / 2;
        const double middle = (static_cast<double>(block.first) + static_cast<double>(block.last) + 1) / 2;
        x_.begin = middle - half;
        x_.end = middle + half;
        const double tall = (high_ - low_) / 2;
        low_ = std::max(0.0, static_cast<double>(block.address) + static_cast<double>(block.bytes) / 2 - tall);
        high_ = low_ + 2 * tall;
        changed();
    }
    update();
}

void MemoryView::setStep(std::uint32_t step) {
    if (!map_ || step >= map_->steps.size() || step == step_) return;
    step_ = step;
    changed();
}

void MemoryView::pickStep(std::uint32_t step) {
    setStep(step);
    emit stepPicked(step_);
}

void MemoryView::zoomAddresses(double factor, double y) {
    if (!map_) return;
    const QRect area = blockArea();
    const double share = std::clamp((area.bottom() - y) / area.height(), 0.0, 1.0);
    const double fixed = low_ + share * (high_ - low_);
    const double whole = std::max<double>(1, static_cast<double>(map_->area)) * 1.04;
    const double span = std::clamp((high_ - low_) * factor, 64.0, whole);
    low_ = std::clamp(fixed - share * span, 0.0, whole - span);
    high_ = low_ + span;
    changed();
}

void MemoryView::moveAddresses(double pixels) {
    if (!map_) return;
    const double whole = std::max<double>(1, static_cast<double>(map_->area)) * 1.04;
    const double span = high_ - low_;
    low_ = std::clamp(low_ + pixels / blockArea().height() * span, 0.0, std::max(0.0, whole - span));
    high_ = low_ + span;
    changed();
}

void MemoryView::resizeEvent(QResizeEvent*) {
    layoutAreas();
    changed();
}

void MemoryView::changeEvent(QEvent* event) {
    layoutAreas();
    changed();
    QWidget::changeEvent(event);
}

void MemoryView::mousePressEvent(QMouseEvent* event) {
    if (!map_ || event->button() != Qt::LeftButton) return;
    pressed_ = last_ = event->position().toPoint();
    dragging_ = true;
    moved_ = false;
}

void MemoryView::mouseMoveEvent(QMouseEvent* event) {
    if (!map_) return;
    const QPoint position = event->position().toPoint();
    if (dragging_) {
        moved_ = moved_ || (position - pressed_).manhattanLength() > 3;
        if (!moved_) return;
        x_.pan(last_.x() - position.x(), 0, static_cast<double>(map_->steps.size()));
        moveAddresses(position.y() - last_.y());
        last_ = position;
        return;
    }
    const auto block = blockAt(position);
    if (block == hovered_) return;
    hovered_ = block;
    update();
    emit blockHovered(block);
}

void MemoryView::mouseReleaseEvent(QMouseEvent* event) {
    if (!dragging_) return;
    dragging_ = false;
    if (moved_) return;
    const QPoint position = event->position().toPoint();
    if (const auto block = blockAt(position)) {
        highlighted_ = {*block};
        update();
        emit blockPicked(*block);
    } else if (const auto step = stepAt(position)) {
        pickStep(*step);
    }
}

void MemoryView::leaveEvent(QEvent*) {
    if (!hovered_) return;
    hovered_.reset();
    update();
    emit blockHovered(std::nullopt);
}

void MemoryView::wheelEvent(QWheelEvent* event) {
    if (!map_) return;
    const double steps = (event->angleDelta().y() + event->angleDelta().x()) / 120.0;
    if (event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier)) zoomAddresses(std::pow(0.8, steps), event->position().y());
    else {
        x_.zoom(std::pow(0.8, steps), event->position().x() - blockArea().left(), 0, static_cast<double>(map_->steps.size()));
        changed();
    }
    event->accept();
}

void MemoryView::keyPressEvent(QKeyEvent* event) {
    if (!map_) return QWidget::keyPressEvent(event);
    const auto last = static_cast<double>(map_->steps.size());
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus: x_.zoom(0.7, x_.width / 2, 0, last); break;
    case Qt::Key_S:
    case Qt::Key_Minus: x_.zoom(1 / 0.7, x_.width / 2, 0, last); break;
    case Qt::Key_A:
    case Qt::Key_Left: x_.pan(-x_.width / 8, 0, last); break;
    case Qt::Key_D:
    case Qt::Key_Right: x_.pan(x_.width / 8, 0, last); break;
    case Qt::Key_Up: moveAddresses(blockArea().height() / 8.0); break;
    case Qt::Key_Down: moveAddresses(-blockArea().height() / 8.0); break;
    case Qt::Key_F: fit(); return;
    case Qt::Key_BracketLeft:
        if (step_ > 0) pickStep(step_ - 1);
        return;
    case Qt::Key_BracketRight: pickStep(step_ + 1); return;
    default: return QWidget::keyPressEvent(event);
    }
    changed();
}

bool MemoryView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        if (const auto block = blockAt(help->pos())) QToolTip::showText(help->globalPos(), describe(*block), this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
