#include <cmath>
#include <limits>
#include <numbers>

#include "exec/reference/elemwise_mode.h"

namespace megascope {

namespace {

template <class T, class F>
void unary(const ElemwiseBlock<T>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i]);
}
template <class T, class F>
void binary(const ElemwiseBlock<T>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i], b.in[1][i]);
}
template <class T, class F>
void ternary(const ElemwiseBlock<T>& b, F f) {
    for (std::size_t i = 0; i < b.count; ++i) b.out[i] = f(b.in[0][i], b.in[1][i], b.in[2][i]);
}

/// Solves erfc(y) = x for 0 < x <= 1 (y >= 0) by Halley's method from the leading term of the asymptotic series.
double erfcinv_upper(double x) {
    double y = 0;
    if (x < 0.1) {
        const double t = -std::log(x * std::sqrt(std::numbers::pi));
        y = std::sqrt(t - 0.5 * std::log(t));
    } else {
        y = (1 - x) * std::sqrt(std::numbers::pi) / 2;
    }
    for (int step = 0; step < 8; ++step) {
        const double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-y * y);
        const double u = (std::erfc(y) - x) / slope; // Newton: y + u
        const double change = u / (1 + y * u);
        y += change;
        if (std::abs(change) <= 1e-16 * std::abs(y)) break;
    }
    return y;
}

double erfcinv(double x) {
    if (!(x >= 0 && x <= 2)) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0) return std::numeric_limits<double>::infinity();
    if (x == 2) return -std::numeric_limits<double>::infinity();
    return x <= 1 ? erfcinv_upper(x) : -erfcinv_upper(2 - x);
}

double erfinv(double x) {
    if (!(x >= -1 && x <= 1)) return std::numeric_limits<double>::quiet_NaN();
    if (std::abs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
    if (std::abs(x) > 0.5) return std::copysign(erfcinv_upper(1 - std::abs(x)), x);
    double y = x * std::sqrt(std::numbers::pi) / 2;
    for (int step = 0; step < 8; ++step) {
        const double u = (x - std::erf(y)) * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
        const double change = u / (1 - y * u);
        y += change;
        if (std::abs(change) <= 1e-16 * std::abs(y)) break;
    }
    return y;
}

template <class T>
T sigmoid(T x) {
    return T{1} / (T{1} + std::exp(-x));
}
template <class T>
T relu(T x) {
    return x <= T{0} ? T{0} : x; // NaN stays
}
template <class T>
T relu6(T x) {
    return x <= T{0} ? T{0} : x >= T{6} ? T{6} : x;
}
template <class T>
T h_swish(T x) {
    return x * relu6(x + T{3}) / T{6};
}
template <class T>
T log_sum_exp(T x, T y) {
    const T high = x < y ? y : x;
    const T low = x < y ? x : y;
    if (std::isinf(high) && high == low) return high;
    return high + std::log1p(std::exp(low - high));
}

} // namespace

template <class T>
bool elemwise_real(ElemwiseMode mode, const ElemwiseBlock<T>& b) {
    using enum ElemwiseMode;
    switch (mode) {
    case relu: unary(b, [](T x) { return megascope::relu(x); }); return true;
    case abs: unary(b, [](T x) { return std::abs(x); }); return true;
    case acos: unary(b, [](T x) { return std::acos(x); }); return true;
    case asin: unary(b, [](T x) { return std::asin(x); }); return true;
    case ceil: unary(b, [](T x) { return std::ceil(x); }); return true;
    case cos: unary(b, [](T x) { return std::cos(x); }); return true;
    case exp: unary(b, [](T x) { return std::exp(x); }); return true;
    case expm1: unary(b, [](T x) { return std::expm1(x); }); return true;
    case floor: unary(b, [](T x) { return std::floor(x); }); return true;
    case log: unary(b, [](T x) { return std::log(x); }); return true;
    case log1p: unary(b, [](T x) { return std::log1p(x); }); return true;
    case negate: unary(b, [](T x) { return -x; }); return true;
    case sigmoid: unary(b, [](T x) { return megascope::sigmoid(x); }); return true;
    case sin: unary(b, [](T x) { return std::sin(x); }); return true;
    case tanh: unary(b, [](T x) { return std::tanh(x); }); return true;
    case abs_grad: binary(b, [](T x, T y) { return x > 0 ? y : -y; }); return true;
    case add: binary(b, [](T x, T y) { return x + y; }); return true;
    // The quotient is rounded to float before it is floored: the rounding decides at whole quotients.
    case floor_div: binary(b, [](T x, T y) { return static_cast<T>(std::floor(static_cast<float>(x / y))); }); return true;
    case max: binary(b, [](T x, T y) { return x > y ? x : y; }); return true;
    case min: binary(b, [](T x, T y) { return x < y ? x : y; }); return true;
    case mod: binary(b, [](T x, T y) { return std::fmod(x, y); }); return true;
    case mul: binary(b, [](T x, T y) { return x * y; }); return true;
    case pow: binary(b, [](T x, T y) { return std::pow(x, y); }); return true;
    case sigmoid_grad: binary(b, [](T x, T y) { return x * (1 - x) * y; }); return true;
    case sub: binary(b, [](T x, T y) { return x - y; }); return true;
    case switch_gt0: binary(b, [](T x, T y) { return x > 0 ? y : T{0}; }); return true;
    case tanh_grad: binary(b, [](T x, T y) { return (1 - x * x) * y; }); return true;
    case true_div: binary(b, [](T x, T y) { return x / y; }); return true;
    case log_sum_exp: binary(b, [](T x, T y) { return megascope::log_sum_exp(x, y); }); return true;
    case lt: binary(b, [](T x, T y) { return static_cast<T>(x < y); }); return true;
    case leq: binary(b, [](T x, T y) { return static_cast<T>(x <= y); }); return true;
    case eq: binary(b, [](T x, T y) { return static_cast<T>(x == y); }); return true;
    case neq: binary(b, [](T x, T y) { return static_cast<T>(x != y); }); return true;
    case cond_leq_mov: ternary(b, [](T x, T y, T z) { return x <= y ? z : T{0}; }); return true;
    case cond_lt_mov: ternary(b, [](T x, T y, T z) { return x < y ? z : T{0}; }); return true;
    case fuse_mul_add3: ternary(b, [](T x, T y, T z) { return x * y + z; }); return true;
    case fuse_mul_add4:
        for (std::size_t i = 0; i < b.count; ++i) b.out[i] = b.in[0][i] * b.in[1][i] + b.in[2][i] * b.in[3][i];
        return true;
    case fuse_add_relu: binary(b, [](T x, T y) { return megascope::relu(x + y); }); return true;
    case fuse_add_sigmoid: binary(b, [](T x, T y) { return megascope::sigmoid(x + y); }); return true;
    case fuse_add_tanh: binary(b, [](T x, T y) { return std::tanh(x + y); }); return true;
    case fast_tanh: unary(b, [](T x) { return x * (27 + x * x) / (27 + 9 * x * x); }); return true;
    case fast_tanh_grad:
        binary(b, [](T x, T y) { return ((-48 * x * x) / (3 + x * x) + 27 + x * x) / (9 * (3 + x * x)) * y; });
        return true;
    case round: unary(b, [](T x) { return std::round(x); }); return true;
    case atan2: binary(b, [](T x, T y) { return std::atan2(x, y); }); return true;
    case erf: unary(b, [](T x) { return std::erf(x); }); return true;
    case erfinv: unary(b, [](T x) { return static_cast<T>(megascope::erfinv(x)); }); return true;
    case erfc: unary(b, [](T x) { return std::erfc(x); }); return true;
    case erfcinv: unary(b, [](T x) { return static_cast<T>(megascope::erfcinv(x)); }); return true;
    case h_swish: unary(b, [](T x) { return megascope::h_swish(x); }); return true;
    case h_swish_grad:
        binary(b, [](T x, T y) { return x < -3 ? T{0} : x > 3 ? y : (2 * x + 3) / 6 * y; });
        return true;
    case fuse_add_h_swish: binary(b, [](T x, T y) { return megascope::h_swish(x + y); }); return true;
    case silu: unary(b, [](T x) { return x / (1 + std::exp(-x)); }); return true;
    case silu_grad:
        binary(b, [](T x, T y) {
            const T s = megascope::sigmoid(x);
            return y * s * (1 + x * (1 - s));
        });
        return true;
    case gelu: unary(b, [](T x) { return x * T{0.5} * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); }); return true;
    case gelu_grad:
        binary(b, [](T x, T y) {
            const T cumulative = T{0.5} * (1 + std::erf(x / std::numbers::sqrt2_v<T>));
            const T density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
            return y * (cumulative + x * density);
        });
        return true;
    case isnan: unary(b, [](T x) { return static_cast<T>(std::isnan(x)); }); return true;
    case isinf: unary(b, [](T x) { return static_cast<T>(std::isinf(x)); }); return true;
    case sinh: unary(b, [](T x) { return std::sinh(x); }); return true;
    case cosh: unary(b, [](T x) { return std::cosh(x); }); return true;
    case asinh: unary(b, [](T x) { return std::asinh(x); }); return true;
    case acosh: unary(b, [](T x) { return std::acosh(x); }); return true;
    case atanh: unary(b, [](T x) { return std::atanh(x); }); return true;
    case tan: unary(b, [](T x) { return std::tan(x); }); return true;
    case asinh_grad: binary(b, [](T x, T y) { return y / std::sqrt(x * x + 1); }); return true;
    case acosh_grad: binary(b, [](T x, T y) { return y / std::sqrt(x * x - 1); }); return true;
    case atanh_grad: binary(b, [](T x, T y) { return y / (1 - x * x); }); return true;
    case prelu: binary(b, [](T x, T y) { return x > 0 ? x : x * y; }); return true;
    case clip: ternary(b, [](T x, T y, T z) { return x <= y ? y : x <= z ? x : z; }); return true;
    case prelu_grad: ternary(b, [](T x, T y, T z) { return x >= 0 ? y : y * z; }); return true;
    case softplus: unary(b, [](T x) { return std::log1p(std::exp(-std::abs(x))) + megascope::relu(x); }); return true;
    case softplus_grad: binary(b, [](T x, T y) { return y * megascope::sigmoid(x); }); return true;
    case relu6: unary(b, [](T x) { return megascope::relu6(x); }); return true;
    case relu6_grad: binary(b, [](T x, T y) { return x <= 0 || x >= 6 ? T{0} : y; }); return true;
    case hsigmoid: unary(b, [](T x) { return x <= -3 ? T{0} : x >= 3 ? T{1} : (x + 3) / 6; }); return true;
    case hsigmoid_grad: binary(b, [](T x, T y) { return x <= -3 || x >= 3 ? T{0} : y / 6; }); return true;
    case logsigmoid: unary(b, [](T x) { return -std::log1p(std::exp(-std::abs(x))) + (x >= 0 ? T{0} : x); }); return true;
    case sqrt: unary(b, [](T x) { return std::sqrt(x); }); return true;
    case square: unary(b, [](T x) { return x * x; }); return true;
    case sign: unary(b, [](T x) { return static_cast<T>((x > 0) - (x < 0)); }); return true;
    case shl:
    case shr:
    case rmulh:
    case not_:
    case and_:
    case or_:
    case xor_: break;
    }
    return false;
}

template bool elemwise_real<float>(ElemwiseMode, const ElemwiseBlock<float>&);
template bool elemwise_real<double>(ElemwiseMode, const ElemwiseBlock<double>&);

} // namespace megascope
