#include "opr/elemwise_mode.h"

#include <array>
#include <cstddef>

namespace megascope {

std::size_t elemwise_arity(ElemwiseMode mode) {
    using enum ElemwiseMode;
    switch (mode) {
    case relu: case abs: case acos: case asin: case ceil: case cos: case exp: case expm1: case floor: case log: case log1p:
    case negate: case sigmoid: case sin: case tanh: case fast_tanh: case round: case erf: case erfinv: case erfc: case erfcinv:
    case h_swish: case not_: case silu: case gelu: case isnan: case isinf: case sinh: case cosh: case asinh: case acosh: case atanh:
    case tan: case softplus: case relu6: case hsigmoid: case logsigmoid: case sqrt: case square: case sign: return 1;
    case abs_grad: case add: case floor_div: case max: case min: case mod: case mul: case pow: case sigmoid_grad: case sub:
    case switch_gt0: case tanh_grad: case true_div: case log_sum_exp: case lt: case leq: case eq: case shl: case shr:
    case fuse_add_relu: case fuse_add_sigmoid: case fuse_add_tanh: case fast_tanh_grad: case rmulh: case atan2: case h_swish_grad:
    case fuse_add_h_swish: case and_: case or_: case xor_: case silu_grad: case gelu_grad: case neq: case asinh_grad:
    case acosh_grad: case atanh_grad: case prelu: case softplus_grad: case relu6_grad: case hsigmoid_grad: return 2;
    case cond_leq_mov: case fuse_mul_add3: case cond_lt_mov: case clip: case prelu_grad: return 3;
    case fuse_mul_add4: return 4;
    }
    return 0;
}

std::size_t elemwise_operations(ElemwiseMode mode) {
    using enum ElemwiseMode;
    switch (mode) {
    case fuse_mul_add4: return 3;
    case fuse_mul_add3: case fuse_add_relu: case fuse_add_sigmoid: case fuse_add_tanh: case cond_leq_mov: case cond_lt_mov:
    case clip: case relu6: case prelu: return 2;
    default: return 1;
    }
}

std::size_t multi_type_arity(std::int64_t mode) {
    if (const ElemwiseMode* base = multi_type_base(mode)) return elemwise_arity(*base);
    switch (mode) {
    case 0: case 1: case 54: case 56: return 3;
    case 2: case 5: case 55: return 2;
    case 3: case 4: return 6;
    default: return 0;
    }
}

const ElemwiseMode* multi_type_base(std::int64_t mode) {
    using enum ElemwiseMode;
    // From QADD (6) to QH_SWISH_GRAD (53).
    static constexpr std::array<ElemwiseMode, 48> quantized = {
        add, fuse_add_relu, mul, min, max, sub, true_div, fuse_add_sigmoid, fuse_add_tanh, relu, abs, sigmoid, exp, tanh, fuse_mul_add3,
        fast_tanh, negate, acos, asin, ceil, cos, expm1, floor, log, log1p, sin, round, erf, erfinv, erfc, erfcinv, abs_grad, floor_div,
        mod, sigmoid_grad, switch_gt0, tanh_grad, lt, leq, eq, pow, log_sum_exp, fast_tanh_grad, atan2, cond_leq_mov, h_swish,
        fuse_add_h_swish, h_swish_grad};
    static constexpr ElemwiseMode quantized_cond_lt_mov = cond_lt_mov;
    static constexpr std::array<ElemwiseMode, 6> to_bool = {eq, neq, lt, leq, isnan, isinf}; // 58 to 63
    if (mode >= 6 && mode <= 53) return &quantized[static_cast<std::size_t>(mode - 6)];
    if (mode == 57) return &quantized_cond_lt_mov;
    if (mode >= 58 && mode <= 63) return &to_bool[static_cast<std::size_t>(mode - 58)];
    return nullptr;
}

} // namespace megascope
