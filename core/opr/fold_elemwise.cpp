#include "opr/fold_elemwise.h"

#include <algorithm>
#include <cmath>

#include "tensor/element.h"

namespace megascope {

namespace {

/// x, y, z, w of one element. Nothing: the mode is not evaluated, or the result is not defined.
std::optional<std::int64_t> integer_formula(ElemwiseMode mode, const std::int64_t* v) {
    using enum ElemwiseMode;
    const std::int64_t x = v[0], y = v[1];
    switch (mode) {
    case relu: return std::max<std::int64_t>(x, 0);
    case abs: return std::abs(x);
    case negate: return -x;
    case add: return x + y;
    case sub: return x - y;
    case mul: return x * y;
    case max: return std::max(x, y);
    case min: return std::min(x, y);
    case lt: return x < y;
    case leq: return x <= y;
    case eq: return x == y;
    case neq: return x != y;
    case not_: return x == 0;
    case and_: return x && y;
    case or_: return x || y;
    case xor_: return (x != 0) != (y != 0);
    case sign: return (x > 0) - (x < 0);
    case switch_gt0: return x > 0 ? y : 0;
    case cond_leq_mov: return x <= y ? v[2] : 0;
    case cond_lt_mov: return x < y ? v[2] : 0;
    case fuse_mul_add3: return x * y + v[2];
    case fuse_mul_add4: return x * y + v[2] * v[3];
    case clip: return x <= y ? y : x <= v[2] ? x : v[2];
    case floor_div: {
        if (y == 0) return std::nullopt;
        const std::int64_t q = x / y;
        return q - ((x % y != 0) && ((x < 0) != (y < 0)));
    }
    case mod: {
        if (y == 0) return std::nullopt;
        const std::int64_t r = (y + x % y) % y;
        return r;
    }
    default: return std::nullopt;
    }
}

std::optional<float> real_formula(ElemwiseMode mode, const float* v) {
    using enum ElemwiseMode;
    const float x = v[0], y = v[1];
    switch (mode) {
    case relu: return std::max(x, 0.0F);
    case abs: return std::abs(x);
    case ceil: return std::ceil(x);
    case floor: return std::floor(x);
    case round: return std::round(x);
    case negate: return -x;
    case add: return x + y;
    case sub: return x - y;
    case mul: return x * y;
    case true_div: return x / y;
    case floor_div: return std::floor(x / y);
    case mod: return std::fmod(x, y);
    case max: return std::max(x, y);
    case min: return std::min(x, y);
    case pow: return std::pow(x, y);
    case sqrt: return std::sqrt(x);
    case square: return x * x;
    case lt: return static_cast<float>(x < y);
    case leq: return static_cast<float>(x <= y);
    case eq: return static_cast<float>(x == y);
    case neq: return static_cast<float>(x != y);
    case isnan: return static_cast<float>(std::isnan(x));
    case isinf: return static_cast<float>(std::isinf(x));
    case switch_gt0: return x > 0 ? y : 0;
    case fuse_mul_add3: return x * y + v[2];
    default: return std::nullopt;
    }
}

template <class T, class Formula>
std::vector<T> evaluate(const InferContext& c, const Shape& shape, std::size_t count, ElemwiseMode mode, Formula&& formula,
                        const std::vector<std::vector<T>>& inputs) {
    std::vector<T> result;
    result.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        T v[4] = {};
        for (std::size_t k = 0; k < inputs.size(); ++k) v[k] = inputs[k][broadcast_source(value_of(c, k).shape(), shape, i)];
        const auto r = formula(mode, v);
        if (!r) return {};
        result.push_back(static_cast<T>(*r));
    }
    return result;
}

} // namespace

void fold_elemwise(const InferContext& c, ElemwiseMode mode, VarDesc& out) {
    if (!out.known() || !values_known(c) || c.inputs.size() > 4 || out.dtype->is_quantized()) return;
    const auto count = out.shape->checked_elements();
    if (!count || *count == 0 || *count > fold_limit) return;
    bool integers = true;
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
        const DType dtype = value_of(c, k).dtype();
        if (dtype.is_quantized() || dtype.id == DTypeId::complex64) return;
        integers = integers && !dtype.is_float();
    }
    if (integers) {
        std::vector<std::vector<std::int64_t>> inputs;
        for (std::size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(to_stored(value_of(c, k).ref()));
        const auto result = evaluate<std::int64_t>(c, *out.shape, *count, mode, integer_formula, inputs);
        if (!result.empty()) out.value = integer_value(*out.dtype, *out.shape, result);
    } else {
        std::vector<std::vector<float>> inputs;
        for (std::size_t k = 0; k < c.inputs.size(); ++k) {
            const std::vector<double> values = to_real(value_of(c, k).ref());
            inputs.emplace_back(values.begin(), values.end());
        }
        const auto result = evaluate<float>(c, *out.shape, *count, mode, real_formula, inputs);
        if (!result.empty()) out.value = real_value(*out.dtype, *out.shape, std::vector<double>(result.begin(), result.end()));
    }
}

} // namespace megascope
