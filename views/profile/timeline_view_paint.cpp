#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "views/common/theme.h"
#include "views/profile/timeline_metrics.h"
#include "views/profile/timeline_view.h"

namespace megascope {

namespace {

using namespace timeline_metrics;

constexpr std::size_t mostFlows = 300; ///< arrows in sight; beyond, only those of the selection are drawn

constexpr int hues = 360;
std::size_t hueOf(StringId name) { return ((name.value() * 2654435761U) >> 16) % hues; }

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

} // namespace

void TimelineView::chooseFills() {
    const bool dark = isDark(palette());
    if (!fills_.empty() && dark == darkFills_) return;
    darkFills_ = dark;
    fills_.clear();
    for (int hue = 0; hue < hues; ++hue) {
        const QColor fill = (dark ? QColor::fromHsl(hue, 70, 95) : QColor::fromHsl(hue, 110, 205)).toRgb();
        fills_.push_back({fill, readableOn(fill)});
    }
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    const QRect area = canvas();
    if (scene_) {
        chooseFills();
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
            if (band.kind != Band::Kind::counter || scene_->timeline->counters[band.index].value.empty()) continue;
            // What the full height of the drawing means; beside it, where no line runs through it.
            const TimelineCounter& counter = scene_->timeline->counters[band.index];
            const double high = *std::ranges::max_element(counter.value);
            painter.setPen(themeColours(palette()).dimmedText);
            painter.drawText(QRect(indent, top + groupHeight - 4, headerWidth - indent - 8, band.height - groupHeight), Qt::AlignLeft | Qt::AlignVCenter,
                             tr("at most %1").arg(QString::fromStdString(counter.title.ends_with("(bytes)") ? format_bytes(high) : format_number(high, 4))));
        }
        painter.setClipping(false);
        painter.setPen(themeColours(palette()).separator);
        painter.drawLine(headerWidth - 1, rulerHeight, headerWidth - 1, height());
    }
    if (flowsShown_) paintFlows(painter);
    paintRuler(painter);
    paintRange(painter);
}

QPointF TimelineView::flowPoint(double time, std::uint32_t row) const {
    const Band* band = bandOfRow(row);
    if (!band) return {};
    // The arrow ends at the innermost slice that is open at that time, at the row's top when there is none.
    const auto& lanes = scene_->lanes.rows[row];
    std::size_t depth = 0;
    for (std::size_t d = 0; d < lanes.size(); ++d)
        if (slice_at(scene_->timeline->rows[row], lanes[d], time, 0)) depth = d;
    return {headerWidth + axis_.toPixel(time), rulerHeight + band->top - scroll_->value() + static_cast<double>(depth) * laneHeight + laneHeight / 2.0};
}

void TimelineView::paintFlows(QPainter& painter) const {
    if (!scene_ || scene_->timeline->flows.empty()) return;
    const std::vector<TimelineFlow>& flows = scene_->timeline->flows;
    const QRect area = canvas();
    // All that is in sight, as long as it is few; otherwise only those of the selected slices.
    std::vector<std::uint32_t> shown;
    const auto touches_selected = [&](std::uint32_t row, double time) {
        return std::any_of(marked_.begin(), marked_.end(), [&](const Place& place) {
            const TimelineRow& of = scene_->timeline->rows[place.row];
            return place.row == row && time >= of.start[place.slice] && time <= of.end[place.slice];
        });
    };
    bool too_many = false;
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        const TimelineFlow& flow = flows[i];
        const double first = std::min(flow.from_time, flow.to_time);
        const double last = std::max(flow.from_time, flow.to_time);
        if (last < axis_.begin || first > axis_.end) continue;
        if (!too_many || touches_selected(flow.from_row, flow.from_time) || touches_selected(flow.to_row, flow.to_time)) shown.push_back(i);
        if (!too_many && shown.size() > mostFlows) {
            too_many = true;
            std::erase_if(shown, [&](std::uint32_t k) {
                return !touches_selected(flows[k].from_row, flows[k].from_time) && !touches_selected(flows[k].to_row, flows[k].to_time);
            });
        }
    }
    painter.save();
    painter.setClipRect(area);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor line = themeColours(palette()).accent;
    for (const std::uint32_t i : shown) {
        const TimelineFlow& flow = flows[i];
        const bool strong = touches_selected(flow.from_row, flow.from_time) || touches_selected(flow.to_row, flow.to_time);
        line.setAlpha(strong ? 230 : 110);
        painter.setPen(QPen(line, strong ? 1.6 : 1));
        const QPointF from = flowPoint(flow.from_time, flow.from_row);
        const QPointF to = flowPoint(flow.to_time, flow.to_row);
        const double bend = std::clamp(std::abs(to.x() - from.x()) / 2, 12.0, 120.0);
        QPainterPath path(from);
        path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(path);
        painter.setBrush(line);
        painter.setPen(Qt::NoPen);
        painter.drawPolygon(QPolygonF({to, to + QPointF(-6, -3), to + QPointF(-6, 3)}));
    }
    painter.restore();
}

void TimelineView::paintRow(QPainter& painter, const Band& band, int top) {
    const Timeline& timeline = *scene_->timeline;
    const TimelineRow& row = timeline.rows[band.index];
    const auto& lanes = scene_->lanes.rows[band.index];
    const QRect area = canvas();
    const ThemeColours colours = themeColours(palette());
    const QColor notFound = palette().color(QPalette::AlternateBase);
    const QFontMetrics metrics(font());
    const QSize laneSize(area.width(), laneHeight - 2);
    if (narrow_.size() != laneSize) narrow_ = QImage(laneSize, QImage::Format_ARGB32_Premultiplied);
    for (std::size_t depth = 0; depth < lanes.size(); ++depth) {
        const int y = top + static_cast<int>(depth) * laneHeight + 2;
        if (y + laneHeight < rulerHeight || y > height()) continue;
        runs_.clear();
        collect_runs(row, lanes[depth], axis_.begin, axis_.end, axis_.perPixel(), runs_);
        // Thousands of rectangles a pixel wide: their columns are set in one line, which is drawn once.
        auto* line = reinterpret_cast<QRgb*>(narrow_.scanLine(0));
        std::fill_n(line, laneSize.width(), QRgb{0});
        bool anyNarrow = false;
        for (const LaneRun& run : runs_) {
            const double x0 = std::max(axis_.toPixel(run.start), -1.0);
            const double x1 = std::min(axis_.toPixel(run.end), axis_.width + 1);
            const int left = area.left() + static_cast<int>(std::floor(x0));
            const int w = std::max(1, static_cast<int>(std::ceil(x1) - std::floor(x0)) - (x1 - x0 > 3 ? 1 : 0));
            const bool found = searchHits_.empty() || searchHits_[run.name.index()];
            const Fill& ofName = fills_[hueOf(run.name)];
            const QColor fill = !found ? notFound : colour_ ? colour_(row, run.slice) : ofName.fill;
            if (run.count > 1 && fill.alpha() == 255) {
                const int first = std::max(left - area.left(), 0);
                const int last = std::min(left - area.left() + w, laneSize.width());
                for (int x = first; x < last; ++x) line[x] = fill.rgb();
                anyNarrow = true;
                continue;
            }
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
                painter.setPen(colour_ ? readableOn(fill) : ofName.text);
                painter.drawText(inside, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(text(timeline.strings[run.name]), Qt::ElideRight, inside.width()));
            }
        }
        if (!anyNarrow) continue;
        for (int other = 1; other < laneSize.height(); ++other) std::copy_n(line, laneSize.width(), reinterpret_cast<QRgb*>(narrow_.scanLine(other)));
        painter.drawImage(area.left(), y, narrow_);
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

} // namespace megascope
