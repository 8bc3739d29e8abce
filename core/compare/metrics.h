#pragma once

#include <cstdint>

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// How far two tensors of one shape are apart, by their real values. Pairs with a NaN or an infinity are counted apart and take no
/// part in the distances; two equal infinities and two NaNs count as equal.
struct TensorDifference {
    std::uint64_t count = 0;
    std::uint64_t different = 0;      ///< pairs that are not equal
    std::uint64_t nan_mismatch = 0;   ///< exactly one of the two is NaN
    std::uint64_t inf_mismatch = 0;   ///< an infinity against something else (not NaN)
    double max_abs = 0;               ///< max |e - g|
    std::uint64_t max_abs_index = 0;  ///< row-major index where it was reached first
    double max_rel = 0;               ///< max |e - g| / |e| over e != 0
    std::uint64_t max_rel_index = 0;
    double mean_abs = 0;
    double rmse = 0;
    /// e·g / (|e| |g|); 1 when both are zero, 0 when one is.
    double cosine = 1;
    /// 10 log10(Σe² / Σ(e-g)²) in dB, the signal-to-noise ratio; infinite when nothing differs.
    double snr_db = 0;
};

/// Precondition: both have values. Errors: invalid_argument when the shapes differ.
[[nodiscard]] Expected<TensorDifference> tensor_difference(const Tensor& expected, const Tensor& got);

} // namespace megascope
