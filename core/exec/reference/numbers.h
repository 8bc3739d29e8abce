#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace megascope {

// The reference kernels compute with "numbers": the value of a float or integer element, and q - zero_point of a quantized one
// (its real value is number * scale). A double holds every number exactly, and sums of products of up to 16-bit numbers, too.

/// All numbers in row-major order.
[[nodiscard]] std::vector<double> to_numbers(const TensorRef& tensor);
/// Stores numbers: floats are rounded to the dtype, integers and quantized numbers are saturated to its range (the zero point is
/// added again). Precondition: as many numbers as elements; those for integer and quantized dtypes are whole.
void from_numbers(std::span<const double> numbers, const MutTensorRef& tensor);
/// Fills with zero bytes: outputs that are internal buffers of the library and mean nothing here.
void clear(const MutTensorRef& tensor);

} // namespace megascope
