#pragma once

#include <cstdint>
#include <span>

namespace megascope {

/// Elements that `add_weighted` handles at once; a constant so that the compiler can use vector instructions.
inline constexpr std::int64_t row_chunk = 64;

/// target[0 … row_chunk) += sum over t of weights[t * weight_step] * (base + offsets[t])[0 … row_chunk).
/// The inner loop of the plain convolutions and matrix products. `target` overlaps none of the others.
inline void add_weighted(double* __restrict target, const double* __restrict base, std::span<const std::int64_t> offsets,
                         const double* __restrict weights, std::int64_t weight_step) {
    const auto count = static_cast<std::int64_t>(offsets.size());
    const std::int64_t* at = offsets.data();
    std::int64_t t = 0;
    for (; t + 4 <= count; t += 4) {
        const double* __restrict x0 = base + at[t];
        const double* __restrict x1 = base + at[t + 1];
        const double* __restrict x2 = base + at[t + 2];
        const double* __restrict x3 = base + at[t + 3];
        const double w0 = weights[t * weight_step];
        const double w1 = weights[(t + 1) * weight_step];
        const double w2 = weights[(t + 2) * weight_step];
        const double w3 = weights[(t + 3) * weight_step];
        for (std::int64_t i = 0; i < row_chunk; ++i) target[i] += (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i]);
    }
    for (; t < count; ++t) {
        const double* __restrict x = base + at[t];
        const double w = weights[t * weight_step];
        for (std::int64_t i = 0; i < row_chunk; ++i) target[i] += w * x[i];
    }
}

} // namespace megascope
