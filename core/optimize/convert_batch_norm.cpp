#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {

std::size_t convert_batch_norm(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const Opr& bn = graph.opr(id);
        if (bn.type != "BatchNorm" || bn.inputs.size() != 5) {
            rewriter.auto_replace(id);
            continue;
        }
        if (bn.param().enum_name("fwd_mode") != "INFERENCE")
            rewrite_failed("A BatchNorm that is not in inference mode cannot be optimized; maybe the model was not set to evaluation.",
                           graph.display_name(id));
        const VarId x = rewriter.get(bn.inputs[0]);
        const VarId scale = rewriter.get(bn.inputs[1]);
        const VarId bias = rewriter.get(bn.inputs[2]);
        const VarId mean = rewriter.get(bn.inputs[3]);
        const VarId variance = rewriter.get(bn.inputs[4]);
        const auto epsilon = static_cast<float>(bn.param().real("epsilon"));
        const VarId root = pow_c(graph, plus(graph, variance, graph.scalar(epsilon, graph.dtype(variance), variance)), -0.5F);
        const VarId centered = times(graph, scale, minus(graph, x, mean));
        const VarId result = plus(graph, times(graph, centered, root), bias);
        if (graph.dtype(x) != graph.dtype(result))
            rewrite_failed("The input of the batch normalisation is " + graph.dtype(x).text() + ", its params are " +
                               graph.dtype(result).text() + ".",
                           graph.display_name(id));
        rewriter.replace(graph.opr(id).outputs.back(), result);
    }
    return rewriter.apply();
}

} // namespace megascope
