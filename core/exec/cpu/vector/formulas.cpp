#include "exec/cpu/vector/formulas.h"

#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

#define MGS_LOOP(expression)                                                                                                     \
    for (std::size_t i = 0; i < count; ++i) out[i] = (expression);                                                               \
    return true

/// False for modes that have no vector form here.
MGS_VECTOR_CODE bool vector_formula(ElemwiseMode mode, const float* a, const float* b, const float* c, const float* d, float* out,
                                    std::size_t count) {
    using enum ElemwiseMode;
    switch (mode) {
    case relu: MGS_LOOP(a[i] > 0 ? a[i] : 0.0F);
    case abs: MGS_LOOP(a[i] < 0 ? -a[i] : a[i] + 0.0F);
    case negate: MGS_LOOP(-a[i]);
    case square: MGS_LOOP(a[i] * a[i]);
    case ElemwiseMode::sqrt: MGS_LOOP(__builtin_sqrtf(a[i]));
    case relu6: MGS_LOOP(a[i] > 6.0F ? 6.0F : (a[i] > 0 ? a[i] : 0.0F));
    case exp: MGS_LOOP(simd::exp(a[i]));
    case log: MGS_LOOP(simd::log(a[i]));
    case sigmoid: MGS_LOOP(simd::sigmoid(a[i]));
    case tanh: MGS_LOOP(simd::tanh(a[i]));
    case erf: MGS_LOOP(simd::erf(a[i]));
    case silu: MGS_LOOP(a[i] * simd::sigmoid(a[i]));
    case gelu: MGS_LOOP(a[i] * 0.5F * (1.0F + simd::erf(a[i] * 0.70710678F)));
    case h_swish: MGS_LOOP(a[i] * (a[i] + 3.0F < 0 ? 0.0F : (a[i] + 3.0F > 6.0F ? 6.0F : a[i] + 3.0F)) * (1.0F / 6.0F));
    case hsigmoid: MGS_LOOP(a[i] <= -3.0F ? 0.0F : (a[i] >= 3.0F ? 1.0F : (a[i] + 3.0F) * (1.0F / 6.0F)));
    case add: MGS_LOOP(a[i] + b[i]);
    case sub: MGS_LOOP(a[i] - b[i]);
    case mul: MGS_LOOP(a[i] * b[i]);
    case true_div: MGS_LOOP(a[i] / b[i]);
    case max: MGS_LOOP(a[i] > b[i] ? a[i] : b[i]);
    case min: MGS_LOOP(a[i] < b[i] ? a[i] : b[i]);
    case lt: MGS_LOOP(a[i] < b[i] ? 1.0F : 0.0F);
    case leq: MGS_LOOP(a[i] <= b[i] ? 1.0F : 0.0F);
    case eq: MGS_LOOP(a[i] == b[i] ? 1.0F : 0.0F);
    case switch_gt0: MGS_LOOP(a[i] > 0 ? b[i] : 0.0F);
    case abs_grad: MGS_LOOP(a[i] > 0 ? b[i] : -b[i]);
    case prelu: MGS_LOOP(a[i] > 0 ? a[i] : a[i] * b[i]);
    case fuse_add_relu: MGS_LOOP(a[i] + b[i] > 0 ? a[i] + b[i] : 0.0F);
    case fuse_add_sigmoid: MGS_LOOP(simd::sigmoid(a[i] + b[i]));
    case fuse_add_tanh: MGS_LOOP(simd::tanh(a[i] + b[i]));
    case fuse_mul_add3: MGS_LOOP(a[i] * b[i] + c[i]);
    case fuse_mul_add4: MGS_LOOP(a[i] * b[i] + c[i] * d[i]);
    case cond_leq_mov: MGS_LOOP(a[i] <= b[i] ? c[i] : 0.0F);
    case cond_lt_mov: MGS_LOOP(a[i] < b[i] ? c[i] : 0.0F);
    case clip: MGS_LOOP(a[i] <= b[i] ? b[i] : (a[i] <= c[i] ? a[i] : c[i]));
    default: return false;
    }
}

#undef MGS_LOOP

} // namespace

bool has_float_formula(ElemwiseMode mode) {
    float number = 0;
    ElemwiseBlock<float> nothing{{&number, &number, &number, &number}, &number, 0};
    return elemwise_real<float>(mode, nothing);
}

void float_formula(ElemwiseMode mode, const float* a, const float* b, const float* c, const float* d, float* out,
                   std::size_t count) {
    if (vector_formula(mode, a, b, c, d, out, count)) return;
    // Modes without a formula never get here: programs are checked with `has_float_formula`.
    static_cast<void>(elemwise_real<float>(mode, ElemwiseBlock<float>{{a, b, c, d}, out, count}));
}

} // namespace megascope
