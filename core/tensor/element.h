#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace megascope {

// Element access that does not care about the dtype: for the reference backend, statistics, comparison and display.
// `index` counts elements in row-major order; sub-byte rows start at whole bytes.
// Data need not be aligned: elements are copied out and in byte by byte.

/// The real value: floats and integers as they are, bool as 0 or 1, quantized as (q - zero_point) * scale computed in float
/// as MegEngine does. complex64 gives the real part.
[[nodiscard]] double real_at(const TensorRef& tensor, std::size_t index);

/// The stored number: like `real_at`, but quantized dtypes give q. Exact for every integer dtype.
[[nodiscard]] std::int64_t stored_at(const TensorRef& tensor, std::size_t index);

/// Stores a real value: float16 and bfloat16 round to nearest even; integers truncate toward zero and saturate;
/// quantized: value / scale (in float), rounded half away from zero, + zero_point, clamped to the dtype's range
/// (see `quantize`); bool: non-zero.
void store_real(const MutTensorRef& tensor, std::size_t index, double value);

/// Stores an integer as the stored number, saturated to the dtype's range. Floats take its value.
void store_integer(const MutTensorRef& tensor, std::size_t index, std::int64_t value);

/// All real values.
[[nodiscard]] std::vector<double> to_real(const TensorRef& tensor);
/// All stored numbers.
[[nodiscard]] std::vector<std::int64_t> to_stored(const TensorRef& tensor);
/// Precondition: as many values as elements.
void from_real(std::span<const double> values, const MutTensorRef& tensor);
void from_stored(std::span<const std::int64_t> values, const MutTensorRef& tensor);

/// round half away from zero(value / scale in float) + zero_point, clamped; QuantizedS32 to [-2^31, 2147483520]; NaN: the smallest.
[[nodiscard]] std::int64_t quantize(const DType& dtype, float value);
/// Smallest and largest stored number of an integer, quantized or bool dtype.
struct StoredRange {
    std::int64_t low = 0;
    std::int64_t high = 0;
};
[[nodiscard]] StoredRange stored_range(const DType& dtype);

} // namespace megascope
