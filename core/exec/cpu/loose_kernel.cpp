#include "exec/cpu/loose_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/cpu/builders.h"
#include "exec/cpu/epilogue.h"

namespace megascope {

OprGroup single_group(const Graph& graph, OprId id, std::span<const CpuValueInfo> inputs, std::span<const CpuValueInfo> outputs) {
    const Opr& opr = graph.opr(id);
    // The facts of this operator's own vars, for the same decisions as in a whole graph.
    std::vector<VarFacts> facts(graph.vars().size());
    for (std::size_t i = 0; i < opr.inputs.size(); ++i)
        facts[opr.inputs[i].index()] = {inputs[i].dtype, inputs[i].shape, inputs[i].constant};
    for (std::size_t i = 0; i < opr.outputs.size(); ++i)
        facts[opr.outputs[i].index()] = {outputs[i].dtype, outputs[i].shape, std::nullopt};
    const std::array<OprId, 1> order = {id};
    return std::move(group_operators(graph, order, facts, false).front());
}

Expected<std::unique_ptr<LooseKernel>> LooseKernel::build(const CpuContext& context, const Graph& graph, OprId id,
                                                          std::span<const CpuValueInfo> inputs,
                                                          std::span<const CpuValueInfo> outputs) {
    const Opr& opr = graph.opr(id);
    OprGroup group = single_group(graph, id, inputs, outputs);
    std::vector<CpuValueInfo> group_inputs;
    for (const VarId var : group.inputs)
        group_inputs.push_back(inputs[static_cast<std::size_t>(std::ranges::find(opr.inputs, var) - opr.inputs.begin())]);
    std::optional<CpuKernelChoice> choice = build_fast(context, {graph, group, group_inputs, outputs});
    bool same_inputs = true;
    if (choice && (choice->accumulates || group.inputs != opr.inputs)) same_inputs = false;
    if (!choice || !same_inputs) {
        group.inputs.assign(opr.inputs.begin(), opr.inputs.end());
        group.epilogue.clear();
        group.has_head = false;
        choice = build_reference(context, {graph, group, inputs, outputs});
    }
    if (!choice)
        return fail_in(ErrorCode::unsupported, "There is no kernel for " + graph.type_text(id) + ".", graph.display_name(id));
    return std::unique_ptr<LooseKernel>(new LooseKernel(context, {outputs.begin(), outputs.end()}, *std::move(choice)));
}

Expected<std::vector<Tensor>> LooseKernel::run(std::span<const Tensor> inputs) {
    std::vector<std::shared_ptr<std::byte>> moved(inputs.size());
    std::vector<const std::byte*> in(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool unused = i < choice_.input_unused.size() && choice_.input_unused[i];
        in[i] = inputs[i].storage().get();
        if (unused || choice_.input_layouts[i].is_plain(inputs[i].shape())) continue;
        MGS_ASSIGN(moved[i], to_layout(context_, inputs[i], choice_.input_layouts[i]));
        in[i] = moved[i].get();
    }
    std::vector<std::shared_ptr<std::byte>> buffers;
    std::vector<std::byte*> out;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        buffers.push_back(allocate_aligned(choice_.output_layouts[i].bytes(outputs_[i].dtype, outputs_[i].shape)));
        out.push_back(buffers.back().get());
    }
    const std::shared_ptr<std::byte> scratch = allocate_aligned(choice_.scratch_bytes);
    MGS_TRY(choice_.kernel->run(in, out, scratch.get()));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (choice_.output_layouts[i].is_plain(outputs_[i].shape)) {
            results.emplace_back(outputs_[i].dtype, outputs_[i].shape, buffers[i]);
            continue;
        }
        MGS_ASSIGN(Tensor plain, to_plain(context_, outputs_[i].dtype, outputs_[i].shape, choice_.output_layouts[i], out[i]));
        results.push_back(std::move(plain));
    }
    return results;
}

namespace {

Expected<std::shared_ptr<std::byte>> moved(const CpuContext& context, const DType& dtype, const Shape& shape, const Layout& from,
                                           const Layout& to, const std::byte* bytes) {
    std::shared_ptr<std::byte> result = allocate_aligned(to.bytes(dtype, shape));
    std::byte* out = result.get();
    if (from.same_bytes(to, shape)) {
        std::memcpy(out, bytes, to.bytes(dtype, shape));
        return result;
    }
    const std::optional<CpuKernelChoice> move = build_move(context, dtype, shape, from, to);
    if (!move)
        return fail(ErrorCode::unsupported,
                    "A value of " + dtype.text() + " cannot be moved to the layout that its reader needs.");
    const std::shared_ptr<std::byte> scratch = allocate_aligned(move->scratch_bytes);
    const std::array<const std::byte*, 1> in = {bytes};
    MGS_TRY(move->kernel->run(in, std::span(&out, 1), scratch.get()));
    return result;
}

} // namespace

Expected<std::shared_ptr<std::byte>> to_layout(const CpuContext& context, const Tensor& value, const Layout& layout) {
    return moved(context, value.dtype(), value.shape(), Layout::plain(value.shape().ndim()), layout, value.storage().get());
}

Expected<Tensor> to_plain(const CpuContext& context, const DType& dtype, const Shape& shape, const Layout& layout,
                          const std::byte* bytes) {
    MGS_ASSIGN(const std::shared_ptr<std::byte> plain, moved(context, dtype, shape, layout, Layout::plain(shape.ndim()), bytes));
    return Tensor(dtype, shape, plain);
}

} // namespace megascope
