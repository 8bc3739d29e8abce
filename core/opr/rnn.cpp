#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

Inferred infer_rnn_cell(const InferContext& c) { return one(dtype_of(c, 0), maybe(shape_of(c, 3))); }

/// hx (N,H); gates (N,4H).
Inferred infer_lstm_cell(const InferContext& c) {
    const Shape* hx = shape_of(c, 3);
    MGS_TRY(want_rank(c, 3, 2, "hx"));
    std::optional<Shape> gates;
    if (hx) gates = Shape{(*hx)[0], saturated_mul(4, (*hx)[1])};
    return std::vector{describe(dtype_of(c, 0), maybe(hx)), describe(dtype_of(c, 0), maybe(hx)), describe(dtype_of(c, 0), gates)};
}

/// input (T,N,I), hx (D·L,N,H): output (T,N,D·H). The reserve keeps `states` states of every layer, direction and step, its size
/// counted in bytes although its dtype is the input's.
Expected<std::vector<VarDesc>> infer_sequence(const InferContext& c, std::int64_t states) {
    const std::size_t outputs = states == 2 ? 4 : 3;
    const auto dtype = dtype_of(c, 0);
    const Shape *input = shape_of(c, 0), *hx = shape_of(c, 1);
    if (!input || !hx) return std::vector<VarDesc>(outputs, describe(dtype));
    MGS_TRY(want_rank(c, 0, 3, "input"));
    MGS_TRY(want_rank(c, 1, 3, "hx"));
    const Param& p = c.opr.param();
    const std::int64_t directions = p.boolean("bidirectional") ? 2 : 1;
    const std::int64_t layers = p.integer("num_layers"), hidden = p.integer("hidden_size");
    const bool projected = states == 2 && p.integer("proj_size") != 0;
    if ((*hx)[0] != saturated_mul(directions, layers) || (*hx)[1] != (*input)[1] || (!projected && (*hx)[2] != hidden))
        return misfit(c.opr, "hx of shape " + hx->text() + " does not fit " + std::to_string(layers) + " layers, " + std::to_string(directions) +
                                 " directions, hidden size " + std::to_string(hidden) + " and input of shape " + input->text() + ".");
    std::vector<VarDesc> out{describe(dtype, Shape{(*input)[0], (*input)[1], saturated_mul(directions, (*hx)[2])}), describe(dtype, *hx)};
    if (states == 2) {
        const Shape* cx = shape_of(c, 2);
        if (cx && (cx->ndim() != 3 || (*cx)[0] != (*hx)[0] || (*cx)[1] != (*hx)[1] || (*cx)[2] != hidden))
            return misfit(c.opr, "cx of shape " + cx->text() + " does not fit hx of shape " + hx->text() + ".");
        out.push_back(describe(dtype, maybe(cx)));
    }
    std::optional<Shape> reserve;
    if (dtype) {
        const Shape kept{states, layers, directions, (*input)[0], (*input)[1], hidden, static_cast<std::int64_t>(dtype->bits() / 8)};
        if (const auto bytes = kept.checked_elements()) reserve = Shape{static_cast<std::int64_t>(*bytes)};
    }
    out.push_back(describe(dtype, reserve));
    return out;
}

Inferred infer_rnn(const InferContext& c) { return infer_sequence(c, 1); }
Inferred infer_lstm(const InferContext& c) { return infer_sequence(c, 2); }

/// Two matrix products, then per gate two biases and a sum, and `rest` operations per state element.
Cost cost_cell(const CostContext& c, double gates, double rest) {
    if (!cost_shapes_known(c, {0, 1, 3, 4})) return {};
    const double batch = static_cast<double>(input_shape(c, 0)[0]), hidden = input_elements(c, 3);
    return own_flops(2 * batch * (input_elements(c, 1) + input_elements(c, 4)) + (3 * gates + rest) * hidden);
}
Cost cost_rnn_cell(const CostContext& c) { return cost_cell(c, 1, 1); }
Cost cost_lstm_cell(const CostContext& c) { return cost_cell(c, 4, 9); }

/// The cells of all layers, directions and steps.
Cost cost_sequence(const CostContext& c, double gates, double rest) {
    if (!cost_shapes_known(c, {0, 1})) return {};
    const Shape &input = input_shape(c, 0), &hx = input_shape(c, 1);
    const Param& p = c.opr.param();
    if (input.ndim() != 3 || hx.ndim() != 3) return {};
    const double directions = p.boolean("bidirectional") ? 2 : 1, layers = static_cast<double>(p.integer("num_layers"));
    const double hidden = static_cast<double>(p.integer("hidden_size")), state = static_cast<double>(hx[2]);
    double per_row = 0; // one sample, one step
    for (double layer = 0; layer < layers && layer < 1024; ++layer) {
        const double width = layer == 0 ? static_cast<double>(input[2]) : directions * state;
        per_row += directions * (2 * gates * hidden * (width + state) + (gates * (p.boolean("bias") ? 3 : 1) + rest) * hidden);
    }
    return own_flops(static_cast<double>(input[0]) * static_cast<double>(input[1]) * per_row);
}
Cost cost_rnn(const CostContext& c) { return cost_sequence(c, 1, 1); }
Cost cost_lstm(const CostContext& c) { return cost_sequence(c, 4, 9); }

} // namespace

void add_rnn(CatalogueBuilder& b) {
    b.category(OprCategory::rnn);
    b.add({.type = "RNNCellForward", .params = {"RNNCell"}, .inputs = {"input", "weight_ih", "bias_ih", "hx", "weight_hh", "bias_hh"},
           .outputs = {"h_new"}, .summary = "One step of a plain recurrent cell", .infer = infer_rnn_cell, .cost = cost_rnn_cell});
    b.add({.type = "LSTMCellForward", .params = {"Empty"},
           .inputs = {"input", "weight_ih", "bias_ih", "hx", "weight_hh", "bias_hh", "cx"}, .outputs = {"h_new", "c_new", "gates"},
           .profile = "LSTMCell", .summary = "One step of an LSTM cell", .infer = infer_lstm_cell, .cost = cost_lstm_cell});
    b.add({.type = "RNNForward", .params = {"RNN"}, .inputs = {"input", "hx", "flatten_weights"}, .outputs = {"output", "hy", "reserve"},
           .profile = "RNN", .summary = "Plain recurrent network over a sequence", .infer = infer_rnn, .cost = cost_rnn});
    b.add({.type = "RNNBackward", .params = {"RNN"}, .inputs = {"x", "y", "hx", "dy", "dhy", "flatten_weights", "reserve"},
           .outputs = {"dx", "dhx", "dw"}, .summary = "Gradients of the recurrent network", .infer = (infer_like<0, 2, 5>)});
    b.add({.type = "LSTMForward", .params = {"LSTM"}, .inputs = {"input", "hx", "cx", "flatten_weights"},
           .outputs = {"output", "hy", "cy", "reserve"}, .profile = "LSTM", .summary = "LSTM network over a sequence", .infer = infer_lstm, .cost = cost_lstm});
    b.add({.type = "LSTMBackward", .params = {"LSTM"},
           .inputs = {"x", "y", "hx", "cx", "dy", "dhy", "dcy", "flatten_weights", "reserve"}, .outputs = {"dx", "dhx", "dcx", "dw"},
           .summary = "Gradients of the LSTM network", .infer = (infer_like<0, 2, 3, 7>)});
}

} // namespace megascope
