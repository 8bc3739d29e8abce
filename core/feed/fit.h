#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// `value` as `dtype`, when that changes no number beyond rounding: floats round to narrower floats, integers become floats,
/// floats become integers only where every value is one. A quantized dtype takes integers of its own width as stored numbers and
/// floats as real values (they are quantized). Precondition: `value` has a value.
/// Errors: invalid_argument, with the first element that does not fit.
[[nodiscard]] Expected<Tensor> fit_dtype(const Tensor& value, const DType& dtype);

} // namespace megascope
