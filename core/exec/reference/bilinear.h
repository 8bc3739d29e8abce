#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace megascope {

/// The four pixels around a position of an image plane, for interpolation and its gradients.
struct Bilinear {
    struct Pixel {
        std::size_t at = 0;  ///< element inside the plane
        double weight = 0;   ///< 0 for pixels outside the image
        double by_y = 0;     ///< derivative of the weight by the position's y
        double by_x = 0;
    };
    std::array<Pixel, 4> pixels;

    [[nodiscard]] double value(const double* plane) const {
        double sum = 0;
        for (const Pixel& p : pixels) sum += p.weight * plane[p.at];
        return sum;
    }
    [[nodiscard]] double by_y(const double* plane) const {
        double sum = 0;
        for (const Pixel& p : pixels) sum += p.by_y * plane[p.at];
        return sum;
    }
    [[nodiscard]] double by_x(const double* plane) const {
        double sum = 0;
        for (const Pixel& p : pixels) sum += p.by_x * plane[p.at];
        return sum;
    }
};

/// Pixels outside the image count as 0. The position may lie anywhere; one that is not a number reads nothing.
/// `far_edge`: on a whole coordinate both neighbours are the same pixel (their derivative is 0), as operators that take floor
/// and ceiling of a position do; otherwise the upper neighbour is always floor + 1.
[[nodiscard]] inline Bilinear bilinear(double y, double x, std::int64_t height, std::int64_t width, bool far_edge = false) {
    Bilinear b;
    if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return b;
    const double y0 = std::floor(y);
    const double x0 = std::floor(x);
    const double fy = y - y0;
    const double fx = x - x0;
    const double down = far_edge && fy == 0 ? 0 : 1;
    const double right = far_edge && fx == 0 ? 0 : 1;
    std::size_t i = 0;
    for (const double dy : {0.0, 1.0})
        for (const double dx : {0.0, 1.0}) {
            Bilinear::Pixel& p = b.pixels[i++];
            const auto row = static_cast<std::int64_t>(y0 + dy * down);
            const auto column = static_cast<std::int64_t>(x0 + dx * right);
            if (row < 0 || column < 0 || row >= height || column >= width) continue;
            const double wy = dy == 1 ? fy : 1 - fy;
            const double wx = dx == 1 ? fx : 1 - fx;
            p = {static_cast<std::size_t>(row * width + column), wy * wx, (dy == 1 ? 1 : -1) * wx, (dx == 1 ? 1 : -1) * wy};
        }
    return b;
}

} // namespace megascope
