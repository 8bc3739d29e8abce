#include "views/profile/timeline_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr int headerWidth = 180;
constexpr int rulerHeight = 24;
constexpr int laneHeight = 18;
constexpr int groupHeight = 22;
constexpr int counterHeight = 44;
constexpr int rowGap = 6;

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
    searchHits_.clear();
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

void TimelineView::clearRange() {
    range_.reset();
    update();
    emit rangeChanged(0, 0);
}

void TimelineView::setHighlighted(std::optional<std::uint32_t> source) {
    highlighted_ = source;
    update();
    if (!source || !scene_) return;
    bool any_visible = false;
    std::optional<Place> first;
    for (std::size_t r = 0; r < scene_->timeline->rows.size(); ++r) {
        const TimelineRow& row = scene_->timeline->rows[r];
        for (std::uint32_t i = 0; i < row.size(); ++i) {
            if (row.source[i] != *source) continue;
            if (!first) first = Place{r, i};
            any_visible |= row.end[i] >= axis_.begin && row.start[i] <= axis_.end;
        }
    }
    if (!first || any_visible) return;
    const TimelineRow& row = scene_->timeline->rows[first->row];
    const double middle = (row.start[first->slice] + row.end[first->slice]) / 2;
    const double half = axis_.span() / 2;
    axis_.begin = middle - half;
    axis_.end = middle + half;
    axisChanged();
}

std::size_t TimelineView::setSearch(const QString& wanted) {
    searchHits_.clear();
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

QColor TimelineView::nameColour(StringId name) const {
    const int hue = static_cast<int>((name.value() * 2654435761U) >> 16) % 360;
    return isDark(palette()) ? QColor::fromHsl(hue, 70, 95) : QColor::fromHsl(hue, 110, 205);
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
        QString json = text(timeline.trace->event_text(TraceEventId(row.source[place.slice])));
        if (json.size() > 600) json = json.left(600) + "…";
        lines << json;
    }
    return lines.join('\n');
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    const QRect area = canvas();
    if (scene_) {
        painter.setClipRect(0, rulerHeight, width(), area.height());
        for (const Band& band : bands_) {
            const int top = rulerHeight + band.top - scroll_->value();
            if (top + band.height < rulerHeight || top > height()) continue;
            if (band.kind == Band::Kind::row) paintRow(painter, band, top);
            else if (band.kind == Band::Kind::counter) paintCounter(painter, band, top);
            if (band.kind == Band::Kind::group) {
                painter.fillRect(0, top, width(), band.height, palette().alternateBase());
                QFont bold = font();
                bold.setBold(true);
                painter.setFont(bold);
            } else {
                painter.fillRect(0, top, headerWidth, band.height, palette().window());
                painter.setFont(font());
            }
            painter.setPen(palette().color(QPalette::Text));
            const int indent = band.kind == Band::Kind::group ? 8 : 16;
            const QRect title(indent, top, (band.kind == Band::Kind::group ? width() : headerWidth) - indent - 8, std::min(band.height, groupHeight));
            painter.drawText(title, Qt::AlignLeft | Qt::AlignVCenter, painter.fontMetrics().elidedText(band.title, Qt::ElideRight, title.width()));
        }
        painter.setClipping(false);
        painter.setPen(themeColours(palette()).separator);
        painter.drawLine(headerWidth - 1, rulerHeight, headerWidth - 1, height());
    }
    paintRuler(painter);
    paintRange(painter);
}

void TimelineView::paintRow(QPainter& painter, const Band& band, int top) {
    const Timeline& timeline = *scene_->timeline;
    const TimelineRow& row = timeline.rows[band.index];
    const auto& lanes = scene_->lanes.rows[band.index];
    const QRect area = canvas();
    const ThemeColours colours = themeColours(palette());
    const QFontMetrics metrics(font());
    for (std::size_t depth = 0; depth < lanes.size(); ++depth) {
        const int y = top + static_cast<int>(depth) * laneHeight + 2;
        if (y + laneHeight < rulerHeight || y > height()) continue;
        runs_.clear();
        collect_runs(row, lanes[depth], axis_.begin, axis_.end, axis_.perPixel(), runs_);
        for (const LaneRun& run : runs_) {
            const double x0 = std::max(axis_.toPixel(run.start), -1.0);
            const double x1 = std::min(axis_.toPixel(run.end), axis_.width + 1);
            const int left = area.left() + static_cast<int>(std::floor(x0));
            const int w = std::max(1, static_cast<int>(std::ceil(x1) - std::floor(x0)) - (x1 - x0 > 3 ? 1 : 0));
            const StringId name = row.name[run.slice];
            const bool found = searchHits_.empty() || searchHits_[name.index()];
            QColor fill = colour_ ? colour_(row, run.slice) : nameColour(name);
            if (!found) fill = palette().color(QPalette::AlternateBase);
            const QRect box(left, y, w, laneHeight - 2);
            painter.fillRect(box, fill);
            if (run.count > 1) continue;
            if (row.instant[run.slice]) painter.fillRect(box.adjusted(0, 0, 0, 0), colours.caution);
            if (highlighted_ && row.source[run.slice] == *highlighted_) {
                painter.setPen(QPen(colours.accent, 2));
                painter.drawRect(box.adjusted(0, 0, -1, -1));
            } else if (hovered_ && *hovered_ == Place{band.index, run.slice}) {
                painter.setPen(colours.accent);
                painter.drawRect(box.adjusted(0, 0, -1, -1));
            }
            if (w > 24 && found) {
                painter.setFont(font());
                const QRect inside = box.intersected(area).adjusted(4, 0, -4, 0);
                if (inside.width() < 16) continue;
                painter.setPen(readableOn(fill));
                painter.drawText(inside, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(text(timeline.strings[name]), Qt::ElideRight, inside.width()));
            }
        }
    }
}

void TimelineView::paintCounter(QPainter& painter, const Band& band, int top) const {
    const TimelineCounter& counter = scene_->timeline->counters[band.index];
    if (counter.time.empty()) return;
    const QRect area = canvas();
    const auto [low, high] = std::minmax_element(counter.value.begin(), counter.value.end());
    const double bottom = std::min(0.0, *low);
    const double range = std::max(*high - bottom, 1e-300);
    const QColor line = themeColours(palette()).accent;
    QColor fill = line;
    fill.setAlpha(60);
    const int h = band.height - 8;
    auto at = static_cast<std::size_t>(std::upper_bound(counter.time.begin(), counter.time.end(), axis_.begin) - counter.time.begin());
    at = at > 0 ? at - 1 : 0;
    // A step function; between two pixels the largest value is drawn.
    while (at < counter.time.size() && counter.time[at] < axis_.end) {
        const double from = counter.time[at];
        double value = counter.value[at];
        std::size_t next = at + 1;
        while (next < counter.time.size() && counter.time[next] < from + axis_.perPixel()) value = std::max(value, counter.value[next++]);
        const double to = next < counter.time.size() ? counter.time[next] : axis_.end;
        const int x0 = area.left() + static_cast<int>(std::max(axis_.toPixel(from), 0.0));
        const int x1 = area.left() + static_cast<int>(std::min(axis_.toPixel(to), axis_.width));
        const int bar = static_cast<int>((value - bottom) / range * h);
        const QRect box(x0, top + 4 + h - bar, std::max(1, x1 - x0), bar);
        painter.fillRect(box, fill);
        painter.fillRect(box.left(), box.top(), box.width(), 1, line);
        at = next;
    }
    painter.setPen(themeColours(palette()).dimmedText);
    painter.drawText(QRect(area.left() + 4, top + 2, 200, 16), Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(format_number(*high, 4)));
}

void TimelineView::paintRuler(QPainter& painter) const {
    const QRect area = canvas();
    const ThemeColours colours = themeColours(palette());
    painter.fillRect(0, 0, width(), rulerHeight, palette().window());
    painter.setPen(colours.separator);
    painter.drawLine(0, rulerHeight - 1, width(), rulerHeight - 1);
    if (!scene_) return;
    painter.setFont(font());
    for (const TimeTick& tick : timeTicks(axis_, scene_->timeline->begin, 110)) {
        const int x = area.left() + static_cast<int>(axis_.toPixel(tick.time));
        if (x < area.left()) continue;
        painter.setPen(colours.separator);
        painter.drawLine(x, tick.label.isEmpty() ? rulerHeight - 5 : rulerHeight - 10, x, rulerHeight - 1);
        if (tick.label.isEmpty()) continue;
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(x + 4, 2, 130, rulerHeight - 6, Qt::AlignLeft | Qt::AlignVCenter, tick.label);
    }
    painter.fillRect(0, 0, headerWidth - 1, rulerHeight - 1, palette().window());
    painter.setPen(colours.dimmedText);
    painter.drawText(QRect(8, 0, headerWidth - 16, rulerHeight), Qt::AlignLeft | Qt::AlignVCenter,
                     timeLabel(scene_->timeline->end - scene_->timeline->begin, std::max((scene_->timeline->end - scene_->timeline->begin) / 1000, 1e-3)));
}

void TimelineView::paintRange(QPainter& painter) const {
    if (!range_) return;
    const QRect area = canvas();
    QColor tint = themeColours(palette()).accent;
    const int x0 = area.left() + static_cast<int>(std::clamp(axis_.toPixel(range_->first), 0.0, axis_.width));
    const int x1 = area.left() + static_cast<int>(std::clamp(axis_.toPixel(range_->second), 0.0, axis_.width));
    tint.setAlpha(36);
    painter.fillRect(x0, 0, x1 - x0, height(), tint);
    painter.setPen(themeColours(palette()).accent);
    painter.drawLine(x0, 0, x0, height());
    painter.drawLine(x1, 0, x1, height());
    const QString length = QString::fromStdString(format_seconds((range_->second - range_->first) * 1e-6));
    painter.drawText(QRect(x0 + 4, 0, std::max(80, x1 - x0), rulerHeight), Qt::AlignLeft | Qt::AlignVCenter, length);
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
        highlighted_ = scene_->timeline->rows[place->row].source[place->slice];
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
        if (!highlighted_) return;
        for (const TimelineRow& row : scene_->timeline->rows)
            for (std::size_t i = 0; i < row.size(); ++i)
                if (row.source[i] == *highlighted_) {
                    range_ = {row.start[i], row.end[i]};
                    update();
                    emit rangeChanged(range_->first, range_->second);
                    return;
                }
        return;
    default: return QWidget::keyPressEvent(event);
    }
    axisChanged();
}

bool TimelineView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto place = placeAt(help->pos());
        if (place) QToolTip::showText(help->globalPos(), describe(*place), this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
