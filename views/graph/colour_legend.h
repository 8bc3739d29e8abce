#pragma once

#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

class QPainter;

namespace megascope {

struct GraphStyle;

/// A class of operators that is told apart by colour: "changed", "only here".
struct GraphMark {
    QString text; ///< empty: not in the legend
    QColor colour;
    std::optional<std::size_t> count = std::nullopt; ///< operators of the class, for tooltips
};

/// Numbers to places on a ramp of colours.
struct ColourScale {
    bool logarithmic = false;
    double least = 0, most = 0; ///< of the axis: all numbers that are shown; of a linear axis of positive numbers `least` is 0
    double low = 0, high = 0;   ///< the ends of the ramp, inside the axis; what is beyond has the colour of the end

    /// The axis of these numbers, the ramp over all of it. On a logarithmic axis only positive finite numbers count; without any it
    /// is empty (least = most = 0).
    [[nodiscard]] static ColourScale of(std::span<const std::optional<double>> values, bool logarithmic);
    /// Moves the ends of the ramp to these values where there are some; they stay inside the axis and in order.
    void clip(std::optional<double> low_end, std::optional<double> high_end);
    [[nodiscard]] bool clipped() const { return low > least || high < most; }
    /// 0 to 1 along the ramp, and along the axis. Numbers that are not on a logarithmic axis (zero and below) lie at 0.
    [[nodiscard]] double on_ramp(double value) const { return part(value, low, high); }
    [[nodiscard]] double on_axis(double value) const { return part(value, least, most); }
    /// The number at a place (0 to 1) of the axis.
    [[nodiscard]] double at(double place) const;

private:
    [[nodiscard]] double part(double value, double from, double to) const;
};

/// What the colours of a drawing mean. A value type.
struct ColourLegend {
    QString title;                 ///< "Time (run on cpu, 2 threads)"
    std::vector<GraphMark> classes;
    struct Ramp {
        QString unit;              ///< as OprColumn::unit
        ColourScale scale;
        std::vector<std::uint32_t> bars; ///< how many boxes have a number in each part of the axis
        std::size_t not_numbers = 0;     ///< boxes with NaN or an infinity
    };
    std::optional<Ramp> ramp;
    QString note;                  ///< instead of both: why there is nothing to colour by

    [[nodiscard]] bool empty() const { return classes.empty() && !ramp && note.isEmpty(); }
};

/// How often values fall into each of `count` equal parts of the axis. NaN and infinities are left out, as is what a logarithmic
/// axis does not have.
[[nodiscard]] std::vector<std::uint32_t> histogram(std::span<const std::optional<double>> values, const ColourScale& scale, std::size_t count);

/// Swatches with names, wrapped into lines.
struct ClassLines {
    std::vector<QRectF> boxes; ///< of the classes that have room (those without a name are left out), relative to the top left corner
    std::vector<std::size_t> shown; ///< which class each is
    std::size_t more = 0;      ///< classes without room
    QRectF more_box;           ///< of "… 5 more"
    double height = 0;
};
[[nodiscard]] ClassLines class_lines(std::span<const GraphMark> classes, const QFont& font, double width, std::size_t most_lines);
void paint_classes(QPainter& painter, QPointF at, std::span<const GraphMark> classes, const ClassLines& lines, const GraphStyle& style, const QFont& font);

/// Bars of the histogram over the ramp; `bars_area` and `ramp_area` share their width, which is the axis.
void paint_ramp(QPainter& painter, const QRectF& bars_area, const QRectF& ramp_area, const ColourLegend::Ramp& ramp, const GraphStyle& style);

/// A box that does not have a number, but NaN or an infinity.
[[nodiscard]] QColor not_a_number_colour(const GraphStyle& style);

/// The legend for a picture of its own: a title, then classes or ramp. `width`: the most it may take. Height 0 for an empty one.
[[nodiscard]] QSizeF legend_size(const ColourLegend& legend, const QFont& font, double width);
void paint_legend(QPainter& painter, const QRectF& area, const ColourLegend& legend, const GraphStyle& style, const QFont& font);

} // namespace megascope
