#pragma once

#include <QString>

#include <vector>

namespace megascope {

/// Time ↔ pixel. Times are microseconds, pixels are device-independent and start at the left edge of the drawing area.
struct TimeAxis {
    double begin = 0; ///< time at pixel 0
    double end = 1;   ///< time at pixel `width`
    double width = 1; ///< pixels

    [[nodiscard]] double span() const { return end - begin; }
    [[nodiscard]] double perPixel() const { return span() / width; }
    [[nodiscard]] double toPixel(double time) const { return (time - begin) / span() * width; }
    [[nodiscard]] double toTime(double pixel) const { return begin + pixel / width * span(); }

    /// Scales the span by `factor` with the time at `pixel` fixed; the span stays between a tenth of a nanosecond and ten times
    /// [first, last].
    void zoom(double factor, double pixel, double first, double last);
    /// Moves by pixels; at least a tenth of the view stays inside [first, last].
    void pan(double pixels, double first, double last);
    void show(double first, double last);
};

struct TimeTick {
    double time = 0;
    QString label; ///< empty for minor ticks
};
/// Ticks at round times, labelled ones at least `spacing` pixels apart. Labels are relative to `origin`.
[[nodiscard]] std::vector<TimeTick> timeTicks(const TimeAxis& axis, double origin, double spacing);

/// "1.234 ms" with as many digits as a step of `resolution` microseconds needs.
[[nodiscard]] QString timeLabel(double microseconds, double resolution);

} // namespace megascope
