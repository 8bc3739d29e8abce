#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "trace/eager_tensor.h"

namespace megascope {

// Element-wise operators, with numpy's broadcasting. Operands of different dtypes are converted to one first: a float before an
// integer, the wider of two; numbers take the dtype of the tensor that they meet (a fraction makes an integer tensor float32).

namespace functional {

/// Any mode of Elemwise by name: "RELU", "FUSE_MUL_ADD3". Throws OprError for unknown modes and a wrong number of operands.
[[nodiscard]] EagerTensor elemwise(std::string_view mode, std::span<const EagerTensor> operands);
[[nodiscard]] inline EagerTensor elemwise(std::string_view mode, std::initializer_list<EagerTensor> operands) {
    return elemwise(mode, std::span(operands.begin(), operands.size()));
}
/// Any mode of ElemwiseMultiType; `dtype` is the configured output dtype of the quantized ones.
[[nodiscard]] EagerTensor elemwise_multi_type(std::string_view mode, std::initializer_list<EagerTensor> operands, DType dtype);

/// A constant of one element.
[[nodiscard]] EagerTensor scalar(double value, DType dtype = DTypeId::float32);
/// A constant vector of int32.
[[nodiscard]] EagerTensor int_vector(std::span<const std::int64_t> values);
[[nodiscard]] inline EagerTensor int_vector(std::initializer_list<std::int64_t> values) {
    return int_vector(std::span(values.begin(), values.size()));
}

/// Converts to another dtype; the tensor itself when it has it already.
[[nodiscard]] EagerTensor cast(const EagerTensor& x, DType dtype);

[[nodiscard]] EagerTensor relu(const EagerTensor& x);
[[nodiscard]] EagerTensor relu6(const EagerTensor& x);
[[nodiscard]] EagerTensor sigmoid(const EagerTensor& x);
[[nodiscard]] EagerTensor tanh(const EagerTensor& x);
[[nodiscard]] EagerTensor gelu(const EagerTensor& x);
[[nodiscard]] EagerTensor silu(const EagerTensor& x);
[[nodiscard]] EagerTensor hswish(const EagerTensor& x);
[[nodiscard]] EagerTensor hsigmoid(const EagerTensor& x);
[[nodiscard]] EagerTensor softplus(const EagerTensor& x);
[[nodiscard]] EagerTensor exp(const EagerTensor& x);
[[nodiscard]] EagerTensor log(const EagerTensor& x);
[[nodiscard]] EagerTensor sqrt(const EagerTensor& x);
[[nodiscard]] EagerTensor square(const EagerTensor& x);
[[nodiscard]] EagerTensor abs(const EagerTensor& x);
[[nodiscard]] EagerTensor floor(const EagerTensor& x);
[[nodiscard]] EagerTensor round(const EagerTensor& x);
[[nodiscard]] EagerTensor sin(const EagerTensor& x);
[[nodiscard]] EagerTensor cos(const EagerTensor& x);
[[nodiscard]] EagerTensor maximum(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor minimum(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor pow(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor pow(const EagerTensor& a, double exponent);
[[nodiscard]] EagerTensor floor_div(const EagerTensor& a, const EagerTensor& b);
/// The values limited to [lower, upper]; where lower > upper, upper wins.
[[nodiscard]] EagerTensor clip(const EagerTensor& x, const EagerTensor& lower, const EagerTensor& upper);
/// Comparisons give bool.
[[nodiscard]] EagerTensor equal(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor less(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor less_equal(const EagerTensor& a, const EagerTensor& b);
/// `mask ? x : y`; the mask is bool.
[[nodiscard]] EagerTensor where(const EagerTensor& mask, const EagerTensor& x, const EagerTensor& y);

} // namespace functional

[[nodiscard]] EagerTensor operator+(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator-(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator*(const EagerTensor& a, const EagerTensor& b);
/// True division: integers become float32.
[[nodiscard]] EagerTensor operator/(const EagerTensor& a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator+(const EagerTensor& a, double b);
[[nodiscard]] EagerTensor operator-(const EagerTensor& a, double b);
[[nodiscard]] EagerTensor operator*(const EagerTensor& a, double b);
[[nodiscard]] EagerTensor operator/(const EagerTensor& a, double b);
[[nodiscard]] EagerTensor operator+(double a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator-(double a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator*(double a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator/(double a, const EagerTensor& b);
[[nodiscard]] EagerTensor operator-(const EagerTensor& x);

} // namespace megascope
