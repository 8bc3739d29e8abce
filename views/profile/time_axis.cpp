#include "views/profile/time_axis.h"

#include <algorithm>
#include <cmath>

namespace megascope {

namespace {
constexpr double shortest = 1e-4; // microseconds: a tenth of a nanosecond
}

void TimeAxis::zoom(double factor, double pixel, double first, double last) {
    const double longest = std::max(10 * (last - first), 1.0);
    const double wanted = std::clamp(span() * factor, shortest, longest);
    const double fixed = toTime(pixel);
    const double share = pixel / width;
    begin = fixed - wanted * share;
    end = begin + wanted;
    pan(0, first, last);
}

void TimeAxis::pan(double pixels, double first, double last) {
    double shift = pixels * perPixel();
    const double inside = span() / 10;
    if (begin + shift > last - inside) shift = last - inside - begin;
    if (end + shift < first + inside) shift = first + inside - end;
    begin += shift;
    end += shift;
}

void TimeAxis::show(double first, double last) {
    const double margin = std::max((last - first) * 0.01, shortest);
    begin = first - margin;
    end = last + margin;
}

std::vector<TimeTick> timeTicks(const TimeAxis& axis, double origin, double spacing) {
    const double least = axis.perPixel() * spacing;
    double step = std::pow(10, std::floor(std::log10(least)));
    for (const double multiple : {1.0, 2.0, 5.0, 10.0})
        if (step * multiple >= least) {
            step *= multiple;
            break;
        }
    const double minor = step / 5;
    std::vector<TimeTick> ticks;
    const auto first = static_cast<long long>(std::ceil((axis.begin - origin) / minor));
    const auto last = static_cast<long long>(std::floor((axis.end - origin) / minor));
    for (long long i = first; i <= last && ticks.size() < 4000; ++i)
        ticks.push_back({origin + static_cast<double>(i) * minor, i % 5 == 0 ? timeLabel(static_cast<double>(i) * minor, step) : QString()});
    return ticks;
}

QString timeLabel(double microseconds, double resolution) {
    struct Unit {
        double scale;
        const char* name;
    };
    static constexpr Unit units[] = {{1e-3, "ns"}, {1, "µs"}, {1e3, "ms"}, {1e6, "s"}};
    const double magnitude = std::max(std::abs(microseconds), resolution);
    Unit unit = units[0];
    for (const Unit& u : units)
        if (magnitude >= u.scale) unit = u;
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(resolution / unit.scale) - 1e-9)), 0, 9);
    return QString::number(microseconds / unit.scale, 'f', decimals) + QChar(0x202f) + QString::fromUtf8(unit.name);
}

} // namespace megascope
