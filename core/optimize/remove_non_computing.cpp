#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

/// Split of a constant number: each output is that number in the output's shape.
bool split_constant(Workspace& graph, Rewriter& rewriter, OprId id) {
    if (!graph.is(id, "Split")) return false;
    const VarId source = graph.opr(id).inputs[0];
    const std::optional<double> number = graph.immutable_scalar(source);
    if (!number) return false;
    const std::vector<VarId> outputs = graph.opr(id).outputs;
    for (const VarId out : outputs)
        if (!graph.shape(out)) return false;
    for (const VarId out : outputs)
        rewriter.replace(out, broadcast_to(graph, graph.scalar(*number, graph.dtype(out), out), shape_of(graph, out)));
    return true;
}

} // namespace

std::size_t remove_non_computing(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const std::string& type = graph.opr(id).type;
        if (type == "MarkNoBroadcastElemwise" || type == "SetGrad" || type == "Identity")
            rewriter.replace(graph.output(id), rewriter.get(graph.opr(id).inputs[0]));
        else if (!split_constant(graph, rewriter, id))
            rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

std::size_t remove_shape_hint(Workspace& graph) {
    Rewriter rewriter(graph);
    rewriter.unchecked(false, true);
    for (const OprId id : graph.order()) {
        if (graph.is(id, "ShapeHint"))
            rewriter.replace(graph.output(id), rewriter.get(graph.opr(id).inputs[0]));
        else
            rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

} // namespace megascope
