#pragma once

#include <cstddef>

#include "exec/reference/rnn_core.h"

namespace megascope {

/// One step of an LSTM for one sequence: `sums` are the products for the gates i, f, g, o, `hidden` numbers each, to which `bias`
/// is added. Updates the cell state `c` and stores the new state in `h`.
void lstm_gates(const float* sums, const float* bias, float* c, float* h, std::size_t hidden);

/// The same for a plain recurrent network: h = f(sums + bias).
void rnn_gates(RnnKind kind, const float* sums, const float* bias, float* h, std::size_t hidden);

} // namespace megascope
