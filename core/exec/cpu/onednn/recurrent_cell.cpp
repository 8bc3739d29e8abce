// RNNCell and LSTMCell: matrix products by oneDNN, gates by vector loops.

#include <algorithm>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/recurrent_gates.h"

namespace megascope {
namespace {

using Index = std::int64_t;

class RecurrentCellKernel final : public CpuKernel {
public:
    RecurrentCellKernel(RnnKind kind, Index batch, Index in, Index hidden, bool bias_ih, bool bias_hh, bool stores_gates)
        : kind_(kind), batch_(batch), in_(in), hidden_(hidden), bias_ih_(bias_ih), bias_hh_(bias_hh), stores_gates_(stores_gates) {}

    /// The gates, where no output holds them, and a row of zeros.
    std::size_t scratch_bytes() const {
        return static_cast<std::size_t>(rows() + (stores_gates_ ? 0 : batch_ * rows())) * sizeof(float);
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        const auto floats = [&](std::size_t i) { return reinterpret_cast<const float*>(inputs[i]); };
        auto* zeros = reinterpret_cast<float*>(scratch);
        std::fill_n(zeros, rows(), 0.0F);
        float* gates = stores_gates_ ? reinterpret_cast<float*>(outputs[2]) : zeros + rows();
        for (Index b = 0; b < batch_; ++b)
            for (Index i = 0; i < rows(); ++i) gates[b * rows() + i] = (bias_ih_ ? floats(2)[i] : 0.0F) + (bias_hh_ ? floats(5)[i] : 0.0F);
        const dnnl_status_t from_input =
            dnnl_sgemm('N', 'T', batch_, rows(), in_, 1.0F, floats(0), in_, floats(1), in_, 1.0F, gates, rows());
        const dnnl_status_t from_state =
            dnnl_sgemm('N', 'T', batch_, rows(), hidden_, 1.0F, floats(3), hidden_, floats(4), hidden_, 1.0F, gates, rows());
        if (from_input != dnnl_success || from_state != dnnl_success)
            return fail(ErrorCode::run_failed, "oneDNN could not multiply the matrices of this recurrent cell.");
        auto* h = reinterpret_cast<float*>(outputs[0]);
        float* c = nullptr;
        if (kind_ == RnnKind::lstm) {
            c = reinterpret_cast<float*>(outputs[1]);
            std::memcpy(c, inputs[6], static_cast<std::size_t>(batch_ * hidden_) * sizeof(float));
        }
        for (Index b = 0; b < batch_; ++b) {
            const float* sums = gates + b * rows();
            const auto count = static_cast<std::size_t>(hidden_);
            if (c)
                lstm_gates(sums, zeros, c + b * hidden_, h + b * hidden_, count);
            else
                rnn_gates(kind_, sums, zeros, h + b * hidden_, count);
        }
        return {};
    }

private:
    Index rows() const { return (kind_ == RnnKind::lstm ? 4 : 1) * hidden_; }

    RnnKind kind_;
    Index batch_, in_, hidden_;
    bool bias_ih_, bias_hh_, stores_gates_;
};

} // namespace

std::optional<CpuKernelChoice> build_recurrent_cell(const CpuContext&, const CpuGroupView& view) {
    const Opr& opr = view.head();
    const bool lstm = opr.type == "LSTMCellForward";
    if (view.group.oprs.size() != 1 || view.inputs.size() != (lstm ? 7U : 6U) || view.outputs.size() < (lstm ? 2U : 1U)) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype.id != DTypeId::float32) return std::nullopt;
    for (const CpuValueInfo& output : view.outputs)
        if (output.dtype.id != DTypeId::float32) return std::nullopt;
    const RnnKind kind = lstm ? RnnKind::lstm : static_cast<RnnKind>(opr.param().integer("nonlineMode"));
    const Shape& x = view.inputs[0].shape;
    const Shape& h = view.inputs[3].shape;
    if (x.ndim() != 2 || h.ndim() != 2 || x[0] != h[0] || x.elements() == 0 || h.elements() == 0) return std::nullopt;
    const Index batch = x[0], in = x[1], hidden = h[1];
    const Index rows = (lstm ? 4 : 1) * hidden;
    const auto elements = [](const CpuValueInfo& value) { return static_cast<Index>(value.shape.elements()); };
    if (elements(view.inputs[1]) != rows * in || elements(view.inputs[4]) != rows * hidden) return std::nullopt;
    for (const std::size_t bias : {std::size_t{2}, std::size_t{5}})
        if (elements(view.inputs[bias]) != 0 && elements(view.inputs[bias]) != rows) return std::nullopt;
    if (lstm && elements(view.inputs[6]) != batch * hidden) return std::nullopt;
    for (std::size_t i = 0; i < view.outputs.size(); ++i)
        if (elements(view.outputs[i]) != batch * (i == 2 ? rows : hidden)) return std::nullopt;
    CpuKernelChoice choice;
    for (const CpuValueInfo& input : view.inputs) choice.input_layouts.push_back(Layout::plain(input.shape.ndim()));
    for (const CpuValueInfo& output : view.outputs) choice.output_layouts.push_back(Layout::plain(output.shape.ndim()));
    auto kernel = std::make_unique<RecurrentCellKernel>(kind, batch, in, hidden, elements(view.inputs[2]) != 0, elements(view.inputs[5]) != 0,
                                                        view.outputs.size() > 2);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "gemm and vector loop";
    return choice;
}

} // namespace megascope
