#include "opr/subgraph.h"

#include <algorithm>

#include "graph/rewriter.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

namespace megascope {

namespace {

/// A graph input that stands for `var`.
Expected<Opr> make_input(const Graph& graph, const GraphInfo& info, VarId var) {
    const VarDesc& desc = info.var(var);
    const std::string name = graph.display_name(var);
    if (!desc.dtype) return fail_in(ErrorCode::invalid_argument, "Its dtype is not known, so that it cannot become a graph input.", name);
    const OprDef* def = Catalogue::builtin().find_type("Host2DeviceCopy");
    Opr opr;
    opr.kind = def->kind;
    opr.type = def->type;
    opr.registered_type = def->v2_name;
    opr.type_id = def->v2.id;
    opr.version = def->v2.version;
    opr.name = name;
    opr.has_name = true;
    opr.params.emplace_back(*ParamRegistry::builtin().find(def->params[0]));
    StoredTensor layout;
    layout.name = name;
    layout.has_name = true;
    layout.dtype = desc.dtype;
    layout.shape = desc.shape;
    layout.comp_node = graph.var(var).comp_node.value_or(CompNode{"xpux:0"});
    opr.tensors.push_back(std::move(layout));
    return opr;
}

} // namespace

Expected<std::shared_ptr<const Graph>> extract_subgraph(const Graph& graph, const GraphInfo& info, std::span<const VarId> inputs,
                                                        std::span<const VarId> outputs) {
    if (outputs.empty()) return fail(ErrorCode::invalid_argument, "A part of a graph needs at least one output.");
    GraphRewriter rewriter(graph);
    for (VarId var : inputs) {
        if (rewriter.translated(var).valid()) continue; // named twice
        MGS_ASSIGN(Opr opr, make_input(graph, info, var));
        MGS_ASSIGN(const OprId id, rewriter.add(std::move(opr), 1, true));
        const VarId fresh = rewriter.opr(id).outputs[0];
        rewriter.var(fresh).name = graph.display_name(var);
        rewriter.var(fresh).has_name = true;
        rewriter.translate(var, fresh);
    }
    // What the outputs need, not going beyond the inputs.
    std::vector<bool> needed(graph.oprs().size(), false);
    const auto need = [&](VarId var) {
        if (!rewriter.translated(var).valid()) needed[graph.var(var).producer.index()] = true;
    };
    for (VarId var : outputs) {
        if (std::ranges::find(inputs, var) != inputs.end())
            return fail_in(ErrorCode::invalid_argument, "It is both an input and an output of the part.", graph.display_name(var));
        need(var);
    }
    for (std::size_t i = needed.size(); i-- > 0;)
        if (needed[i]) std::ranges::for_each(graph.oprs()[i].inputs, need);

    for (const Opr& opr : graph.oprs()) {
        if (!needed[opr.id.index()]) continue;
        // An operator may have further outputs that are inputs of the part: those stay inputs.
        std::vector<std::pair<VarId, VarId>> kept;
        for (VarId out : opr.outputs)
            if (rewriter.translated(out).valid()) kept.emplace_back(out, rewriter.translated(out));
        MGS_TRY(rewriter.copy(opr.id));
        for (const auto& [old, fresh] : kept) rewriter.translate(old, fresh);
    }
    std::vector<GraphOutput> ends;
    for (VarId var : outputs) {
        GraphOutput end{var, var.value(), {}};
        for (const GraphOutput& output : graph.outputs())
            if (output.var == var) end = output;
        ends.push_back(std::move(end));
    }
    return rewriter.finish(ends);
}

} // namespace megascope
