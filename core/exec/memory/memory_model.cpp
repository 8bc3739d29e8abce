#include "exec/memory/memory_model.h"

#include <algorithm>

#include "exec/conditional.h"
#include "exec/constants.h"
#include "exec/forward.h"
#include "exec/order.h"
#include "opr/catalogue.h"
#include "opr/cost.h"

namespace megascope {
namespace {

/// Random operators draw, AddUpdate writes: they run once.
bool repeatable(const Opr& opr) {
    const OprDef* def = Catalogue::builtin().of(opr);
    if (!def || def->category == OprCategory::random || opr.type == "AddUpdate" || opr.type == "Dropout") return false;
    return opr.params.empty() || !opr.params.front().type().find("seed");
}

bool is_given(const Opr& opr) { return opr.type == "Host2DeviceCopy" || holds_constants(opr); }

void add_once(std::vector<std::uint32_t>& list, std::uint32_t value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

std::size_t bytes_of(const VarDesc& desc) { return desc.known() ? tensor_bytes(*desc.dtype, *desc.shape) : 0; }

/// The same operators: always the ready one after which least memory is held; of equal ones the first.
std::vector<OprId> greedy_order(const Graph& graph, const GraphInfo& info, const std::vector<OprId>& oprs) {
    std::vector<std::uint32_t> missing(graph.oprs().size()), readers(graph.vars().size());
    std::vector<bool> wanted(graph.oprs().size()), kept(graph.vars().size());
    for (const GraphOutput& output : graph.outputs()) kept[output.var.index()] = true;
    for (const OprId id : oprs) wanted[id.index()] = true;
    for (const OprId id : oprs)
        for (const VarId var : graph.opr(id).outputs)
            for (const OprId reader : graph.consumers(var))
                if (wanted[reader.index()]) ++readers[var.index()], ++missing[reader.index()];
    const auto unique_inputs = [&](const Opr& opr) {
        std::vector<VarId> inputs = opr.inputs;
        std::ranges::sort(inputs);
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        return inputs;
    };
    const auto change = [&](const Opr& opr) {
        std::int64_t bytes = 0;
        for (const VarId var : opr.outputs) bytes += static_cast<std::int64_t>(bytes_of(info.var(var)));
        for (const VarId var : unique_inputs(opr))
            if (readers[var.index()] == 1 && !kept[var.index()] && !is_given(graph.producer(var)))
                bytes -= static_cast<std::int64_t>(bytes_of(info.var(var)));
        return bytes;
    };
    std::vector<OprId> ready, order;
    for (const OprId id : oprs)
        if (missing[id.index()] == 0) ready.push_back(id);
    while (!ready.empty()) {
        std::size_t best = 0;
        std::int64_t lowest = 0;
        for (std::size_t i = 0; i < ready.size(); ++i) {
            const Opr& opr = graph.opr(ready[i]);
            // Inputs and constants are there anyway.
            const std::int64_t bytes = is_given(opr) ? INT64_MIN : change(opr);
            if (i == 0 || bytes < lowest || (bytes == lowest && ready[i] < ready[best])) best = i, lowest = bytes;
        }
        const OprId next = ready[best];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
        order.push_back(next);
        for (const VarId var : unique_inputs(graph.opr(next))) --readers[var.index()];
        for (const VarId var : graph.opr(next).outputs)
            for (const OprId reader : graph.consumers(var))
                if (wanted[reader.index()] && --missing[reader.index()] == 0) ready.push_back(reader);
    }
    return order;
}

} // namespace

Expected<MemoryModel> model_memory(const Graph& graph, std::span<const std::optional<Shape>> input_shapes, MemoryOrder kind) {
    if (has_branches(graph))
        return fail(ErrorCode::unsupported, "Memory cannot be planned ahead for a graph with branches that may not run.");
    std::vector<VarDesc> inputs(graph.inputs().size());
    for (std::size_t i = 0; i < inputs.size() && i < input_shapes.size(); ++i) inputs[i].shape = input_shapes[i];
    const GraphInfo info = infer_graph(graph, inputs);

    MemoryModel model;
    model.piece_of.assign(graph.vars().size(), MemoryModel::none);
    std::vector<OprId> order = execution_order(graph);
    if (kind == MemoryOrder::file) std::ranges::sort(order);
    if (kind == MemoryOrder::greedy) order = greedy_order(graph, info, order);
    for (const OprId id : order) {
        const Opr& opr = graph.opr(id);
        for (const InferProblem& problem : info.problems)
            if (problem.opr == id) return forward(problem.error);
        for (const VarId var : opr.outputs)
            if (!info.var(var).known())
                return fail_in(ErrorCode::unsupported, "The shape of its output depends on values, so memory cannot be planned ahead.",
                               graph.display_name(id));
        if (is_given(opr)) {
            for (const VarId var : opr.outputs) model.fixed_bytes += tensor_bytes(*info.var(var).dtype, *info.var(var).shape);
            continue;
        }
        const auto position = static_cast<std::uint32_t>(model.order.size());
        MemoryModel::Step step;
        step.opr = id;
        const Cost cost = opr_cost(graph, info, id);
        step.flops = cost.flops.value_or(0);
        for (const VarId var : opr.inputs) {
            step.traffic += static_cast<double>(tensor_bytes(*info.var(var).dtype, *info.var(var).shape));
            const std::uint32_t piece = model.piece_of[var.index()];
            if (piece == MemoryModel::none) continue;
            add_once(step.inputs, piece);
            std::vector<std::uint32_t>& uses = model.pieces[piece].uses;
            if (uses.empty() || uses.back() != position) uses.push_back(position);
        }
        // The bytes stay where they are when the operator only gives them another shape.
        bool shares = false;
        if (forwards_first_input(opr)) {
            const VarDesc &from = info.var(opr.inputs[0]), &to = info.var(opr.outputs[0]);
            const Tensor shape_only(*from.dtype, *from.shape, nullptr);
            shares = forward_tensor(shape_only, *to.dtype, *to.shape).has_value();
        }
        if (shares) {
            const std::uint32_t piece = model.piece_of[opr.inputs[0].index()];
            model.piece_of[opr.outputs[0].index()] = piece; // `none` when it views an input or a constant
            if (piece != MemoryModel::none) {
                model.pieces[piece].vars.push_back(opr.outputs[0]);
                add_once(step.outputs, piece);
            }
        } else {
            for (const VarId var : opr.outputs) {
                MemoryModel::Piece piece;
                piece.bytes = tensor_bytes(*info.var(var).dtype, *info.var(var).shape);
                piece.vars = {var};
                piece.made = position;
                piece.repeatable = repeatable(opr);
                model.piece_of[var.index()] = static_cast<std::uint32_t>(model.pieces.size());
                step.outputs.push_back(static_cast<std::uint32_t>(model.pieces.size()));
                step.fresh_bytes += piece.bytes;
                step.traffic += static_cast<double>(piece.bytes);
                model.pieces.push_back(std::move(piece));
            }
        }
        model.order.push_back(std::move(step));
    }
    for (const GraphOutput& output : graph.outputs())
        if (const std::uint32_t piece = model.piece_of[output.var.index()]; piece != MemoryModel::none) model.pieces[piece].output = true;
    return model;
}

} // namespace megascope
