// RNNCell, LSTMCell, RNN and LSTM over a sequence, and the gradients of the latter two.

#include <string>

#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"
#include "exec/reference/rnn_core.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

Expected<void> expect_elements(const TensorRef& tensor, Index expected, const char* what) {
    if (tensor.elements() == sz(expected)) return {};
    return fail(ErrorCode::invalid_argument, "The " + std::string(what) + " of the recurrent network has shape " + tensor.shape.text() +
                                                 ", but " + std::to_string(expected) + " elements are needed.");
}

/// A bias of gates·hidden elements, or none.
Expected<std::vector<double>> cell_bias(const TensorRef& tensor, Index rows) {
    if (tensor.elements() == 0) return std::vector<double>{};
    MGS_TRY(expect_elements(tensor, rows, "bias"));
    return to_numbers(tensor);
}

Expected<void> run_cell(const KernelArgs& args, RnnKind kind) {
    const TensorRef& x = args.inputs[0];
    const TensorRef& h = args.inputs[3];
    if (x.shape.ndim() != 2 || h.shape.ndim() != 2 || x.shape[0] != h.shape[0])
        return fail(ErrorCode::invalid_argument, "A recurrent cell takes input and state of shapes (batch, size), not " + x.shape.text() + " and " + h.shape.text() + ".");
    const Index batch = x.shape[0];
    const Index in = x.shape[1];
    const Index hidden = h.shape[1];
    const Index rows = (kind == RnnKind::lstm ? 4 : 1) * hidden;
    MGS_TRY(expect_elements(args.inputs[1], rows * in, "input weight"));
    MGS_TRY(expect_elements(args.inputs[4], rows * hidden, "state weight"));
    const auto ih = to_numbers(args.inputs[1]);
    const auto hh = to_numbers(args.inputs[4]);
    MGS_ASSIGN(const auto bias_ih, cell_bias(args.inputs[2], rows));
    MGS_ASSIGN(const auto bias_hh, cell_bias(args.inputs[5], rows));
    std::vector<double> c;
    if (kind == RnnKind::lstm) {
        MGS_TRY(expect_elements(args.inputs[6], batch * hidden, "cell state"));
        c = to_numbers(args.inputs[6]);
    }
    const RnnWeights w{0, ih, hh, bias_ih, bias_hh};
    const CellStep step = cell_step(kind, w, to_numbers(x), to_numbers(h), c, batch, in, hidden);
    MGS_TRY(expect_elements(args.outputs[0], batch * hidden, "new state"));
    from_numbers(step.h, args.outputs[0]);
    if (kind != RnnKind::lstm) return {};
    MGS_TRY(expect_elements(args.outputs[1], batch * hidden, "new cell state"));
    from_numbers(step.c, args.outputs[1]);
    if (args.outputs.size() > 2) {
        MGS_TRY(expect_elements(args.outputs[2], batch * rows, "gates"));
        from_numbers(step.gates, args.outputs[2]);
    }
    return {};
}

Expected<void> rnn_cell(const KernelArgs& args) {
    return run_cell(args, static_cast<RnnKind>(args.opr.param().integer("nonlineMode")));
}
Expected<void> lstm_cell(const KernelArgs& args) { return run_cell(args, RnnKind::lstm); }

Expected<RnnSettings> settings(const Param& param, RnnKind kind, const Shape& x) {
    if (x.ndim() != 3) return fail(ErrorCode::invalid_argument, "A recurrent network takes a sequence (steps, batch, size), not " + x.text() + ".");
    RnnSettings s;
    s.kind = kind;
    s.layers = param.integer("num_layers");
    s.bidirectional = param.boolean("bidirectional");
    s.bias = param.boolean("bias");
    s.hidden = param.integer("hidden_size");
    s.steps = x[0];
    s.batch = x[1];
    s.in = x[2];
    if (kind == RnnKind::lstm && param.integer("proj_size") != 0 && param.integer("proj_size") != s.hidden)
        return fail(ErrorCode::unsupported, "An LSTM with a projection of the state (proj_size " + std::to_string(param.integer("proj_size")) + ") has no reference kernel.");
    if (param.real("dropout") > 0 && s.layers > 1 && param.enum_name("fwd_mode") == "TRAINING")
        return fail(ErrorCode::unsupported, "A recurrent network that drops values at random while training has no defined result.");
    return s;
}

/// The inputs of the sequence operators as numbers.
struct Sequence {
    RnnSettings s;
    std::vector<double> x;
    std::vector<double> h;
    std::vector<double> c;
    std::vector<double> weights;
};

Expected<Sequence> sequence(const Param& param, RnnKind kind, const TensorRef& x, const TensorRef& h, const TensorRef* c, const TensorRef& weights) {
    Sequence q;
    MGS_ASSIGN(q.s, settings(param, kind, x.shape));
    // Numbers of the param that the weights do not bear out must not drive any loop.
    const auto limit = static_cast<Index>(weights.elements());
    if (q.s.layers < 1 || q.s.layers > limit || q.s.hidden < 1 || q.s.hidden > limit)
        return fail(ErrorCode::invalid_argument, "A recurrent network of " + std::to_string(q.s.layers) + " layers with " + std::to_string(q.s.hidden) +
                                                     " hidden units does not fit weights of shape " + weights.shape.text() + ".");
    const Index states = q.s.layers * q.s.directions() * q.s.batch * q.s.hidden;
    MGS_TRY(expect_elements(h, states, "initial state"));
    MGS_TRY(expect_elements(weights, q.s.weight_elements(), "weight"));
    q.x = to_numbers(x);
    q.h = to_numbers(h);
    q.weights = to_numbers(weights);
    if (c) {
        MGS_TRY(expect_elements(*c, states, "initial cell state"));
        q.c = to_numbers(*c);
    }
    return q;
}

Expected<void> store(const std::vector<double>& values, const MutTensorRef& output, const char* what) {
    MGS_TRY(expect_elements(output, static_cast<Index>(values.size()), what));
    from_numbers(values, output);
    return {};
}

Expected<void> rnn(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const auto kind = static_cast<RnnKind>(param.integer("nonlineMode"));
    MGS_ASSIGN(const Sequence q, sequence(param, kind, args.inputs[0], args.inputs[1], nullptr, args.inputs[2]));
    const RnnRun run = rnn_run(q.s, q.x, q.h, q.c, q.weights);
    MGS_TRY(store(run.output, args.outputs[0], "output"));
    MGS_TRY(store(run.h, args.outputs[1], "last state"));
    if (args.outputs.size() > 2) clear(args.outputs[2]);
    return {};
}

Expected<void> lstm(const KernelArgs& args) {
    MGS_ASSIGN(const Sequence q, sequence(args.opr.param(), RnnKind::lstm, args.inputs[0], args.inputs[1], &args.inputs[2], args.inputs[3]));
    const RnnRun run = rnn_run(q.s, q.x, q.h, q.c, q.weights);
    MGS_TRY(store(run.output, args.outputs[0], "output"));
    MGS_TRY(store(run.h, args.outputs[1], "last state"));
    MGS_TRY(store(run.c, args.outputs[2], "last cell state"));
    if (args.outputs.size() > 3) clear(args.outputs[3]);
    return {};
}

/// A difference of the same size as the value that it belongs to.
Expected<std::vector<double>> difference(const TensorRef& tensor, std::size_t count) {
    MGS_TRY(expect_elements(tensor, static_cast<Index>(count), "difference"));
    return to_numbers(tensor);
}

// The reserve of the forward run is an internal buffer; the run is repeated instead.
Expected<void> rnn_gradient(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const auto kind = static_cast<RnnKind>(param.integer("nonlineMode"));
    MGS_ASSIGN(const Sequence q, sequence(param, kind, args.inputs[0], args.inputs[2], nullptr, args.inputs[5]));
    const RnnRun run = rnn_run(q.s, q.x, q.h, q.c, q.weights);
    MGS_ASSIGN(const auto dy, difference(args.inputs[3], run.output.size()));
    MGS_ASSIGN(const auto dh, difference(args.inputs[4], run.h.size()));
    const RnnGradients g = rnn_backward(q.s, run, q.h, q.c, q.weights, dy, dh, {});
    MGS_TRY(store(g.x, args.outputs[0], "input gradient"));
    MGS_TRY(store(g.h0, args.outputs[1], "state gradient"));
    return store(g.weights, args.outputs[2], "weight gradient");
}

Expected<void> lstm_gradient(const KernelArgs& args) {
    MGS_ASSIGN(const Sequence q, sequence(args.opr.param(), RnnKind::lstm, args.inputs[0], args.inputs[2], &args.inputs[3], args.inputs[7]));
    const RnnRun run = rnn_run(q.s, q.x, q.h, q.c, q.weights);
    MGS_ASSIGN(const auto dy, difference(args.inputs[4], run.output.size()));
    MGS_ASSIGN(const auto dh, difference(args.inputs[5], run.h.size()));
    MGS_ASSIGN(const auto dc, difference(args.inputs[6], run.c.size()));
    const RnnGradients g = rnn_backward(q.s, run, q.h, q.c, q.weights, dy, dh, dc);
    MGS_TRY(store(g.x, args.outputs[0], "input gradient"));
    MGS_TRY(store(g.h0, args.outputs[1], "state gradient"));
    MGS_TRY(store(g.c0, args.outputs[2], "cell state gradient"));
    return store(g.weights, args.outputs[3], "weight gradient");
}

} // namespace

void add_rnn_kernels(ReferenceKernels& kernels) {
    kernels["RNNCellForward"] = {rnn_cell};
    kernels["LSTMCellForward"] = {lstm_cell};
    kernels["RNNForward"] = {rnn};
    kernels["LSTMForward"] = {lstm};
    kernels["RNNBackward"] = {rnn_gradient};
    kernels["LSTMBackward"] = {lstm_gradient};
}

} // namespace megascope
