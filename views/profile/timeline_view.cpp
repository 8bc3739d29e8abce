#include "views/profile/timeline_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/units.h"
#include "profile/trace_arguments.h"
#include "views/common/theme.h"
#include "views/profile/timeline_metrics.h"

namespace megascope {

namespace {

using namespace timeline_metrics;

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

} // namespace

std::shared_ptr<const TimelineScene> makeTimelineScene(std::shared_ptr<const Timeline> timeline) {
    auto scene = std::make_shared<TimelineScene>();
    scene->lanes = build_lanes(*timeline);
    scene->timeline = std::move(timeline);
    return scene;
}

TimelineView::TimelineView(QWidget* parent) : QWidget(parent), scroll_(new QScrollBar(Qt::Vertical, this)) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
    connect(scroll_, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
}

void TimelineView::setScene(std::shared_ptr<const TimelineScene> scene) {
    scene_ = std::move(scene);
    hovered_.reset();
    highlighted_.reset();
    marked_.clear();
    searchHits_.clear();
    found_.reset();
    range_.reset();
    layoutBands();
    fit();
}

void TimelineView::setColour(Colour colour) {
    colour_ = std::move(colour);
    update();
}

void TimelineView::layoutBands() {
    bands_.clear();
    int top = 0;
    if (scene_) {
        const Timeline& timeline = *scene_->timeline;
        std::string group;
        for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
            const TimelineRow& row = timeline.rows[i];
            if (i == 0 || row.group != group) {
                group = row.group;
                bands_.push_back({Band::Kind::group, 0, text(group), top, groupHeight});
                top += groupHeight;
            }
            const int height = (row.max_depth + 1) * laneHeight + rowGap;
            bands_.push_back({Band::Kind::row, i, text(row.title), top, height});
            top += height;
        }
        if (!timeline.counters.empty()) {
            bands_.push_back({Band::Kind::group, 0, tr("Counters"), top, groupHeight});
            top += groupHeight;
        }
        for (std::size_t i = 0; i < timeline.counters.size(); ++i) {
            bands_.push_back({Band::Kind::counter, i, text(timeline.counters[i].title), top, counterHeight});
            top += counterHeight;
        }
    }
    contentHeight_ = top;
    updateScrollBar();
}

QRect TimelineView::canvas() const {
    const int right = scroll_->isVisibleTo(this) ? scroll_->width() : 0;
    return QRect(headerWidth, rulerHeight, std::max(1, width() - headerWidth - right), std::max(1, height() - rulerHeight));
}

void TimelineView::updateScrollBar() {
    const int page = std::max(1, height() - rulerHeight);
    scroll_->setVisible(contentHeight_ > page);
    scroll_->setPageStep(page);
    scroll_->setSingleStep(laneHeight);
    scroll_->setRange(0, std::max(0, contentHeight_ - page));
    scroll_->setGeometry(width() - scroll_->sizeHint().width(), rulerHeight, scroll_->sizeHint().width(), page);
    axis_.width = canvas().width();
}

void TimelineView::resizeEvent(QResizeEvent*) { updateScrollBar(); }

void TimelineView::axisChanged() {
    update();
    emit viewChanged();
}

void TimelineView::fit() {
    if (scene_) axis_.show(scene_->timeline->begin, scene_->timeline->end);
    axisChanged();
}

void TimelineView::showRange(double begin, double end) {
    axis_.show(begin, end);
    axisChanged();
}

void TimelineView::setAxis(double begin, double end) {
    axis_.begin = begin;
    axis_.end = std::max(end, begin + 1e-4);
    axisChanged();
}

void TimelineView::setFlowsShown(bool shown) {
    flowsShown_ = shown;
    update();
}

void TimelineView::clearRange() {
    range_.reset();
    update();
    emit rangeChanged(0, 0);
}

void TimelineView::mark(std::optional<std::uint32_t> source) {
    highlighted_ = source;
    marked_.clear();
    update();
    if (!source || !scene_) return;
    for (std::size_t r = 0; r < scene_->timeline->rows.size(); ++r) {
        const auto& sources = scene_->timeline->rows[r].source;
        for (auto at = std::find(sources.begin(), sources.end(), *source); at != sources.end(); at = std::find(at + 1, sources.end(), *source))
            marked_.push_back({r, static_cast<std::uint32_t>(at - sources.begin())});
    }
}

void TimelineView::setHighlighted(std::optional<std::uint32_t> source) {
    mark(source);
    const auto visible = [&](const Place& place) {
        const TimelineRow& row = scene_->timeline->rows[place.row];
        return row.end[place.slice] >= axis_.begin && row.start[place.slice] <= axis_.end;
    };
    if (!marked_.empty() && std::none_of(marked_.begin(), marked_.end(), visible)) bringIntoView(marked_.front());
}

void TimelineView::bringIntoView(const Place& place) {
    const TimelineRow& row = scene_->timeline->rows[place.row];
    if (row.end[place.slice] < axis_.begin || row.start[place.slice] > axis_.end) {
        const double middle = (row.start[place.slice] + row.end[place.slice]) / 2;
        const double half = axis_.span() / 2;
        axis_.begin = middle - half;
        axis_.end = middle + half;
    }
    if (const Band* band = bandOfRow(place.row)) {
        const int top = band->top + row.depth[place.slice] * laneHeight;
        const int page = scroll_->pageStep();
        if (top < scroll_->value() || top + laneHeight > scroll_->value() + page) scroll_->setValue(top - page / 3);
    }
    axisChanged();
}

const TimelineView::Band* TimelineView::bandOfRow(std::size_t row) const {
    const auto at = std::find_if(bands_.begin(), bands_.end(), [&](const Band& b) { return b.kind == Band::Kind::row && b.index == row; });
    return at == bands_.end() ? nullptr : &*at;
}

std::size_t TimelineView::setSearch(const QString& wanted) {
    searchHits_.clear();
    found_.reset();
    std::size_t count = 0;
    if (scene_ && !wanted.isEmpty()) {
        const Timeline& timeline = *scene_->timeline;
        searchHits_.resize(timeline.strings.size());
        for (std::size_t i = 0; i < searchHits_.size(); ++i) searchHits_[i] = text(timeline.strings[StringId(i)]).contains(wanted, Qt::CaseInsensitive);
        for (const TimelineRow& row : timeline.rows)
            for (const StringId name : row.name) count += searchHits_[name.index()];
    }
    update();
    return count;
}

std::optional<TimelineView::Place> TimelineView::nextFound(bool backwards) const {
    // Hits are walked by (start, row, slice); behind the last one comes the first one again.
    using Key = std::tuple<double, std::size_t, std::uint32_t>;
    const auto& rows = scene_->timeline->rows;
    const Key from = found_ ? Key(rows[found_->row].start[found_->slice], found_->row, found_->slice)
                            : Key(backwards ? axis_.end : axis_.begin, backwards ? rows.size() : 0, 0);
    const auto better = [backwards](const Key& a, const std::optional<Key>& b) { return !b || (backwards ? a > *b : a < *b); };
    std::optional<Key> next;
    std::optional<Key> wrapped;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const TimelineRow& row = rows[r];
        const auto n = static_cast<std::uint32_t>(row.size());
        const auto hit = [&](std::uint32_t i) { return static_cast<bool>(searchHits_[row.name[i].index()]); };
        const auto key = [&](std::uint32_t i) { return Key(row.start[i], r, i); };
        const auto middle = static_cast<std::uint32_t>(
            std::partition_point(row.start.begin(), row.start.end(), [&](double start) { return start < std::get<0>(from); }) - row.start.begin());
        if (!backwards) {
            for (std::uint32_t i = middle; i < n; ++i) {
                if (!hit(i) || (found_ && key(i) <= from)) continue;
                if (better(key(i), next)) next = key(i);
                break;
            }
            for (std::uint32_t i = 0; i < n; ++i)
                if (hit(i)) {
                    if (better(key(i), wrapped)) wrapped = key(i);
                    break;
                }
        } else {
            for (std::uint32_t i = n; i-- > 0;)
                if (hit(i)) {
                    if (better(key(i), wrapped)) wrapped = key(i);
                    break;
                }
            // Slices that start at the same time as the current one lie behind `middle`.
            std::uint32_t last = middle;
            while (last < n && row.start[last] <= std::get<0>(from)) ++last;
            for (std::uint32_t i = last; i-- > 0;)
                if (hit(i) && key(i) < from) {
                    if (better(key(i), next)) next = key(i);
                    break;
                }
        }
    }
    if (!next) next = wrapped;
    return next ? std::optional(Place{std::get<1>(*next), std::get<2>(*next)}) : std::nullopt;
}

bool TimelineView::showNextFound(bool backwards) {
    if (!scene_ || searchHits_.empty()) return false;
    const auto place = nextFound(backwards);
    if (!place) return false;
    found_ = place;
    mark(scene_->timeline->rows[place->row].source[place->slice]);
    bringIntoView(*place);
    emit sliceClicked(place->row, *highlighted_);
    return true;
}

std::optional<TimelineView::Place> TimelineView::placeAt(QPoint position) const {
    if (!scene_ || !canvas().contains(position)) return std::nullopt;
    const int y = position.y() - rulerHeight + scroll_->value();
    const auto band = std::find_if(bands_.begin(), bands_.end(), [&](const Band& b) { return y >= b.top && y < b.top + b.height; });
    if (band == bands_.end() || band->kind != Band::Kind::row) return std::nullopt;
    const auto depth = static_cast<std::size_t>((y - band->top) / laneHeight);
    const auto& lanes = scene_->lanes.rows[band->index];
    if (depth >= lanes.size()) return std::nullopt;
    const auto slice = slice_at(scene_->timeline->rows[band->index], lanes[depth], axis_.toTime(position.x() - headerWidth), 2 * axis_.perPixel());
    if (!slice) return std::nullopt;
    return Place{band->index, *slice};
}

QString TimelineView::describe(const Place& place) const {
    const Timeline& timeline = *scene_->timeline;
    const TimelineRow& row = timeline.rows[place.row];
    QStringList lines = {text(timeline.strings[row.name[place.slice]])};
    if (row.instant[place.slice]) lines << tr("at %1").arg(timeLabel(row.start[place.slice] - timeline.begin, 1e-3));
    else
        lines << tr("%1, from %2").arg(QString::fromStdString(format_seconds((row.end[place.slice] - row.start[place.slice]) * 1e-6)),
                                       timeLabel(row.start[place.slice] - timeline.begin, 1e-3));
    lines << text(row.group) + " / " + text(row.title);
    if (timeline.profile) {
        const GraphProfile& p = *timeline.profile;
        const ProfileOprId opr(row.source[place.slice]);
        lines << text(p.text(p.oprs[opr.index()].type));
        if (const auto& footprint = p.footprints[opr.index()]) {
            const double seconds = (row.end[place.slice] - row.start[place.slice]) * 1e-6;
            if (footprint->computation && seconds > 0)
                lines << QString::fromStdString(format_si(*footprint->computation, "FLOP") + ", " + format_si(*footprint->computation / seconds, "FLOP/s"));
            if (footprint->memory) lines << QString::fromStdString(format_bytes(static_cast<double>(footprint->memory)));
        }
    } else if (timeline.trace) {
        for (const std::string& line : event_lines(*timeline.trace, TraceEventId(row.source[place.slice]), row.end[place.slice])) lines << text(line);
    }
    return lines.join('\n');
}

QString TimelineView::describeCounterAt(QPoint position) const {
    if (!scene_ || !canvas().contains(position)) return {};
    const int y = position.y() - rulerHeight + scroll_->value();
    const auto band = std::find_if(bands_.begin(), bands_.end(), [&](const Band& b) { return y >= b.top && y < b.top + b.height; });
    if (band == bands_.end() || band->kind != Band::Kind::counter) return {};
    const TimelineCounter& counter = scene_->timeline->counters[band->index];
    const double time = axis_.toTime(position.x() - headerWidth);
    const auto after = std::upper_bound(counter.time.begin(), counter.time.end(), time);
    if (after == counter.time.begin()) return {};
    const auto at = static_cast<std::size_t>(after - counter.time.begin()) - 1;
    return tr("%1: %2, from %3").arg(text(counter.title), QString::fromStdString(format_number(counter.value[at], 9)),
                                     timeLabel(counter.time[at] - scene_->timeline->begin, 1e-3));
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    if (!scene_) return;
    const double steps = (event->angleDelta().y() + event->angleDelta().x()) / 120.0;
    const double x = event->position().x() - headerWidth;
    if (event->modifiers() & Qt::ControlModifier) {
        axis_.zoom(std::pow(0.8, steps), x, scene_->timeline->begin, scene_->timeline->end);
        axisChanged();
    } else if ((event->modifiers() & Qt::ShiftModifier) || event->angleDelta().x() != 0) {
        axis_.pan(-steps * axis_.width / 10, scene_->timeline->begin, scene_->timeline->end);
        axisChanged();
    } else {
        scroll_->setValue(scroll_->value() - static_cast<int>(steps * 3 * laneHeight));
    }
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (!scene_ || event->button() != Qt::LeftButton || event->position().x() < headerWidth) return;
    pressedAt_ = event->position().toPoint();
    lastMouse_ = pressedAt_;
    moved_ = false;
    const bool choose = pressedAt_.y() < rulerHeight || (event->modifiers() & Qt::ShiftModifier);
    drag_ = choose ? Drag::range : Drag::pan;
    rangeStart_ = axis_.toTime(pressedAt_.x() - headerWidth);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    if (!scene_) return;
    const QPoint position = event->position().toPoint();
    if (drag_ != Drag::none && (position - pressedAt_).manhattanLength() > 3) moved_ = true;
    if (drag_ == Drag::pan && moved_) {
        axis_.pan(lastMouse_.x() - position.x(), scene_->timeline->begin, scene_->timeline->end);
        scroll_->setValue(scroll_->value() + lastMouse_.y() - position.y());
        axisChanged();
    } else if (drag_ == Drag::range && moved_) {
        const double now = axis_.toTime(position.x() - headerWidth);
        range_ = std::minmax(rangeStart_, now);
        update();
    } else if (drag_ == Drag::none) {
        const auto place = placeAt(position);
        if (place != hovered_) {
            hovered_ = place;
            update();
            if (place) emit sliceHovered(place->row, scene_->timeline->rows[place->row].source[place->slice]);
        }
    }
    lastMouse_ = position;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (!scene_ || drag_ == Drag::none) return;
    const Drag drag = drag_;
    drag_ = Drag::none;
    if (drag == Drag::range && moved_) {
        emit rangeChanged(range_->first, range_->second);
        return;
    }
    if (moved_) return;
    if (const auto place = placeAt(event->position().toPoint())) {
        mark(scene_->timeline->rows[place->row].source[place->slice]);
        emit sliceClicked(place->row, *highlighted_);
    } else if (range_) {
        clearRange();
    }
    update();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto place = placeAt(event->position().toPoint());
    if (!place) return;
    const TimelineRow& row = scene_->timeline->rows[place->row];
    const double margin = std::max((row.end[place->slice] - row.start[place->slice]) * 0.5, 1e-3);
    showRange(row.start[place->slice] - margin, row.end[place->slice] + margin);
}

void TimelineView::leaveEvent(QEvent*) {
    hovered_.reset();
    update();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    if (!scene_) return QWidget::keyPressEvent(event);
    const double first = scene_->timeline->begin;
    const double last = scene_->timeline->end;
    const QPoint mouse = mapFromGlobal(QCursor::pos());
    const double x = canvas().contains(mouse) ? mouse.x() - headerWidth : axis_.width / 2;
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus: axis_.zoom(0.7, x, first, last); break;
    case Qt::Key_S:
    case Qt::Key_Minus: axis_.zoom(1 / 0.7, x, first, last); break;
    case Qt::Key_A:
    case Qt::Key_Left: axis_.pan(-axis_.width / 8, first, last); break;
    case Qt::Key_D:
    case Qt::Key_Right: axis_.pan(axis_.width / 8, first, last); break;
    case Qt::Key_F: fit(); return;
    case Qt::Key_Up: scroll_->setValue(scroll_->value() - laneHeight); return;
    case Qt::Key_Down: scroll_->setValue(scroll_->value() + laneHeight); return;
    case Qt::Key_Escape: clearRange(); return;
    case Qt::Key_M:
        if (marked_.empty()) return;
        range_ = {scene_->timeline->rows[marked_.front().row].start[marked_.front().slice], scene_->timeline->rows[marked_.front().row].end[marked_.front().slice]};
        update();
        emit rangeChanged(range_->first, range_->second);
        return;
    default: return QWidget::keyPressEvent(event);
    }
    axisChanged();
}

bool TimelineView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto place = placeAt(help->pos());
        const QString counter = place ? QString() : describeCounterAt(help->pos());
        if (place) QToolTip::showText(help->globalPos(), describe(*place), this);
        else if (!counter.isEmpty()) QToolTip::showText(help->globalPos(), counter, this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
