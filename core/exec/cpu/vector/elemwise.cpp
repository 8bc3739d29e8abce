// Elemwise over floats of any broadcast and layout.

#include <algorithm>
#include <array>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/elemwise_program.h"
#include "exec/cpu/vector/strided_loop.h"

namespace megascope {
namespace {

constexpr std::size_t max_elemwise_inputs = 4 * max_elemwise_program;

class ElemwiseKernel final : public CpuKernel {
public:
    ElemwiseKernel(const CpuThreads& threads, ElemwiseProgram program, StridedLoop loop)
        : threads_(threads), program_(std::move(program)), loop_(std::move(loop)) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override;

    std::size_t scratch_per_thread() const { return (program_.temporaries() + loop_.operands() * ElemwiseProgram::tile) * sizeof(float); }

private:
    void run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, float* out, float* temporary) const;

    const CpuThreads threads_;
    ElemwiseProgram program_;
    StridedLoop loop_;
};

Expected<void> ElemwiseKernel::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) {
    auto* out = reinterpret_cast<float*>(outputs[0]);
    std::size_t chunks = loop_.runs() * ((loop_.run_length() + ElemwiseProgram::tile - 1) / ElemwiseProgram::tile);
    if (loop_.run_length() == 0) chunks = 0;
    const std::size_t grain = std::max<std::size_t>(1, 8192 / std::min(ElemwiseProgram::tile, std::max<std::size_t>(loop_.run_length(), 1)));
    const std::size_t stride = scratch_per_thread();
    threads_.parallel_for(chunks, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
        run_piece(begin, end, inputs, out, reinterpret_cast<float*>(scratch + piece * stride));
    });
    return {};
}

void ElemwiseKernel::run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, float* out, float* temporary) const {
    constexpr std::size_t tile = ElemwiseProgram::tile;
    const std::size_t operands = loop_.operands();
    const std::size_t length = loop_.run_length();
    const std::size_t chunks_per_run = (length + tile - 1) / tile;
    float* filled = temporary + program_.temporaries();
    std::array<const float*, max_elemwise_inputs> pointers;
    std::array<std::int64_t, max_elemwise_inputs> offsets;
    std::array<std::int64_t, max_elemwise_inputs> filled_from;
    filled_from.fill(-1);
    std::size_t run = SIZE_MAX;
    for (std::size_t chunk = begin; chunk < end; ++chunk) {
        if (chunk / chunks_per_run != run) {
            run = chunk / chunks_per_run;
            loop_.offsets(run, std::span(offsets).first(operands));
        }
        const std::size_t at = chunk % chunks_per_run * tile;
        const std::size_t count = std::min(tile, length - at);
        for (std::size_t k = 0; k < operands; ++k) {
            const auto* data = reinterpret_cast<const float*>(inputs[k]);
            const std::int64_t step = loop_.step(k);
            if (step == 1) {
                pointers[k] = data + offsets[k] + static_cast<std::int64_t>(at);
                continue;
            }
            float* buffer = filled + k * tile;
            pointers[k] = buffer;
            if (step == 0) {
                if (filled_from[k] == offsets[k]) continue;
                std::fill_n(buffer, std::min(tile, length), data[offsets[k]]);
                filled_from[k] = offsets[k];
            } else {
                const float* from = data + offsets[k] + static_cast<std::int64_t>(at) * step;
                for (std::size_t i = 0; i < count; ++i) buffer[i] = from[static_cast<std::int64_t>(i) * step];
            }
        }
        program_.run(pointers.data(), out + run * length + at, count, temporary);
    }
}

/// The stored order of the result: that of an operand which is as large as the result and would have to be moved otherwise.
Layout result_layout(const CpuGroupView& view) {
    const Shape& out = view.outputs[0].shape;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape == out && !input.layout.is_blocked()) return input.layout;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape.ndim() == out.ndim() && !input.layout.is_blocked() && !input.layout.is_plain(input.shape)) return input.layout;
    return Layout::plain(out.ndim());
}

ElemwiseProgram program_of(const CpuGroupView& view) {
    ElemwiseProgram program(view.group.inputs.size());
    std::vector<std::pair<VarId, std::size_t>> registers;
    for (std::size_t i = 0; i < view.group.inputs.size(); ++i) registers.emplace_back(view.group.inputs[i], i);
    for (const OprId id : view.group.oprs) {
        const Opr& opr = view.graph.opr(id);
        std::vector<std::size_t> in;
        for (const VarId var : opr.inputs)
            in.push_back(std::ranges::find(registers, var, &std::pair<VarId, std::size_t>::first)->second);
        registers.emplace_back(opr.outputs.front(), program.add(static_cast<ElemwiseMode>(opr.param().integer("mode")), in));
    }
    program.finish();
    return program;
}

} // namespace

std::optional<CpuKernelChoice> build_elemwise(const CpuContext& context, const CpuGroupView& view) {
    if (view.outputs.size() != 1 || view.outputs[0].dtype.id != DTypeId::float32) return std::nullopt;
    if (view.inputs.size() > max_elemwise_inputs) return std::nullopt;
    for (const OprId id : view.group.oprs)
        if (!elemwise_program_supports(view.graph.opr(id))) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype.id != DTypeId::float32 || input.layout.ndim() > Shape::max_ndim) return std::nullopt;

    const Shape& out = view.outputs[0].shape;
    CpuKernelChoice choice;
    const Layout layout = result_layout(view);
    choice.output_layouts = {layout};
    std::vector<StridedOperand> operands;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
        const CpuValueInfo& input = view.inputs[i];
        if (!broadcast(input.shape, out) || *broadcast(input.shape, out) != out) return std::nullopt;
        // Small operands are read where they are; large ones in the result's order.
        const bool large = input.shape.ndim() == out.ndim() && (input.constant || input.layout.is_blocked() || input.shape.elements() * 4 > out.elements());
        const Layout wanted = large ? layout : input.layout.is_blocked() ? Layout::plain(input.shape.ndim()) : input.layout;
        choice.input_layouts.push_back(wanted);
        operands.push_back({input.shape, wanted});
        if (choice.in_place_input < 0 && input.dies && input.shape == out && wanted.same_bytes(layout, out)) choice.in_place_input = static_cast<int>(i);
    }
    auto kernel = std::make_unique<ElemwiseKernel>(context.threads, program_of(view), StridedLoop(out, layout, operands));
    choice.scratch_bytes = kernel->scratch_per_thread() * static_cast<std::size_t>(context.threads.count());
    choice.kernel = std::move(kernel);
    choice.name = view.group.oprs.size() > 1 ? "one pass over " + std::to_string(view.group.oprs.size()) + " operators" : "vector loop";
    return choice;
}

} // namespace megascope
