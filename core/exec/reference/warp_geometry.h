#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace megascope {

/// A place in a source image; x counts columns, y rows.
struct SourcePoint {
    float x = 0;
    float y = 0;
};

// Where a result pixel (row h, column w) lies in the source, by a row-major matrix that maps (w, h, 1). `nearest` rounds to a
// whole pixel. The exact forms compute in float, as the library's plain kernels; the "_32" forms are OpenCV's, in 1/32 pixel.

[[nodiscard]] inline SourcePoint rounded(SourcePoint p) { return {std::nearbyint(p.x), std::nearbyint(p.y)}; }

[[nodiscard]] inline SourcePoint perspective_point(std::span<const double, 9> m, std::int64_t h, std::int64_t w, bool nearest) {
    const auto f = [&](std::size_t k) { return static_cast<float>(m[k]); };
    const auto row = static_cast<float>(h);
    const auto column = static_cast<float>(w);
    const float d = f(6) * column + f(7) * row + f(8);
    const SourcePoint p{(f(0) * column + f(1) * row + f(2)) / d, (f(3) * column + f(4) * row + f(5)) / d};
    return nearest ? rounded(p) : p;
}

[[nodiscard]] inline SourcePoint affine_point(std::span<const double, 6> m, std::int64_t h, std::int64_t w, bool nearest) {
    const auto f = [&](std::size_t k) { return static_cast<float>(m[k]); };
    const auto row = static_cast<float>(h);
    const auto column = static_cast<float>(w);
    const SourcePoint p{f(0) * column + f(1) * row + f(2), f(3) * column + f(4) * row + f(5)};
    return nearest ? rounded(p) : p;
}

[[nodiscard]] inline SourcePoint perspective_point_32(std::span<const double, 9> m, std::int64_t h, std::int64_t w, bool nearest) {
    const auto row = static_cast<double>(h);
    const auto column = static_cast<double>(w);
    const double d = m[6] * column + m[7] * row + m[8];
    const double steps = nearest ? 1 : 32;
    const double scale = d == 0 ? 0 : steps / d;
    return {static_cast<float>(std::nearbyint((m[0] * column + m[1] * row + m[2]) * scale) / steps),
            static_cast<float>(std::nearbyint((m[3] * column + m[4] * row + m[5]) * scale) / steps)};
}

[[nodiscard]] inline SourcePoint affine_point_32(std::span<const double, 6> m, std::int64_t h, std::int64_t w, bool nearest) {
    // Ten fraction bits, the row's and the column's part rounded one by one.
    const auto place = [&](std::size_t first) {
        const double sum = std::nearbyint((m[first + 1] * static_cast<double>(h) + m[first + 2]) * 1024) +
                           std::nearbyint(m[first] * static_cast<double>(w) * 1024);
        if (nearest) return static_cast<float>(std::floor((sum + 512) / 1024));
        return static_cast<float>(std::floor((sum + 16) / 32) / 32);
    };
    return {place(0), place(3)};
}

} // namespace megascope
