#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace megascope {

/// The (up to four) pixels around a position that lie inside an image plane, for interpolation and its gradients.
class Bilinear {
public:
    struct Pixel {
        std::size_t at = 0;  ///< element inside the plane
        double weight = 0;
        double by_y = 0;     ///< derivative of the weight by the position's y
        double by_x = 0;
    };

    [[nodiscard]] std::span<const Pixel> pixels() const { return {pixels_.data(), count_}; }
    void add(const Pixel& pixel) { pixels_[count_++] = pixel; } ///< Precondition: fewer than four so far.

    [[nodiscard]] double value(const double* plane) const { return sum(plane, &Pixel::weight); }
    [[nodiscard]] double by_y(const double* plane) const { return sum(plane, &Pixel::by_y); }
    [[nodiscard]] double by_x(const double* plane) const { return sum(plane, &Pixel::by_x); }

private:
    [[nodiscard]] double sum(const double* plane, double Pixel::* factor) const {
        double total = 0;
        for (const Pixel& p : pixels()) total += p.*factor * plane[p.at];
        return total;
    }
    std::array<Pixel, 4> pixels_;
    std::size_t count_ = 0;
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
    for (const double dy : {0.0, 1.0})
        for (const double dx : {0.0, 1.0}) {
            const auto row = static_cast<std::int64_t>(y0 + dy * down);
            const auto column = static_cast<std::int64_t>(x0 + dx * right);
            if (row < 0 || column < 0 || row >= height || column >= width) continue;
            const double wy = dy == 1 ? fy : 1 - fy;
            const double wx = dx == 1 ? fx : 1 - fx;
            b.add({static_cast<std::size_t>(row * width + column), wy * wx, (dy == 1 ? 1 : -1) * wx, (dx == 1 ? 1 : -1) * wy});
        }
    return b;
}

} // namespace megascope
