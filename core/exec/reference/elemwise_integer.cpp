#include <algorithm>

#include "exec/reference/elemwise_mode.h"
#include "tensor/element.h"

namespace megascope {

namespace {

using Int = std::int64_t;

template <class F>
void unary(const ElemwiseBlock<Int>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i]);
}
template <class F>
void binary(const ElemwiseBlock<Int>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i], b.in[1][i]);
}
template <class F>
void ternary(const ElemwiseBlock<Int>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i], b.in[1][i], b.in[2][i]);
}

// Modulo 2^64, so that the low bits are those of any width and nothing overflows.
Int times(Int x, Int y) { return static_cast<Int>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)); }
Int plus(Int x, Int y) { return static_cast<Int>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y)); }

Int floor_div(Int x, Int y) {
    if (y == 0) return 0;
    const Int q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}
Int mod(Int x, Int y) { return y == 0 ? 0 : (y + x % y) % y; }

} // namespace

std::int64_t rounded_high_half(const DType& dtype, Int x, Int y) {
    const StoredRange range = stored_range(dtype);
    const Int bits = static_cast<Int>(dtype.bits());
    if (range.low == 0) return plus(times(x, y), Int{1} << (bits - 1)) >> bits;
    if (x == range.low && y == range.low) return range.high;
    return plus(times(x, y), Int{1} << (bits - 2)) >> (bits - 1);
}

bool elemwise_integer(ElemwiseMode mode, const DType& dtype, const ElemwiseBlock<Int>& b) {
    using enum ElemwiseMode;
    switch (mode) {
    case relu: unary(b, [](Int x) { return std::max<Int>(x, 0); }); return true;
    case abs: unary(b, [](Int x) { return x < 0 ? -x : x; }); return true;
    case negate: unary(b, [](Int x) { return -x; }); return true;
    case square: unary(b, [](Int x) { return times(x, x); }); return true;
    case sign: unary(b, [](Int x) { return Int{(x > 0) - (x < 0)}; }); return true;
    case relu6: unary(b, [](Int x) { return std::clamp<Int>(x, 0, 6); }); return true;
    case not_: unary(b, [](Int x) { return x ^ 1; }); return true;
    // Rounding functions leave whole numbers as they are.
    case ceil:
    case floor:
    case round: unary(b, [](Int x) { return x; }); return true;
    case abs_grad: binary(b, [](Int x, Int y) { return x > 0 ? y : -y; }); return true;
    case add: binary(b, [](Int x, Int y) { return x + y; }); return true;
    case sub: binary(b, [](Int x, Int y) { return x - y; }); return true;
    case mul: binary(b, [](Int x, Int y) { return times(x, y); }); return true;
    case floor_div: binary(b, [](Int x, Int y) { return megascope::floor_div(x, y); }); return true;
    case mod: binary(b, [](Int x, Int y) { return megascope::mod(x, y); }); return true;
    case max: binary(b, [](Int x, Int y) { return std::max(x, y); }); return true;
    case min: binary(b, [](Int x, Int y) { return std::min(x, y); }); return true;
    case sigmoid_grad: binary(b, [](Int x, Int y) { return times(times(x, 1 - x), y); }); return true;
    case switch_gt0: binary(b, [](Int x, Int y) { return x > 0 ? y : 0; }); return true;
    case tanh_grad: binary(b, [](Int x, Int y) { return times(plus(1, -times(x, x)), y); }); return true;
    case lt: binary(b, [](Int x, Int y) { return Int{x < y}; }); return true;
    case leq: binary(b, [](Int x, Int y) { return Int{x <= y}; }); return true;
    case eq: binary(b, [](Int x, Int y) { return Int{x == y}; }); return true;
    case neq: binary(b, [](Int x, Int y) { return Int{x != y}; }); return true;
    case shl:
        binary(b, [](Int x, Int y) { return y < 0 || y > 63 ? 0 : static_cast<Int>(static_cast<std::uint64_t>(x) << y); });
        return true;
    case shr: binary(b, [](Int x, Int y) { return x >> (y < 0 ? 63 : std::min<Int>(y, 63)); }); return true;
    case rmulh: binary(b, [dtype](Int x, Int y) { return rounded_high_half(dtype, x, y); }); return true;
    case fuse_add_relu:
        binary(b, [](Int x, Int y) { return std::max<Int>(x + y, 0); });
        return true;
    case prelu: binary(b, [](Int x, Int y) { return x > 0 ? x : times(x, y); }); return true;
    case and_: binary(b, [](Int x, Int y) { return x & y; }); return true;
    case or_: binary(b, [](Int x, Int y) { return x | y; }); return true;
    case xor_: binary(b, [](Int x, Int y) { return x ^ y; }); return true;
    case cond_leq_mov: ternary(b, [](Int x, Int y, Int z) { return x <= y ? z : 0; }); return true;
    case cond_lt_mov: ternary(b, [](Int x, Int y, Int z) { return x < y ? z : 0; }); return true;
    case fuse_mul_add3: ternary(b, [](Int x, Int y, Int z) { return plus(times(x, y), z); }); return true;
    case clip: ternary(b, [](Int x, Int y, Int z) { return x <= y ? y : x <= z ? x : z; }); return true;
    case fuse_mul_add4:
        for (std::size_t i = 0; i < b.count; ++i)
            b.out[i] = plus(times(b.in[0][i], b.in[1][i]), times(b.in[2][i], b.in[3][i]));
        return true;
    default: return false;
    }
}

} // namespace megascope
