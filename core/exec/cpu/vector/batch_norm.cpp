// BatchNorm with given statistics: y = x * a + b per statistic, a = scale / sqrt(variance + epsilon), b = bias - mean * a.

#include <algorithm>
#include <array>
#include <cmath>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/elemwise_kernel.h"

namespace megascope {
namespace {

class BatchNormKernel final : public CpuKernel {
public:
    BatchNormKernel(std::unique_ptr<ElemwiseKernel> apply, std::size_t statistics, float epsilon, std::size_t reserve_bytes)
        : apply_(std::move(apply)), statistics_(statistics), epsilon_(epsilon), reserve_bytes_(reserve_bytes) {}

    std::size_t own_bytes() const { return 2 * ((statistics_ * sizeof(float) + 63) / 64 * 64); }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override {
        auto* factor = reinterpret_cast<float*>(scratch);
        auto* addend = reinterpret_cast<float*>(scratch + own_bytes() / 2);
        const auto* scale = reinterpret_cast<const float*>(inputs[1]);
        const auto* bias = reinterpret_cast<const float*>(inputs[2]);
        const auto* mean = reinterpret_cast<const float*>(inputs[3]);
        const auto* variance = reinterpret_cast<const float*>(inputs[4]);
        auto* saved_mean = reinterpret_cast<float*>(outputs[0]);
        auto* saved_inverse = reinterpret_cast<float*>(outputs[1]);
        for (std::size_t i = 0; i < statistics_; ++i) {
            const double inverse = 1 / std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(epsilon_));
            factor[i] = static_cast<float>(static_cast<double>(scale[i]) * inverse);
            addend[i] = static_cast<float>(static_cast<double>(bias[i]) -
                                           static_cast<double>(mean[i]) * static_cast<double>(scale[i]) * inverse);
            if (saved_) {
                saved_mean[i] = mean[i];
                saved_inverse[i] = static_cast<float>(inverse);
            }
        }
        std::fill_n(outputs[2], reserve_bytes_, std::byte{0});
        const std::array<const std::byte*, 3> operands = {inputs[0], reinterpret_cast<const std::byte*>(factor),
                                                          reinterpret_cast<const std::byte*>(addend)};
        return apply_->run(operands, outputs.subspan(3), scratch + own_bytes());
    }

    void save_statistics(bool saved) { saved_ = saved; }

private:
    std::unique_ptr<ElemwiseKernel> apply_;
    std::size_t statistics_;
    float epsilon_;
    std::size_t reserve_bytes_;
    bool saved_ = true;
};

} // namespace

std::optional<CpuKernelChoice> build_batch_norm(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (opr.type != "BatchNorm" || view.group.oprs.size() != 1 || view.inputs.size() != 5 || view.outputs.size() != 4)
        return std::nullopt;
    if (opr.param().enum_name("fwd_mode") != "INFERENCE") return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype.id != DTypeId::float32) return std::nullopt;
    const Shape& shape = view.inputs[0].shape;
    const Shape& param = view.inputs[1].shape;
    const std::size_t statistics = param.elements();
    const std::optional<Shape> joined = broadcast(param, shape);
    if (param.ndim() != shape.ndim() || !joined || *joined != shape || view.outputs[3].shape != shape || shape.elements() == 0)
        return std::nullopt;
    for (std::size_t i = 1; i < 5; ++i)
        if (view.inputs[i].shape.elements() != statistics) return std::nullopt;
    const std::size_t saved = view.outputs[0].shape.elements();
    if (saved != view.outputs[1].shape.elements() || (saved != 0 && saved != statistics)) return std::nullopt;

    const Layout layout = view.inputs[0].layout.is_blocked() ? Layout::plain(shape.ndim()) : view.inputs[0].layout;
    const Layout params = Layout::plain(param.ndim());
    const std::vector<StridedOperand> operands = {{shape, layout}, {param, params}, {param, params}};
    ElemwiseProgram program(3);
    const std::vector<std::size_t> registers = {0, 1, 2};
    program.add(ElemwiseMode::fuse_mul_add3, registers);
    program.finish();
    auto apply = std::make_unique<ElemwiseKernel>(context.threads, std::move(program), StridedLoop(shape, layout, operands),
                                                  std::vector<DType>(3, DTypeId::float32), DTypeId::float32);
    const std::size_t scratch = apply->scratch_per_thread() * static_cast<std::size_t>(context.threads.count());
    auto kernel = std::make_unique<BatchNormKernel>(std::move(apply), statistics, static_cast<float>(opr.param().real("epsilon")),
                                                    tensor_bytes(view.outputs[2].dtype, view.outputs[2].shape));
    kernel->save_statistics(saved > 0);
    CpuKernelChoice choice;
    choice.input_layouts = {layout, params, params, params, params};
    for (std::size_t i = 0; i < 3; ++i) choice.output_layouts.push_back(Layout::plain(view.outputs[i].shape.ndim()));
    choice.output_layouts.push_back(layout);
    choice.scratch_bytes = kernel->own_bytes() + scratch;
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
