#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace megascope {

/// Can elements of this dtype be worked on as floats? (All whole-byte dtypes but complex numbers and raw bytes.)
[[nodiscard]] bool floats_loadable(const DType& dtype);
/// As `floats_loadable`, for results.
[[nodiscard]] bool floats_storable(const DType& dtype);

/// Real values of `count` elements. Quantized: (q - zero point) * scale in float.
void load_floats(const DType& dtype, const std::byte* from, float* to, std::size_t count);

/// Stores real values as tensor/element.h's `store_real` does, except that plain integers are truncated to 32 bits and then
/// wrapped to their width, which is TypeCvt's rule.
void store_floats(const DType& dtype, const float* from, std::byte* to, std::size_t count);

/// q = acc * ratio (float) rounded half away from zero, at least `low`, at most `high`: the rule for integer convolutions.
/// `low` is 0 for ReLU. Writes int8.
void requantize(const std::int32_t* sums, float ratio, std::int32_t low, std::int32_t high, std::int32_t zero_point,
                std::int8_t* to, std::size_t count);

} // namespace megascope
