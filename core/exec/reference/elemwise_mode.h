#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace megascope {

/// The values of the schema's ElemwiseMode.
enum class ElemwiseMode : std::uint8_t {
    relu = 0, abs, acos, asin, ceil, cos, exp, expm1, floor, log, log1p, negate, sigmoid, sin, tanh, abs_grad,
    add = 16, floor_div, max, min, mod, mul, pow, sigmoid_grad, sub, switch_gt0, tanh_grad, true_div, log_sum_exp, lt, leq, eq,
    shl = 32, shr, cond_leq_mov, fuse_mul_add3, fuse_mul_add4, fuse_add_relu, fuse_add_sigmoid, fuse_add_tanh,
    fast_tanh = 40, fast_tanh_grad, round, rmulh, atan2, erf, erfinv, erfc, erfcinv, h_swish, h_swish_grad, fuse_add_h_swish,
    not_ = 52, and_, or_, xor_, silu, silu_grad, gelu, gelu_grad, cond_lt_mov, neq, isnan, isinf,
    sinh = 64, cosh, asinh, acosh, atanh, tan, asinh_grad, acosh_grad, atanh_grad, prelu, clip, prelu_grad,
    softplus = 76, softplus_grad, relu6, relu6_grad, hsigmoid, hsigmoid_grad, logsigmoid, sqrt, square, sign,
};
inline constexpr std::int64_t elemwise_mode_count = 86;

/// Number of inputs.
[[nodiscard]] constexpr std::size_t elemwise_arity(ElemwiseMode mode) {
    using enum ElemwiseMode;
    switch (mode) {
    case fuse_mul_add4: return 4;
    case cond_leq_mov: case fuse_mul_add3: case cond_lt_mov: case clip: case prelu_grad: return 3;
    case abs_grad: case add: case floor_div: case max: case min: case mod: case mul: case pow: case sigmoid_grad: case sub:
    case switch_gt0: case tanh_grad: case true_div: case log_sum_exp: case lt: case leq: case eq: case shl: case shr:
    case fuse_add_relu: case fuse_add_sigmoid: case fuse_add_tanh: case fast_tanh_grad: case rmulh: case atan2:
    case h_swish_grad: case fuse_add_h_swish: case and_: case or_: case xor_: case silu_grad: case gelu_grad: case neq:
    case asinh_grad: case acosh_grad: case atanh_grad: case prelu: case softplus_grad: case relu6_grad: case hsigmoid_grad:
        return 2;
    default: return 1;
    }
}

/// The operands of one block: `in[k]` points at as many elements as `out`.
template <class T>
struct ElemwiseBlock {
    std::array<const T*, 4> in{};
    T* out = nullptr;
    std::size_t count = 0;
};

/// Floating formulas in T = float or double. False when the mode has none (shifts, bit operations).
template <class T>
[[nodiscard]] bool elemwise_real(ElemwiseMode mode, const ElemwiseBlock<T>& block);
extern template bool elemwise_real<float>(ElemwiseMode, const ElemwiseBlock<float>&);
extern template bool elemwise_real<double>(ElemwiseMode, const ElemwiseBlock<double>&);

/// Integer and bool formulas on stored numbers of `dtype`; results are not wrapped yet. Division by zero gives 0.
/// False when the mode does not exist for integers.
[[nodiscard]] bool elemwise_integer(ElemwiseMode mode, const DType& dtype, const ElemwiseBlock<std::int64_t>& block);

/// The rounded high half of a product of two numbers with the width of `dtype` (RMULH).
[[nodiscard]] std::int64_t rounded_high_half(const DType& dtype, std::int64_t x, std::int64_t y);

} // namespace megascope
