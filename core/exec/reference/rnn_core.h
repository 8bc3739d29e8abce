#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace megascope {

// Recurrent networks over a sequence, shared by the RNN and LSTM operators and their gradients.
// One layer and direction turns x (steps, batch, in) into h (steps, batch, hidden).

enum class RnnKind : std::uint8_t { identity = 0, relu = 1, tanh = 2, lstm = 3 };

struct RnnSettings {
    RnnKind kind = RnnKind::identity;
    std::int64_t layers = 1;
    bool bidirectional = false;
    bool bias = true;
    std::int64_t steps = 0;
    std::int64_t batch = 0;
    std::int64_t in = 0;
    std::int64_t hidden = 0;

    [[nodiscard]] std::int64_t directions() const { return bidirectional ? 2 : 1; }
    /// Rows of the weights per hidden unit: the gates i, f, g, o of an LSTM.
    [[nodiscard]] std::int64_t gates() const { return kind == RnnKind::lstm ? 4 : 1; }
    [[nodiscard]] std::int64_t layer_input(std::int64_t layer) const { return layer == 0 ? in : directions() * hidden; }
    /// Elements of the flat weights.
    [[nodiscard]] std::int64_t weight_elements() const;
};

/// Weights of one layer and direction inside the flat array (all layers, per layer all directions: W_ih (gates hidden × input),
/// W_hh (gates hidden × hidden), then b_ih and b_hh). Empty biases when there are none.
struct RnnWeights {
    std::size_t begin = 0; ///< of W_ih
    std::span<const double> ih;
    std::span<const double> hh;
    std::span<const double> bias_ih;
    std::span<const double> bias_hh;
};
[[nodiscard]] RnnWeights rnn_weights(const RnnSettings& s, std::span<const double> flat, std::int64_t layer, std::int64_t direction);

/// One step of a cell for the whole batch. All arrays row-major (batch, …).
struct CellStep {
    std::vector<double> gates; ///< before their functions: (batch, gates hidden)
    std::vector<double> h;
    std::vector<double> c;     ///< LSTM only
};
/// Preconditions: x (batch, in), h and c (batch, hidden), weights of matching sizes.
[[nodiscard]] CellStep cell_step(RnnKind kind, const RnnWeights& w, std::span<const double> x, std::span<const double> h,
                                 std::span<const double> c, std::int64_t batch, std::int64_t in, std::int64_t hidden);

/// A whole run, with what the gradient needs.
struct RnnRun {
    std::vector<std::vector<double>> inputs;    ///< per layer: (steps, batch, layer input)
    std::vector<std::vector<CellStep>> steps;   ///< per (layer, direction): one per time step, indexed by time
    std::vector<double> output;                 ///< (steps, batch, directions hidden)
    std::vector<double> h;                      ///< (layers directions, batch, hidden): the state after the last step taken
    std::vector<double> c;
};
/// Preconditions: x (steps, batch, in), h0 and c0 (layers directions, batch, hidden), flat weights of `weight_elements()`.
[[nodiscard]] RnnRun rnn_run(const RnnSettings& s, std::span<const double> x, std::span<const double> h0, std::span<const double> c0,
                             std::span<const double> flat);

struct RnnGradients {
    std::vector<double> x;
    std::vector<double> h0;
    std::vector<double> c0;
    std::vector<double> weights;
};
/// Gradients of sum(output dy) + sum(h dh) + sum(c dc) by going back through time. `run` is what `rnn_run` gave.
[[nodiscard]] RnnGradients rnn_backward(const RnnSettings& s, const RnnRun& run, std::span<const double> h0, std::span<const double> c0,
                                        std::span<const double> flat, std::span<const double> dy, std::span<const double> dh,
                                        std::span<const double> dc);

} // namespace megascope
