#include "exec/reference/rnn_core.h"

#include <algorithm>
#include <cmath>

#include "exec/reference/matmul_core.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Time of the n-th step: the backward direction starts at the end of the sequence.
Index time_of(const RnnSettings& s, Index n, Index direction) { return direction == 0 ? n : s.steps - 1 - n; }

void add(std::span<double> target, std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) target[i] += values[i];
}

/// Sums of the columns.
void add_rows(std::span<double> target, std::span<const double> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) target[i % target.size()] += rows[i];
}

} // namespace

std::int64_t RnnSettings::weight_elements() const {
    Index total = 0;
    for (Index layer = 0; layer < layers; ++layer)
        total += directions() * gates() * hidden * (layer_input(layer) + hidden + (bias ? 2 : 0));
    return total;
}

RnnWeights rnn_weights(const RnnSettings& s, std::span<const double> flat, Index layer, Index direction) {
    const Index rows = s.gates() * s.hidden;
    Index begin = 0;
    for (Index l = 0; l < layer; ++l) begin += s.directions() * rows * (s.layer_input(l) + s.hidden + (s.bias ? 2 : 0));
    begin += direction * rows * (s.layer_input(layer) + s.hidden + (s.bias ? 2 : 0));
    RnnWeights w;
    w.begin = sz(begin);
    w.ih = flat.subspan(w.begin, sz(rows * s.layer_input(layer)));
    w.hh = flat.subspan(w.begin + w.ih.size(), sz(rows * s.hidden));
    if (s.bias) {
        w.bias_ih = flat.subspan(w.begin + w.ih.size() + w.hh.size(), sz(rows));
        w.bias_hh = flat.subspan(w.begin + w.ih.size() + w.hh.size() + sz(rows), sz(rows));
    }
    return w;
}

CellStep cell_step(RnnKind kind, const RnnWeights& w, std::span<const double> x, std::span<const double> h, std::span<const double> c,
                   Index batch, Index in, Index hidden) {
    const Index rows = (kind == RnnKind::lstm ? 4 : 1) * hidden;
    CellStep step;
    step.gates = multiply(x, transpose(w.ih, rows, in), batch, in, rows);
    add(step.gates, multiply(h, transpose(w.hh, rows, hidden), batch, hidden, rows));
    for (std::size_t i = 0; i < step.gates.size(); ++i) {
        if (!w.bias_ih.empty()) step.gates[i] += w.bias_ih[i % sz(rows)];
        if (!w.bias_hh.empty()) step.gates[i] += w.bias_hh[i % sz(rows)];
    }
    if (kind != RnnKind::lstm) {
        step.h = step.gates;
        for (double& v : step.h) v = kind == RnnKind::tanh ? std::tanh(v) : kind == RnnKind::relu ? std::max(v, 0.0) : v;
        return step;
    }
    step.h.resize(sz(batch * hidden));
    step.c.resize(step.h.size());
    for (Index n = 0; n < batch; ++n)
        for (Index j = 0; j < hidden; ++j) {
            const double* gate = step.gates.data() + n * rows + j;
            const std::size_t at = sz(n * hidden + j);
            step.c[at] = sigmoid(gate[hidden]) * c[at] + sigmoid(gate[0]) * std::tanh(gate[2 * hidden]);
            step.h[at] = sigmoid(gate[3 * hidden]) * std::tanh(step.c[at]);
        }
    return step;
}

RnnRun rnn_run(const RnnSettings& s, std::span<const double> x, std::span<const double> h0, std::span<const double> c0,
               std::span<const double> flat) {
    const std::size_t state = sz(s.batch * s.hidden);
    RnnRun run;
    run.output.assign(x.begin(), x.end());
    for (Index layer = 0; layer < s.layers; ++layer) {
        run.inputs.push_back(std::move(run.output));
        const auto& input = run.inputs.back();
        const std::size_t row = sz(s.batch * s.layer_input(layer));
        run.output.assign(sz(s.steps * s.directions()) * state, 0.0);
        for (Index direction = 0; direction < s.directions(); ++direction) {
            const std::size_t slot = sz(layer * s.directions() + direction);
            const RnnWeights w = rnn_weights(s, flat, layer, direction);
            auto& steps = run.steps.emplace_back(sz(s.steps));
            std::vector<double> h(h0.begin() + static_cast<Index>(slot * state), h0.begin() + static_cast<Index>((slot + 1) * state));
            std::vector<double> c;
            if (s.kind == RnnKind::lstm)
                c.assign(c0.begin() + static_cast<Index>(slot * state), c0.begin() + static_cast<Index>((slot + 1) * state));
            for (Index n = 0; n < s.steps; ++n) {
                const std::size_t t = sz(time_of(s, n, direction));
                steps[t] = cell_step(s.kind, w, std::span(input).subspan(t * row, row), h, c, s.batch, s.layer_input(layer), s.hidden);
                h = steps[t].h;
                c = steps[t].c;
                for (Index b = 0; b < s.batch; ++b)
                    std::copy_n(h.begin() + b * s.hidden, s.hidden,
                                run.output.begin() + ((static_cast<Index>(t) * s.batch + b) * s.directions() + direction) * s.hidden);
            }
            run.h.insert(run.h.end(), h.begin(), h.end());
            run.c.insert(run.c.end(), c.begin(), c.end());
        }
    }
    return run;
}

RnnGradients rnn_backward(const RnnSettings& s, const RnnRun& run, std::span<const double> h0, std::span<const double> c0,
                          std::span<const double> flat, std::span<const double> dy, std::span<const double> dh,
                          std::span<const double> dc) {
    const std::size_t state = sz(s.batch * s.hidden);
    const Index rows = s.gates() * s.hidden;
    RnnGradients grad;
    grad.h0.resize(h0.size());
    grad.c0.resize(c0.size());
    grad.weights.resize(flat.size());
    std::vector<double> dout(dy.begin(), dy.end());
    for (Index layer = s.layers; layer-- > 0;) {
        const Index in = s.layer_input(layer);
        const std::size_t row = sz(s.batch * in);
        const auto& input = run.inputs[sz(layer)];
        std::vector<double> din(input.size());
        for (Index direction = 0; direction < s.directions(); ++direction) {
            const std::size_t slot = sz(layer * s.directions() + direction);
            const auto& steps = run.steps[slot];
            const RnnWeights w = rnn_weights(s, flat, layer, direction);
            const auto weight_grad = std::span(grad.weights).subspan(w.begin);
            std::vector<double> h_grad(dh.begin() + static_cast<Index>(slot * state), dh.begin() + static_cast<Index>((slot + 1) * state));
            std::vector<double> c_grad;
            if (s.kind == RnnKind::lstm)
                c_grad.assign(dc.begin() + static_cast<Index>(slot * state), dc.begin() + static_cast<Index>((slot + 1) * state));
            for (Index n = s.steps; n-- > 0;) {
                const std::size_t t = sz(time_of(s, n, direction));
                const std::size_t before = n == 0 ? 0 : sz(time_of(s, n - 1, direction));
                const std::span<const double> h_before = n == 0 ? h0.subspan(slot * state, state) : std::span<const double>(steps[before].h);
                for (Index b = 0; b < s.batch; ++b)
                    for (Index j = 0; j < s.hidden; ++j)
                        h_grad[sz(b * s.hidden + j)] +=
                            dout[sz(((static_cast<Index>(t) * s.batch + b) * s.directions() + direction) * s.hidden + j)];
                std::vector<double> gate_grad(sz(s.batch * rows));
                if (s.kind == RnnKind::lstm) {
                    const std::span<const double> c_before = n == 0 ? c0.subspan(slot * state, state) : std::span<const double>(steps[before].c);
                    for (Index b = 0; b < s.batch; ++b)
                        for (Index j = 0; j < s.hidden; ++j) {
                            const std::size_t at = sz(b * s.hidden + j);
                            const double* gate = steps[t].gates.data() + b * rows + j;
                            double* g = gate_grad.data() + b * rows + j;
                            const double i = sigmoid(gate[0]);
                            const double f = sigmoid(gate[s.hidden]);
                            const double u = std::tanh(gate[2 * s.hidden]);
                            const double o = sigmoid(gate[3 * s.hidden]);
                            const double th = std::tanh(steps[t].c[at]);
                            const double dcell = c_grad[at] + h_grad[at] * o * (1 - th * th);
                            g[0] = dcell * u * i * (1 - i);
                            g[s.hidden] = dcell * c_before[at] * f * (1 - f);
                            g[2 * s.hidden] = dcell * i * (1 - u * u);
                            g[3 * s.hidden] = h_grad[at] * th * o * (1 - o);
                            c_grad[at] = dcell * f;
                        }
                } else {
                    for (std::size_t i = 0; i < state; ++i) {
                        const double h = steps[t].h[i];
                        const double slope = s.kind == RnnKind::tanh ? 1 - h * h : s.kind == RnnKind::relu ? static_cast<double>(h > 0) : 1.0;
                        gate_grad[i] = h_grad[i] * slope;
                    }
                }
                const auto x = std::span(input).subspan(t * row, row);
                const auto gate_grad_t = transpose(gate_grad, s.batch, rows);
                add(weight_grad, multiply(gate_grad_t, x, rows, s.batch, in));
                add(weight_grad.subspan(w.ih.size()), multiply(gate_grad_t, h_before, rows, s.batch, s.hidden));
                if (s.bias) {
                    add_rows(weight_grad.subspan(w.ih.size() + w.hh.size(), sz(rows)), gate_grad);
                    add_rows(weight_grad.subspan(w.ih.size() + w.hh.size() + sz(rows), sz(rows)), gate_grad);
                }
                add(std::span(din).subspan(t * row, row), multiply(gate_grad, w.ih, s.batch, rows, in));
                h_grad = multiply(gate_grad, w.hh, s.batch, rows, s.hidden);
            }
            std::copy(h_grad.begin(), h_grad.end(), grad.h0.begin() + static_cast<Index>(slot * state));
            std::copy(c_grad.begin(), c_grad.end(), grad.c0.begin() + static_cast<Index>(slot * state));
        }
        dout = std::move(din);
    }
    grad.x = std::move(dout);
    return grad;
}

} // namespace megascope
