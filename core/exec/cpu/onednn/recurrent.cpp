// RNN and LSTM over a sequence: matrix products by oneDNN, gates by vector loops. The weights are one flat array as
// exec/reference/rnn_core.h describes it.

#include <algorithm>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/recurrent_gates.h"
#include "exec/reference/rnn_core.h"

namespace megascope {
namespace {

using Index = std::int64_t;

/// c (m × n) = a (m × k) times the transposed b (n × k), plus what c held when `adds`.
dnnl_status_t times_transposed(const float* a, const float* b, float* c, Index m, Index n, Index k, bool adds) {
    return dnnl_sgemm('N', 'T', m, n, k, 1.0F, a, k, b, k, adds ? 1.0F : 0.0F, c, n);
}

class RecurrentKernel final : public CpuKernel {
public:
    RecurrentKernel(const RnnSettings& s, std::size_t reserve_bytes) : s_(s), reserve_bytes_(reserve_bytes) {}

    /// Scratch: the gates of all steps, the sums of both biases, and two sequences between layers.
    std::size_t scratch_bytes() const { return (gates() + bias() + 2 * sequence()) * sizeof(float); }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        const bool lstm = s_.kind == RnnKind::lstm;
        const auto floats = [&](std::size_t i) { return reinterpret_cast<const float*>(inputs[i]); };
        auto* gate = reinterpret_cast<float*>(scratch);
        float* bias_sum = gate + gates();
        float* between[2] = {bias_sum + bias(), bias_sum + bias() + sequence()};
        const float* h0 = floats(1);
        const float* c0 = lstm ? floats(2) : nullptr;
        const float* weight = floats(lstm ? 3 : 2);
        auto* last_h = reinterpret_cast<float*>(outputs[1]);
        auto* last_c = lstm ? reinterpret_cast<float*>(outputs[2]) : nullptr;
        const Index state = s_.batch * s_.hidden;
        const Index rows = s_.gates() * s_.hidden;
        const float* in = floats(0);
        for (Index layer = 0; layer < s_.layers; ++layer) {
            float* out = layer + 1 == s_.layers ? reinterpret_cast<float*>(outputs[0]) : between[layer % 2];
            const Index width = s_.layer_input(layer);
            for (Index direction = 0; direction < s_.directions(); ++direction) {
                const float* ih = weight;
                const float* hh = ih + rows * width;
                const float* after = hh + rows * s_.hidden;
                if (s_.bias)
                    for (Index i = 0; i < rows; ++i) bias_sum[i] = after[i] + after[rows + i];
                else
                    std::fill_n(bias_sum, rows, 0.0F);
                weight = after + (s_.bias ? 2 * rows : 0);
                if (times_transposed(in, ih, gate, s_.steps * s_.batch, rows, width, false) != dnnl_success) return refused();
                const Index slot = (layer * s_.directions() + direction) * state;
                std::memcpy(last_h + slot, h0 + slot, static_cast<std::size_t>(state) * sizeof(float));
                if (lstm) std::memcpy(last_c + slot, c0 + slot, static_cast<std::size_t>(state) * sizeof(float));
                for (Index n = 0; n < s_.steps; ++n) {
                    const Index t = direction == 0 ? n : s_.steps - 1 - n;
                    float* now = gate + t * s_.batch * rows;
                    if (times_transposed(last_h + slot, hh, now, s_.batch, rows, s_.hidden, true) != dnnl_success) return refused();
                    for (Index b = 0; b < s_.batch; ++b) {
                        float* h = last_h + slot + b * s_.hidden;
                        const auto count = static_cast<std::size_t>(s_.hidden);
                        if (lstm)
                            lstm_gates(now + b * rows, bias_sum, last_c + slot + b * s_.hidden, h, count);
                        else
                            rnn_gates(s_.kind, now + b * rows, bias_sum, h, count);
                        std::memcpy(out + ((t * s_.batch + b) * s_.directions() + direction) * s_.hidden, h, count * sizeof(float));
                    }
                }
            }
            in = out;
        }
        const std::size_t reserve = lstm ? 3 : 2;
        if (reserve < outputs.size()) std::memset(outputs[reserve], 0, reserve_bytes_);
        return {};
    }

private:
    static tl::unexpected<Error> refused() { return fail(ErrorCode::run_failed, "oneDNN could not multiply the matrices of this recurrent network."); }
    std::size_t gates() const { return static_cast<std::size_t>(s_.steps * s_.batch * s_.gates() * s_.hidden); }
    std::size_t bias() const { return static_cast<std::size_t>(s_.gates() * s_.hidden); }
    std::size_t sequence() const {
        return s_.layers > 1 ? static_cast<std::size_t>(s_.steps * s_.batch * s_.directions() * s_.hidden) : 0;
    }

    RnnSettings s_;
    std::size_t reserve_bytes_;
};

} // namespace

std::optional<CpuKernelChoice> build_recurrent(const CpuContext&, const CpuGroupView& view) {
    const Opr& opr = view.head();
    const Param& param = opr.param();
    const bool lstm = opr.type == "LSTMForward";
    const std::size_t states = lstm ? 2 : 1;
    if (view.group.oprs.size() != 1 || view.inputs.size() != 2 + states || view.outputs.size() < 1 + states) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype.id != DTypeId::float32) return std::nullopt;
    for (std::size_t i = 0; i <= states; ++i)
        if (view.outputs[i].dtype.id != DTypeId::float32) return std::nullopt;
    const Shape& x = view.inputs[0].shape;
    if (x.ndim() != 3 || x.elements() == 0) return std::nullopt;
    RnnSettings s;
    s.kind = lstm ? RnnKind::lstm : static_cast<RnnKind>(param.integer("nonlineMode"));
    s.layers = param.integer("num_layers");
    s.bidirectional = param.boolean("bidirectional");
    s.bias = param.boolean("bias");
    s.hidden = param.integer("hidden_size");
    s.steps = x[0];
    s.batch = x[1];
    s.in = x[2];
    const auto limit = static_cast<Index>(view.inputs.back().shape.elements());
    if (s.layers < 1 || s.layers > limit || s.hidden < 1 || s.hidden > limit || s.weight_elements() != limit) return std::nullopt;
    if (lstm && param.integer("proj_size") != 0 && param.integer("proj_size") != s.hidden) return std::nullopt;
    if (param.real("dropout") > 0 && s.layers > 1 && param.enum_name("fwd_mode") == "TRAINING") return std::nullopt;
    const auto state = static_cast<std::size_t>(s.layers * s.directions() * s.batch * s.hidden);
    for (std::size_t i = 1; i <= states; ++i)
        if (view.inputs[i].shape.elements() != state || view.outputs[i].shape.elements() != state) return std::nullopt;
    if (view.outputs[0].shape.elements() != static_cast<std::size_t>(s.steps * s.batch * s.directions() * s.hidden)) return std::nullopt;
    CpuKernelChoice choice;
    for (const CpuValueInfo& input : view.inputs) choice.input_layouts.push_back(Layout::plain(input.shape.ndim()));
    for (const CpuValueInfo& output : view.outputs) choice.output_layouts.push_back(Layout::plain(output.shape.ndim()));
    const std::size_t reserve = view.outputs.size() > 1 + states ? tensor_bytes(view.outputs[1 + states].dtype, view.outputs[1 + states].shape) : 0;
    auto kernel = std::make_unique<RecurrentKernel>(s, reserve);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "gemm and vector loop";
    return choice;
}

} // namespace megascope
