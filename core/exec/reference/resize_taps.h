#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace megascope {

/// Coefficients of the cubic kernel with A = -0.75 for the neighbours -1, 0, 1, 2 at distance `x` behind neighbour 0.
[[nodiscard]] inline std::array<float, 4> cubic_weights(float x) {
    constexpr float a = -0.75F;
    std::array<float, 4> w{};
    w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
    w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
    w[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
    w[3] = 1 - w[0] - w[1] - w[2];
    return w;
}

/// Lanczos' kernel of width 4 for the neighbours -3 … 4, normalised to a sum of 1. The common factor sin(πx) of the taps cancels
/// out, only its alternating sign stays.
[[nodiscard]] inline std::array<float, 8> lanczos4_weights(float x) {
    std::array<float, 8> w{};
    if (x < 1e-7F) {
        w[3] = 1;
        return w;
    }
    double sum = 0;
    std::array<double, 8> raw{};
    for (int k = 0; k < 8; ++k) {
        const double distance = static_cast<double>(x) - (k - 3);
        raw[static_cast<std::size_t>(k)] = (k % 2 == 1 ? 1 : -1) * std::sin(std::numbers::pi * distance / 4) / (distance * distance);
        sum += raw[static_cast<std::size_t>(k)];
    }
    for (std::size_t k = 0; k < 8; ++k) w[k] = static_cast<float>(raw[k] / sum);
    return w;
}

/// The source places that make up one output place along one axis, with their weights. Places outside are cut to the border.
struct ResizeTaps {
    std::size_t count = 0;
    std::array<std::int64_t, 8> place{};
    std::array<float, 8> weight{};

    void set_one(std::int64_t at) {
        count = 1;
        place[0] = at;
        weight[0] = 1;
    }
    void set_linear(std::int64_t low, float fraction, std::int64_t size) {
        if (low < 0 || low + 1 >= size) {
            set_one(low < 0 ? 0 : size - 1);
            return;
        }
        count = 2;
        place = {low, low + 1};
        weight = {1.0F - fraction, fraction};
    }
    void set_cubic(std::int64_t low, float fraction, std::int64_t size) { set_window(low - 1, cubic_weights(fraction), size); }
    void set_lanczos4(std::int64_t low, float fraction, std::int64_t size) { set_window(low - 3, lanczos4_weights(fraction), size); }

private:
    template <std::size_t n>
    void set_window(std::int64_t first, const std::array<float, n>& weights, std::int64_t size) {
        count = n;
        for (std::size_t k = 0; k < n; ++k) {
            place[k] = std::clamp<std::int64_t>(first + static_cast<std::int64_t>(k), 0, size - 1);
            weight[k] = weights[k];
        }
    }
};

/// Taps of every output place along one axis by the rule for all images but those of one or three channels in NHWC. Positions
/// and weights in float, which decides exact ties of integer images. Errors: unsupported for modes that only those have.
[[nodiscard]] Expected<std::vector<ResizeTaps>> general_resize_taps(std::string_view mode, std::int64_t in, std::int64_t out);

} // namespace megascope
