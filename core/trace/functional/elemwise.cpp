#include "trace/functional/elemwise.h"

#include <cmath>
#include <vector>

#include "opr/elemwise_mode.h"
#include "tensor/element.h"
#include "trace/apply.h"
#include "trace/trace_error.h"

namespace megascope {
namespace functional {
namespace {

/// The place of a dtype when operands are brought to one: bool, integers by width, floats by width.
int rank_of(const DType& dtype) {
    if (dtype.id == DTypeId::bool_) return 0;
    if (dtype.is_integer()) return 10 + static_cast<int>(dtype.bits());
    switch (dtype.id) {
    case DTypeId::float16: return 100;
    case DTypeId::bfloat16: return 101;
    case DTypeId::float32: return 102;
    default: return -1; // quantized and others are never converted by themselves
    }
}

/// All operands in the dtype of the highest rank.
std::vector<EagerTensor> in_one_dtype(std::span<const EagerTensor> operands) {
    const EagerTensor* widest = &operands.front();
    for (const EagerTensor& operand : operands)
        if (rank_of(operand.dtype()) > rank_of(widest->dtype())) widest = &operand;
    std::vector<EagerTensor> result;
    for (const EagerTensor& operand : operands)
        result.push_back(rank_of(operand.dtype()) < 0 ? operand : cast(operand, widest->dtype()));
    return result;
}

EagerTensor unary(std::string_view mode, const EagerTensor& x) { return elemwise(mode, {x}); }

EagerTensor comparison(const char* mode, const EagerTensor& a, const EagerTensor& b) {
    const EagerTensor operands[] = {a, b};
    const std::vector<EagerTensor> same = in_one_dtype(operands);
    return apply1(OprDesc("ElemwiseMultiType").set_enum("mode", mode), same);
}

} // namespace

EagerTensor elemwise(std::string_view mode, std::span<const EagerTensor> operands) {
    OprDesc desc("Elemwise");
    desc.set_enum("mode", mode);
    const std::size_t arity = elemwise_arity(static_cast<ElemwiseMode>(desc.params.front().integer("mode")));
    if (operands.size() != arity)
        throw OprError(ErrorCode::invalid_argument, "Elemwise " + std::string(mode) + " takes " + std::to_string(arity) +
                                                        " operands, but " + std::to_string(operands.size()) + " were given.");
    return apply1(desc, in_one_dtype(operands));
}

EagerTensor elemwise_multi_type(std::string_view mode, std::initializer_list<EagerTensor> operands, DType dtype) {
    OprDesc desc("ElemwiseMultiType");
    desc.set_enum("mode", mode);
    if (mode.starts_with("Q")) desc.output_dtype = dtype;
    return apply1(desc, operands);
}

EagerTensor scalar(double value, DType dtype) {
    TensorBuffer buffer(dtype, {1});
    store_real(buffer.ref(), 0, value);
    return EagerTensor::constant(std::move(buffer).freeze());
}

EagerTensor int_vector(std::span<const std::int64_t> values) {
    TensorBuffer buffer(DTypeId::int32, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) store_integer(buffer.ref(), i, values[i]);
    return EagerTensor::constant(std::move(buffer).freeze());
}

EagerTensor cast(const EagerTensor& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    return apply1(OprDesc("TypeCvt").set("dtype", dtype), {x});
}

EagerTensor relu(const EagerTensor& x) { return unary("RELU", x); }
EagerTensor relu6(const EagerTensor& x) { return unary("RELU6", x); }
EagerTensor sigmoid(const EagerTensor& x) { return unary("SIGMOID", x); }
EagerTensor tanh(const EagerTensor& x) { return unary("TANH", x); }
EagerTensor gelu(const EagerTensor& x) { return unary("GELU", x); }
EagerTensor silu(const EagerTensor& x) { return unary("SILU", x); }
EagerTensor hswish(const EagerTensor& x) { return unary("H_SWISH", x); }
EagerTensor hsigmoid(const EagerTensor& x) { return unary("HSIGMOID", x); }
EagerTensor softplus(const EagerTensor& x) { return unary("SOFTPLUS", x); }
EagerTensor exp(const EagerTensor& x) { return unary("EXP", x); }
EagerTensor log(const EagerTensor& x) { return unary("LOG", x); }
EagerTensor sqrt(const EagerTensor& x) { return unary("SQRT", x); }
EagerTensor square(const EagerTensor& x) { return unary("SQUARE", x); }
EagerTensor abs(const EagerTensor& x) { return unary("ABS", x); }
EagerTensor floor(const EagerTensor& x) { return unary("FLOOR", x); }
EagerTensor round(const EagerTensor& x) { return unary("ROUND", x); }
EagerTensor sin(const EagerTensor& x) { return unary("SIN", x); }
EagerTensor cos(const EagerTensor& x) { return unary("COS", x); }
EagerTensor maximum(const EagerTensor& a, const EagerTensor& b) { return elemwise("MAX", {a, b}); }
EagerTensor minimum(const EagerTensor& a, const EagerTensor& b) { return elemwise("MIN", {a, b}); }
EagerTensor pow(const EagerTensor& a, const EagerTensor& b) { return elemwise("POW", {a, b}); }
EagerTensor pow(const EagerTensor& a, double exponent) { return pow(a, scalar(exponent, a.dtype().is_float() ? a.dtype() : DTypeId::float32)); }
EagerTensor floor_div(const EagerTensor& a, const EagerTensor& b) { return elemwise("FLOOR_DIV", {a, b}); }
EagerTensor clip(const EagerTensor& x, const EagerTensor& lower, const EagerTensor& upper) { return minimum(maximum(x, lower), upper); }
EagerTensor equal(const EagerTensor& a, const EagerTensor& b) { return comparison("EQ", a, b); }
EagerTensor less(const EagerTensor& a, const EagerTensor& b) { return comparison("LT", a, b); }
EagerTensor less_equal(const EagerTensor& a, const EagerTensor& b) { return comparison("LEQ", a, b); }

EagerTensor where(const EagerTensor& mask, const EagerTensor& x, const EagerTensor& y) {
    const EagerTensor operands[] = {x, y};
    const std::vector<EagerTensor> same = in_one_dtype(operands);
    return apply1(OprDesc("Where"), {mask, same[0], same[1]});
}

} // namespace functional

namespace {

/// A number that meets a tensor.
EagerTensor number_for(const EagerTensor& x, double value) {
    const DType dtype = x.dtype();
    const bool fits = dtype.is_float() || (dtype.is_integer() && value == std::floor(value));
    return functional::scalar(value, fits ? dtype : DType(DTypeId::float32));
}

EagerTensor divide(const EagerTensor& a, const EagerTensor& b) {
    const auto real = [](const EagerTensor& x) { return x.dtype().is_integer() ? functional::cast(x, DTypeId::float32) : x; };
    return functional::elemwise("TRUE_DIV", {real(a), real(b)});
}

} // namespace

EagerTensor operator+(const EagerTensor& a, const EagerTensor& b) { return functional::elemwise("ADD", {a, b}); }
EagerTensor operator-(const EagerTensor& a, const EagerTensor& b) { return functional::elemwise("SUB", {a, b}); }
EagerTensor operator*(const EagerTensor& a, const EagerTensor& b) { return functional::elemwise("MUL", {a, b}); }
EagerTensor operator/(const EagerTensor& a, const EagerTensor& b) { return divide(a, b); }
EagerTensor operator+(const EagerTensor& a, double b) { return a + number_for(a, b); }
EagerTensor operator-(const EagerTensor& a, double b) { return a - number_for(a, b); }
EagerTensor operator*(const EagerTensor& a, double b) { return a * number_for(a, b); }
EagerTensor operator/(const EagerTensor& a, double b) { return divide(a, number_for(a, b)); }
EagerTensor operator+(double a, const EagerTensor& b) { return number_for(b, a) + b; }
EagerTensor operator-(double a, const EagerTensor& b) { return number_for(b, a) - b; }
EagerTensor operator*(double a, const EagerTensor& b) { return number_for(b, a) * b; }
EagerTensor operator/(double a, const EagerTensor& b) { return divide(number_for(b, a), b); }
EagerTensor operator-(const EagerTensor& x) { return functional::elemwise("NEGATE", {x}); }

} // namespace megascope
