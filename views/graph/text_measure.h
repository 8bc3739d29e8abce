#pragma once

#include <QFont>
#include <QString>

#include <array>

namespace megascope {

/// Text widths without QFontMetrics, so that a layout job may ask on its own thread. Built on the GUI thread; a value type.
/// Latin characters have their own width, others the width of an ideograph.
class TextMeasure {
public:
    explicit TextMeasure(const QFont& font);

    [[nodiscard]] double width(const QString& text) const;
    [[nodiscard]] double height() const { return height_; }
    [[nodiscard]] double ascent() const { return ascent_; }
    /// Shortened with "…" in the middle when wider than `width`.
    [[nodiscard]] QString elided(const QString& text, double width) const;

private:
    static constexpr int tabled = 0x250;
    std::array<float, tabled> widths_{};
    double ideograph_ = 0;
    double height_ = 0;
    double ascent_ = 0;
};

/// The three fonts of a graph drawing, made from the widget's font: unhinted, so that text keeps its proportions at every zoom.
struct GraphFonts {
    explicit GraphFonts(const QFont& base);

    QFont normal, bold, small;
    TextMeasure normal_measure, bold_measure, small_measure;
};

} // namespace megascope
