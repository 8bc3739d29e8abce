#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "opr/infer.h"

namespace megascope {

// Values of shape computations: InferFns attach a value to an output when the values of their inputs are known and small.

/// Larger values are not carried along.
inline constexpr std::size_t fold_limit = 4096;

/// Has every input a value?
[[nodiscard]] bool values_known(const InferContext& c);
/// The value of an input that has one. Precondition: `values_known` or checked before.
[[nodiscard]] const Tensor& value_of(const InferContext& c, std::size_t input);

[[nodiscard]] Tensor integer_value(DType dtype, Shape shape, std::span<const std::int64_t> values);
[[nodiscard]] Tensor real_value(DType dtype, Shape shape, std::span<const double> values);

/// Sets `out.value` to a rearrangement of `source`: element i is source element `from(i)`. Does nothing when `out` is not known,
/// larger than `fold_limit`, or its dtype is narrower than a byte. Precondition: `from` gives valid positions.
void fold_gather(VarDesc& out, const Tensor& source, const std::function<std::size_t(std::size_t)>& from);
/// Sets `out.value` to the same elements under the shape of `out`.
void fold_view(VarDesc& out, const Tensor& source);

/// Position in a tensor of shape `from` of the element that broadcasting shows at position `index` of shape `to`.
/// Precondition: `from` broadcasts to `to`.
[[nodiscard]] std::size_t broadcast_source(const Shape& from, const Shape& to, std::size_t index);

} // namespace megascope
