#pragma once

#include <cstdint>

namespace megascope {

/// The numbers of the schema's ElemwiseMode.
enum class ElemwiseMode : std::int64_t {
    relu = 0, abs = 1, acos = 2, asin = 3, ceil = 4, cos = 5, exp = 6, expm1 = 7, floor = 8, log = 9, log1p = 10, negate = 11,
    sigmoid = 12, sin = 13, tanh = 14, abs_grad = 15, add = 16, floor_div = 17, max = 18, min = 19, mod = 20, mul = 21, pow = 22,
    sigmoid_grad = 23, sub = 24, switch_gt0 = 25, tanh_grad = 26, true_div = 27, log_sum_exp = 28, lt = 29, leq = 30, eq = 31, shl = 32,
    shr = 33, cond_leq_mov = 34, fuse_mul_add3 = 35, fuse_mul_add4 = 36, fuse_add_relu = 37, fuse_add_sigmoid = 38, fuse_add_tanh = 39,
    fast_tanh = 40, fast_tanh_grad = 41, round = 42, rmulh = 43, atan2 = 44, erf = 45, erfinv = 46, erfc = 47, erfcinv = 48, h_swish = 49,
    h_swish_grad = 50, fuse_add_h_swish = 51, not_ = 52, and_ = 53, or_ = 54, xor_ = 55, silu = 56, silu_grad = 57, gelu = 58,
    gelu_grad = 59, cond_lt_mov = 60, neq = 61, isnan = 62, isinf = 63, sinh = 64, cosh = 65, asinh = 66, acosh = 67, atanh = 68, tan = 69,
    asinh_grad = 70, acosh_grad = 71, atanh_grad = 72, prelu = 73, clip = 74, prelu_grad = 75, softplus = 76, softplus_grad = 77,
    relu6 = 78, relu6_grad = 79, hsigmoid = 80, hsigmoid_grad = 81, logsigmoid = 82, sqrt = 83, square = 84, sign = 85,
};
inline constexpr std::int64_t elemwise_mode_count = 86;

/// How many inputs the mode takes; 0 for numbers that are no mode.
[[nodiscard]] std::size_t elemwise_arity(ElemwiseMode mode);
/// Operations per element that Megascope counts for the mode: multiply-adds count two, a transcendental function one.
[[nodiscard]] std::size_t elemwise_operations(ElemwiseMode mode);

/// The same for the numbers of ElemwiseMultiTypeMode.
[[nodiscard]] std::size_t multi_type_arity(std::int64_t mode);
/// The Elemwise mode of a quantized mode (QADD → ADD) or of a comparison to bool; nothing for the integer rescaling modes.
[[nodiscard]] const ElemwiseMode* multi_type_base(std::int64_t mode);

} // namespace megascope
