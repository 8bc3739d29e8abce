#include "views/profile/flame_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr double narrowest = 1; // pixels

QString percent(double part, double whole) {
    return whole > 0 ? QStringLiteral("%1 %").arg(100 * part / whole, 0, 'f', part / whole < 0.1 ? 2 : 1) : QStringLiteral("–");
}

} // namespace

FlameView::FlameView(QWidget* parent) : QWidget(parent), scroll_(new QScrollBar(Qt::Vertical, this)) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Flame graph"));
    connect(scroll_, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
}

void FlameView::setTree(std::shared_ptr<const FlameTree> tree) {
    tree_ = std::move(tree);
    hits_.clear();
    before_.clear();
    hovered_ = current_ = FlameFrame::none;
    showZoom(0);
}

void FlameView::setColour(Colour colour) {
    colour_ = std::move(colour);
    update();
}

int FlameView::rowHeight() const { return fontMetrics().height() + 6; }

double FlameView::drawWidth() const { return std::max(1, width() - (scroll_->isVisibleTo(this) ? scroll_->width() : 0)); }

double FlameView::pixelOf(double seconds) const {
    const FlameFrame& z = tree_->frames[zoomed_];
    return z.total > 0 ? (seconds - z.begin) / z.total * drawWidth() : 0;
}

void FlameView::updateScrollBar() {
    const int rows = tree_ ? static_cast<int>(tree_->max_depth) + 1 : 0;
    const int content = rows * rowHeight();
    scroll_->setVisible(content > height());
    scroll_->setPageStep(height());
    scroll_->setSingleStep(rowHeight());
    scroll_->setRange(0, std::max(0, content - height()));
    scroll_->setGeometry(width() - scroll_->sizeHint().width(), 0, scroll_->sizeHint().width(), height());
}

void FlameView::resizeEvent(QResizeEvent*) { updateScrollBar(); }

void FlameView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange) updateScrollBar();
    QWidget::changeEvent(event);
}

void FlameView::showZoom(std::uint32_t frame) {
    zoomed_ = frame;
    updateScrollBar();
    // What was zoomed into stays in sight when the callers above it fill the view.
    if (tree_) scroll_->setValue(std::max(0, (static_cast<int>(tree_->frames[frame].depth) - 3) * rowHeight()));
    update();
    emit zoomChanged(frame);
}

void FlameView::zoomTo(std::uint32_t frame) {
    if (!tree_ || frame >= tree_->frames.size() || frame == zoomed_ || tree_->frames[frame].total <= 0) return;
    if (frame == 0) before_.clear();
    else before_.push_back(zoomed_);
    showZoom(frame);
}

void FlameView::zoomBack() {
    if (!tree_) return;
    if (before_.empty()) {
        zoomTo(0);
        return;
    }
    const std::uint32_t back = before_.back();
    before_.pop_back();
    showZoom(back);
}

void FlameView::setHighlighted(std::uint32_t source) {
    if (!tree_) return;
    const std::uint32_t frame = tree_->find_source(source);
    if (frame == current_) return;
    current_ = frame;
    // Something that is picked elsewhere has to be seen here: in the widest view where it is more than a line.
    if (frame != FlameFrame::none && boxOf(frame).isEmpty()) {
        std::uint32_t wide = frame;
        for (std::uint32_t f = frame; f != FlameFrame::none; f = tree_->frames[f].parent)
            if (tree_->frames[frame].total / tree_->frames[f].total * drawWidth() >= 3) wide = f;
        zoomTo(wide);
    }
    update();
}

FlameView::Found FlameView::setSearch(const QString& wanted) {
    Found found;
    hits_.clear();
    if (tree_ && !wanted.isEmpty()) {
        hits_.resize(tree_->strings.size());
        for (std::size_t i = 0; i < hits_.size(); ++i) hits_[i] = text(tree_->strings[StringId(i)]).contains(wanted, Qt::CaseInsensitive);
        std::uint32_t counted_to = 0; // below a found frame its time is counted already
        for (std::uint32_t i = 1; i < tree_->frames.size(); ++i) {
            const FlameFrame& frame = tree_->frames[i];
            if (!hits_[frame.name.index()]) continue;
            ++found.frames;
            if (i < counted_to) continue;
            found.seconds += frame.total;
            counted_to = frame.end;
        }
    }
    update();
    return found;
}

bool FlameView::aboveZoomed(std::uint32_t frame) const { return frame < zoomed_ && zoomed_ < tree_->frames[frame].end; }

QRectF FlameView::boxOf(std::uint32_t frame) const {
    if (!tree_ || frame >= tree_->frames.size()) return {};
    const FlameFrame& f = tree_->frames[frame];
    const double top = static_cast<int>(f.depth) * rowHeight() - scroll_->value();
    if (aboveZoomed(frame)) return {0, top, drawWidth(), static_cast<double>(rowHeight())};
    if (frame < zoomed_ || frame >= tree_->frames[zoomed_].end) return {};
    const double left = pixelOf(f.begin);
    const double right = pixelOf(f.begin + f.total);
    if (right - left < narrowest) return {};
    return {left, top, right - left, static_cast<double>(rowHeight())};
}

std::uint32_t FlameView::frameAt(QPoint position) const {
    if (!tree_ || position.x() < 0 || position.x() >= drawWidth() || position.y() < 0) return FlameFrame::none;
    const auto depth = static_cast<std::uint32_t>((position.y() + scroll_->value()) / rowHeight());
    const FlameFrame& zoomed = tree_->frames[zoomed_];
    if (depth <= zoomed.depth) {
        std::uint32_t frame = zoomed_;
        while (tree_->frames[frame].depth > depth) frame = tree_->frames[frame].parent;
        return frame;
    }
    const double seconds = zoomed.begin + (position.x() + 0.5) / drawWidth() * zoomed.total;
    std::uint32_t frame = zoomed_;
    while (tree_->frames[frame].depth < depth) {
        std::uint32_t child = frame + 1;
        const std::uint32_t end = tree_->frames[frame].end;
        while (child < end && seconds >= tree_->frames[child].begin + tree_->frames[child].total) child = tree_->frames[child].end;
        if (child >= end) return FlameFrame::none;
        if (pixelOf(tree_->frames[child].begin + tree_->frames[child].total) - pixelOf(tree_->frames[child].begin) < narrowest) return FlameFrame::none;
        frame = child;
    }
    return frame;
}

QColor FlameView::fillOf(const FlameFrame& frame) const {
    if (colour_) return colour_(frame);
    const bool dark = isDark(palette());
    const int hue = static_cast<int>((frame.name.value() * 2654435761U) >> 16) % 360;
    return dark ? QColor::fromHsl(hue, 70, 95) : QColor::fromHsl(hue, 110, 205);
}

void FlameView::paintFrame(QPainter& painter, std::uint32_t index, const QRectF& box) {
    const FlameFrame& frame = tree_->frames[index];
    const ThemeColours colours = themeColours(palette());
    QColor fill = fillOf(frame);
    if (!hits_.empty() && !hits_[frame.name.index()]) fill = palette().color(QPalette::AlternateBase);
    const bool above = aboveZoomed(index);
    if (above) {
        // Callers of the zoomed frame are context: half way to the background.
        const QColor base = palette().color(QPalette::Base);
        fill = QColor((fill.red() + base.red()) / 2, (fill.green() + base.green()) / 2, (fill.blue() + base.blue()) / 2);
    }
    const double gap = box.width() > 3 ? 1 : 0;
    const QRectF inner = box.adjusted(0, 0, -gap, -1);
    painter.fillRect(inner, fill);
    if (index == current_ || index == hovered_) {
        painter.setPen(QPen(colours.accent, index == current_ ? 2 : 1));
        painter.drawRect(inner.adjusted(1, 1, -1, -1));
    }
    const QRectF room = inner.adjusted(6, 0, -6, 0);
    if (room.width() < fontMetrics().averageCharWidth() * 3) return;
    const QString name = text(tree_->name(index));
    const QString time = secondsText(frame.total) + QStringLiteral(" · ") + percent(frame.total, tree_->frames[0].total);
    painter.setPen(above || (!hits_.empty() && !hits_[frame.name.index()]) ? colours.dimmedText : readableOn(fill));
    const int nameWidth = fontMetrics().horizontalAdvance(name);
    const int timeWidth = fontMetrics().horizontalAdvance(time);
    if (nameWidth + timeWidth + 16 < room.width()) {
        painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, time);
    } else {
        painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(name, Qt::ElideMiddle, static_cast<int>(room.width())));
    }
}

void FlameView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    if (!tree_) return;
    painter.setFont(font());
    for (std::uint32_t frame = zoomed_; frame != FlameFrame::none; frame = tree_->frames[frame].parent)
        if (const QRectF box = boxOf(frame); box.bottom() > 0 && box.top() < height()) paintFrame(painter, frame, box);
    // Frames with children that may be wide enough; a row of siblings ends at the first that is not.
    std::vector<std::uint32_t>& open = scratch_;
    open.assign(1, zoomed_);
    const double height = rowHeight();
    while (!open.empty()) {
        const std::uint32_t parent = open.back();
        open.pop_back();
        const FlameFrame& above = tree_->frames[parent];
        const double top = (static_cast<int>(above.depth) + 1) * height - scroll_->value();
        if (top > this->height()) continue;
        for (std::uint32_t child = parent + 1; child < above.end; child = tree_->frames[child].end) {
            const FlameFrame& frame = tree_->frames[child];
            const double left = pixelOf(frame.begin);
            const double right = pixelOf(frame.begin + frame.total);
            if (right - left < narrowest) {
                // All that follow are as narrow or narrower: one box for the rest of them.
                const double rest = pixelOf(above.begin + above.total - above.self);
                if (rest - left >= narrowest) painter.fillRect(QRectF(left, top, rest - left, height - 1), themeColours(palette()).separator);
                break;
            }
            if (top + height > 0) paintFrame(painter, child, QRectF(left, top, right - left, height));
            if (frame.end > child + 1) open.push_back(child);
        }
    }
}

QString FlameView::describe(std::uint32_t index) const {
    const FlameFrame& frame = tree_->frames[index];
    const double whole = tree_->frames[0].total;
    QStringList lines = {text(tree_->path(index))};
    const auto exact = [](double seconds) { return QStringLiteral("%1 (%2 µs)").arg(secondsText(seconds), QString::number(seconds * 1e6, 'f', 3)); };
    lines << tr("total %1, %2 of the whole").arg(exact(frame.total), percent(frame.total, whole));
    if (frame.parent != FlameFrame::none && frame.parent != 0)
        lines << tr("%1 of %2").arg(percent(frame.total, tree_->frames[frame.parent].total), text(tree_->name(frame.parent)));
    if (frame.end > index + 1) lines << tr("self %1, %2 of the whole").arg(exact(frame.self), percent(frame.self, whole));
    if (frame.count > 1) lines << tr("%n calls, %1 each on average", nullptr, static_cast<int>(frame.count)).arg(secondsText(frame.total / frame.count));
    if (const auto below = frame.end - index - 1; below > 0) lines << tr("%n frames below", nullptr, static_cast<int>(below));
    return lines.join(QLatin1Char('\n'));
}

void FlameView::setCurrent(std::uint32_t frame, bool pick) {
    if (frame == FlameFrame::none) return;
    current_ = frame;
    const QRectF box = boxOf(frame);
    if (!box.isEmpty()) {
        if (box.top() < 0) scroll_->setValue(scroll_->value() + static_cast<int>(box.top()));
        if (box.bottom() > height()) scroll_->setValue(scroll_->value() + static_cast<int>(std::ceil(box.bottom())) - height());
    }
    update();
    if (pick) emit framePicked(frame);
}

void FlameView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::BackButton) {
        zoomBack();
        return;
    }
    if (event->button() != Qt::LeftButton) return;
    const std::uint32_t frame = frameAt(event->position().toPoint());
    if (frame == FlameFrame::none) return;
    zoomTo(frame);
    setCurrent(frame, true);
}

void FlameView::mouseMoveEvent(QMouseEvent* event) {
    const std::uint32_t frame = frameAt(event->position().toPoint());
    if (frame == hovered_) return;
    hovered_ = frame;
    update();
    emit frameHovered(frame);
}

void FlameView::leaveEvent(QEvent*) {
    if (hovered_ == FlameFrame::none) return;
    hovered_ = FlameFrame::none;
    update();
    emit frameHovered(FlameFrame::none);
}

void FlameView::wheelEvent(QWheelEvent* event) {
    scroll_->setValue(scroll_->value() - event->angleDelta().y() / 120 * 3 * rowHeight());
    event->accept();
}

std::uint32_t FlameView::neighbour(std::uint32_t frame, int step) const {
    const std::uint32_t parent = tree_->frames[frame].parent;
    if (parent == FlameFrame::none) return frame;
    if (step > 0) return tree_->frames[frame].end < tree_->frames[parent].end ? tree_->frames[frame].end : frame;
    std::uint32_t before = frame;
    for (std::uint32_t child = parent + 1; child < frame; child = tree_->frames[child].end) before = child;
    return before;
}

void FlameView::keyPressEvent(QKeyEvent* event) {
    if (!tree_) return QWidget::keyPressEvent(event);
    const std::uint32_t at = current_ == FlameFrame::none ? zoomed_ : current_;
    const FlameFrame& frame = tree_->frames[at];
    switch (event->key()) {
    case Qt::Key_Escape: zoomTo(0); break;
    case Qt::Key_Backspace: zoomBack(); break;
    case Qt::Key_Return:
    case Qt::Key_Enter: zoomTo(at); break;
    case Qt::Key_Home: setCurrent(zoomed_, true); break;
    case Qt::Key_Up:
        if (frame.parent != FlameFrame::none) setCurrent(frame.parent, true);
        break;
    case Qt::Key_Down:
        if (frame.end > at + 1) setCurrent(at + 1, true);
        break;
    case Qt::Key_Left: setCurrent(neighbour(at, -1), true); break;
    case Qt::Key_Right: setCurrent(neighbour(at, 1), true); break;
    default: return QWidget::keyPressEvent(event);
    }
}

bool FlameView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const std::uint32_t frame = frameAt(help->pos());
        if (frame != FlameFrame::none) QToolTip::showText(help->globalPos(), describe(frame), this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
