#include "views/graph/colour_legend.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>

#include "views/common/opr_columns.h"
#include "views/common/theme.h"
#include "views/graph/graph_style.h"

namespace megascope {

namespace {

constexpr double gap = 12;   ///< between two classes
constexpr double inner = 5;  ///< between a swatch and its name

QString tr(const char* source) { return QCoreApplication::translate("ColourLegend", source); }

double swatch(const QFontMetricsF& metrics) { return std::round(metrics.ascent()); }
double line(const QFontMetricsF& metrics) { return std::ceil(metrics.height()) + 4; }
QString more_text(std::size_t count) { return tr("… %1 more").arg(count); }

} // namespace

ColourScale ColourScale::of(std::span<const std::optional<double>> values, bool logarithmic) {
    ColourScale scale;
    scale.logarithmic = logarithmic;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& v : values) {
        if (!v || !std::isfinite(*v) || (logarithmic && *v <= 0)) continue;
        low = std::min(low, *v);
        high = std::max(high, *v);
    }
    if (low > high) low = high = 0;
    if (!logarithmic) low = std::min(low, 0.0);
    scale.least = scale.low = low;
    scale.most = scale.high = high;
    return scale;
}

void ColourScale::clip(std::optional<double> low_end, std::optional<double> high_end) {
    high = std::clamp(high_end.value_or(most), least, most);
    low = std::clamp(low_end.value_or(least), least, high);
}

double ColourScale::part(double value, double from, double to) const {
    if (to <= from) return value > from ? 1 : value < from ? 0 : to > 0 ? 1 : 0; // a single number is the largest one, too
    if (logarithmic) return value <= 0 ? 0 : std::clamp(std::log(value / from) / std::log(to / from), 0.0, 1.0);
    return std::clamp((value - from) / (to - from), 0.0, 1.0);
}

double ColourScale::at(double place) const {
    if (place <= 0) return least;
    if (place >= 1) return most;
    return logarithmic && least > 0 ? least * std::pow(most / least, place) : least + place * (most - least);
}

std::vector<std::uint32_t> histogram(std::span<const std::optional<double>> values, const ColourScale& scale, std::size_t count) {
    std::vector<std::uint32_t> bars(count, 0);
    for (const auto& v : values) {
        if (!v || !std::isfinite(*v) || (scale.logarithmic && *v <= 0)) continue;
        const auto at = static_cast<std::size_t>(scale.on_axis(*v) * static_cast<double>(count));
        ++bars[std::min(at, count - 1)];
    }
    return bars;
}

ClassLines class_lines(std::span<const GraphMark> classes, const QFont& font, double width, std::size_t most_lines) {
    const QFontMetricsF metrics(font);
    const double height = line(metrics), square = swatch(metrics);
    ClassLines lines;
    double x = 0;
    std::size_t row = 0, named = 0;
    for (const GraphMark& mark : classes) named += !mark.text.isEmpty();
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (classes[i].text.isEmpty()) continue;
        const double w = std::min(width, square + inner + std::ceil(metrics.horizontalAdvance(classes[i].text)));
        const std::size_t rest = named - lines.boxes.size() - 1; // after this one
        const double tail = rest ? gap + std::ceil(metrics.horizontalAdvance(more_text(rest))) : 0;
        if (x > 0 && x + w > width) {
            x = 0;
            ++row;
        }
        // The last line keeps room for saying how many are missing.
        bool room = row < most_lines;
        if (room && row + 1 == most_lines && x + w + tail > width) {
            double all = x + w;
            for (std::size_t k = i + 1; k < classes.size(); ++k)
                if (!classes[k].text.isEmpty()) all += gap + square + inner + std::ceil(metrics.horizontalAdvance(classes[k].text));
            room = all <= width;
        }
        if (!room) {
            lines.more = named - lines.boxes.size();
            const double more = std::ceil(metrics.horizontalAdvance(more_text(lines.more)));
            if (row >= most_lines) {
                // The line before was filled without a thought of the rest: its last ones give way.
                while (!lines.boxes.empty() && lines.boxes.back().y() >= height * static_cast<double>(most_lines - 1) - 1 && lines.boxes.back().right() + gap + more > width) {
                    lines.boxes.pop_back();
                    lines.shown.pop_back();
                    ++lines.more;
                }
                row = most_lines - 1;
                const bool same = !lines.boxes.empty() && lines.boxes.back().y() >= height * static_cast<double>(row) - 1;
                x = same ? lines.boxes.back().right() + gap : 0;
            }
            lines.more_box = QRectF(x, height * static_cast<double>(row), more + metrics.horizontalAdvance(QLatin1Char('0')), height);
            break;
        }
        lines.boxes.emplace_back(x, height * static_cast<double>(row), w, height);
        lines.shown.push_back(i);
        x += w + gap;
    }
    for (const QRectF& box : lines.boxes) lines.height = std::max(lines.height, box.bottom());
    if (lines.more) lines.height = std::max(lines.height, lines.more_box.bottom());
    return lines;
}

void paint_classes(QPainter& painter, QPointF at, std::span<const GraphMark> classes, const ClassLines& lines, const GraphStyle& style, const QFont& font) {
    const QFontMetricsF metrics(font);
    const double square = swatch(metrics);
    painter.setFont(font);
    for (std::size_t k = 0; k < lines.boxes.size(); ++k) {
        const GraphMark& mark = classes[lines.shown[k]];
        const QRectF box = lines.boxes[k].translated(at);
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setBrush(mark.colour);
        painter.setPen(QPen(style.group_border, 1));
        painter.drawRoundedRect(QRectF(box.x() + 0.5, box.y() + (box.height() - square) / 2 + 0.5, square - 1, square - 1), 2.5, 2.5);
        painter.setPen(style.text);
        const double left = box.x() + square + inner;
        painter.drawText(QRectF(left, box.y(), box.right() - left + 1, box.height()), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(mark.text, Qt::ElideMiddle, box.right() - left + 1));
    }
    if (!lines.more) return;
    painter.setPen(style.dimmed);
    painter.drawText(lines.more_box.translated(at), Qt::AlignLeft | Qt::AlignVCenter, more_text(lines.more));
}

void paint_ramp(QPainter& painter, const QRectF& bars_area, const QRectF& ramp_area, const ColourLegend::Ramp& ramp, const GraphStyle& style) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double most = ramp.bars.empty() ? 0 : *std::max_element(ramp.bars.begin(), ramp.bars.end());
    const QColor bar = mixed(style.background, style.text, style.dark ? 0.5 : 0.42);
    const double w = bars_area.width() / std::max<double>(1, static_cast<double>(ramp.bars.size()));
    for (std::size_t i = 0; i < ramp.bars.size(); ++i) {
        if (!ramp.bars[i] || most <= 0) continue;
        // A square root: one box beside a thousand can still be seen.
        const double h = std::max(1.5, bars_area.height() * std::sqrt(ramp.bars[i] / most));
        painter.fillRect(QRectF(bars_area.x() + static_cast<double>(i) * w, bars_area.bottom() - h, std::max(1.0, w - 1), h), bar);
    }
    const double low = ramp_area.x() + ramp.scale.on_axis(ramp.scale.low) * ramp_area.width(), high = ramp_area.x() + ramp.scale.on_axis(ramp.scale.high) * ramp_area.width();
    const bool one = ramp.scale.most <= ramp.scale.least;
    QLinearGradient gradient(QPointF(one ? ramp_area.left() : low, 0), QPointF(one ? ramp_area.right() : std::max(high, low + 0.5), 0));
    for (int i = 0; i <= 16; ++i) gradient.setColorAt(i / 16.0, viridis(i / 16.0));
    painter.fillRect(ramp_area, gradient);
    painter.setRenderHint(QPainter::Antialiasing, true);
}

QColor not_a_number_colour(const GraphStyle& style) { return style.dark ? QColor(0xff, 0x4d, 0xd8) : QColor(0xd0, 0x00, 0xa0); }

namespace {

constexpr double ramp_width = 220;
constexpr double bars_height = 14;
constexpr double ramp_height = 8;

} // namespace

QSizeF legend_size(const ColourLegend& legend, const QFont& font, double width) {
    if (legend.classes.empty() && !legend.ramp) return {};
    const QFontMetricsF metrics(font);
    const double title = legend.title.isEmpty() ? 0 : line(metrics);
    if (legend.ramp) return {std::min(width, std::max(ramp_width, metrics.horizontalAdvance(legend.title))), title + bars_height + ramp_height + line(metrics) + (legend.ramp->not_numbers ? line(metrics) : 0)};
    const ClassLines lines = class_lines(legend.classes, font, width, legend.classes.size());
    double right = metrics.horizontalAdvance(legend.title);
    for (const QRectF& box : lines.boxes) right = std::max(right, box.right());
    return {std::min(width, right), title + lines.height};
}

void paint_legend(QPainter& painter, const QRectF& area, const ColourLegend& legend, const GraphStyle& style, const QFont& font) {
    if (legend.classes.empty() && !legend.ramp) return;
    const QFontMetricsF metrics(font);
    double y = area.y();
    painter.setFont(font);
    if (!legend.title.isEmpty()) {
        painter.setPen(style.dimmed);
        painter.drawText(QRectF(area.x(), y, area.width(), line(metrics)), Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(legend.title, Qt::ElideRight, area.width()));
        y += line(metrics);
    }
    if (!legend.ramp) {
        paint_classes(painter, QPointF(area.x(), y), legend.classes, class_lines(legend.classes, font, area.width(), legend.classes.size()), style, font);
        return;
    }
    ColourLegend::Ramp ramp = *legend.ramp;
    const bool below = ramp.scale.low > ramp.scale.least, above = ramp.scale.high < ramp.scale.most;
    if (ramp.scale.clipped()) {
        // A picture says what the colours stand for, not where the handles were.
        ramp.scale.least = ramp.scale.low;
        ramp.scale.most = ramp.scale.high;
        ramp.bars.clear();
    }
    const double width = std::min(ramp_width, area.width());
    const QRectF bars(area.x(), y, width, bars_height), strip(area.x(), y + bars_height, width, ramp_height);
    paint_ramp(painter, bars, strip, ramp, style);
    painter.setPen(style.text);
    const QRectF numbers(area.x(), strip.bottom(), width, line(metrics));
    const QString low = (below ? QStringLiteral("≤ ") : QString()) + columnText(ramp.scale.low, ramp.unit);
    const QString high = (above ? QStringLiteral("≥ ") : QString()) + columnText(ramp.scale.high, ramp.unit);
    painter.drawText(numbers, Qt::AlignLeft | Qt::AlignVCenter, low);
    painter.drawText(numbers, Qt::AlignRight | Qt::AlignVCenter, high);
    if (ramp.scale.logarithmic) {
        painter.setPen(style.dimmed);
        painter.drawText(numbers, Qt::AlignHCenter | Qt::AlignVCenter, tr("log"));
    }
    if (ramp.not_numbers) {
        const std::vector<GraphMark> none{{tr("not a finite number"), not_a_number_colour(style)}};
        paint_classes(painter, QPointF(area.x(), numbers.bottom()), none, class_lines(none, font, area.width(), 1), style, font);
    }
}

} // namespace megascope
