#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace megascope {

// Runs of elements read into and written from arrays of one working type. The dtype is looked at once per run, not once per
// element. `start` counts elements in row-major order; consecutive elements of the array lie `step` apart in the tensor
// (0 repeats one element).

/// Working size of the kernels' blocks: small enough for the first-level cache.
inline constexpr std::size_t block_elements = 512;

/// Real values: quantized ones as (q - zero_point) * scale in float.
void load_block(const TensorRef& tensor, std::int64_t start, std::int64_t step, std::span<double> values);
void load_block(const TensorRef& tensor, std::int64_t start, std::int64_t step, std::span<float> values);
/// Stored numbers; floats are truncated.
void load_block(const TensorRef& tensor, std::int64_t start, std::int64_t step, std::span<std::int64_t> values);

/// Contiguous; rounds once, as `store_real`.
void store_block(const MutTensorRef& tensor, std::int64_t start, std::span<const double> values);
void store_block(const MutTensorRef& tensor, std::int64_t start, std::span<const float> values);
/// Contiguous stored numbers; what does not fit wraps around, as a conversion in C does.
void store_block(const MutTensorRef& tensor, std::int64_t start, std::span<const std::int64_t> values);

/// `value` as the integer dtype holds it after a C conversion: the low bits, sign-extended for signed dtypes; bool: 0 or 1.
[[nodiscard]] std::int64_t wrap_integer(const DType& dtype, std::int64_t value);

} // namespace megascope
