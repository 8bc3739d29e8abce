// The plain kernels as a fallback.

#include "exec/cpu/builders.h"
#include "exec/reference/kernel_table.h"

namespace megascope {
namespace {

class PlainKernelRunner final : public CpuKernel {
public:
    PlainKernelRunner(const CpuGroupView& view, PlainKernel run) : opr_(view.head()), run_(run) {
        for (const CpuValueInfo& input : view.inputs) inputs_.push_back({input.dtype, input.shape, nullptr});
        for (const CpuValueInfo& output : view.outputs) outputs_.push_back({output.dtype, output.shape, nullptr});
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = inputs[i];
        for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = outputs[i];
        return run_({opr_, inputs_, outputs_, nullptr});
    }

private:
    const Opr& opr_; ///< the program keeps the graph alive
    PlainKernel run_;
    std::vector<TensorRef> inputs_;
    std::vector<MutTensorRef> outputs_;
};

} // namespace

std::optional<CpuKernelChoice> build_reference(const CpuContext&, const CpuGroupView& view) {
    const auto found = reference_kernels().find(view.head().type);
    if (view.group.oprs.size() != 1 || found == reference_kernels().end() || found->second.data_dependent) return std::nullopt;
    CpuKernelChoice choice;
    for (const CpuValueInfo& input : view.inputs) choice.input_layouts.push_back(Layout::plain(input.shape.ndim()));
    for (const CpuValueInfo& output : view.outputs) choice.output_layouts.push_back(Layout::plain(output.shape.ndim()));
    choice.kernel = std::make_unique<PlainKernelRunner>(view, found->second.run);
    choice.name = "plain loops";
    choice.is_reference = true;
    return choice;
}

} // namespace megascope
