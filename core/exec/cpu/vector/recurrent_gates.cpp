#include "exec/cpu/vector/recurrent_gates.h"

#include "exec/cpu/vector/simd.h"

namespace megascope {

MGS_VECTOR_CODE void lstm_gates(const float* sums, const float* bias, float* c, float* h, std::size_t hidden) {
    const float *i = sums, *f = sums + hidden, *g = sums + 2 * hidden, *o = sums + 3 * hidden;
    const float *bi = bias, *bf = bias + hidden, *bg = bias + 2 * hidden, *bo = bias + 3 * hidden;
    for (std::size_t j = 0; j < hidden; ++j) {
        const float cell = simd::sigmoid(f[j] + bf[j]) * c[j] + simd::sigmoid(i[j] + bi[j]) * simd::tanh(g[j] + bg[j]);
        c[j] = cell;
        h[j] = simd::sigmoid(o[j] + bo[j]) * simd::tanh(cell);
    }
}

namespace {

MGS_VECTOR_CODE void tanh_gates(const float* sums, const float* bias, float* h, std::size_t hidden) {
    for (std::size_t j = 0; j < hidden; ++j) h[j] = simd::tanh(sums[j] + bias[j]);
}
MGS_VECTOR_CODE void relu_gates(const float* sums, const float* bias, float* h, std::size_t hidden) {
    for (std::size_t j = 0; j < hidden; ++j) {
        const float v = sums[j] + bias[j];
        h[j] = v > 0 ? v : 0.0F;
    }
}
MGS_VECTOR_CODE void plain_gates(const float* sums, const float* bias, float* h, std::size_t hidden) {
    for (std::size_t j = 0; j < hidden; ++j) h[j] = sums[j] + bias[j];
}

} // namespace

void rnn_gates(RnnKind kind, const float* sums, const float* bias, float* h, std::size_t hidden) {
    if (kind == RnnKind::tanh)
        tanh_gates(sums, bias, h, hidden);
    else if (kind == RnnKind::relu)
        relu_gates(sums, bias, h, hidden);
    else
        plain_gates(sums, bias, h, hidden);
}

} // namespace megascope
