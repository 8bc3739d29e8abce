#include "optimize/build.h"
#include "optimize/fused_modes.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {

std::size_t expand_fused_arith(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const OprId now = rewriter.auto_replace(id);
        const std::optional<ElemwiseMode> mode = graph.mode(id);
        if (!mode) continue;
        const std::vector<VarId> in = graph.opr(now).inputs;
        VarId out;
        if (*mode == ElemwiseMode::fuse_mul_add3) {
            out = plus(graph, times(graph, in[0], in[1]), in[2]);
        } else if (*mode == ElemwiseMode::fuse_mul_add4) {
            const VarId a = times(graph, in[0], in[1]);
            out = plus(graph, a, times(graph, in[2], in[3]));
        } else if (const auto outer = unfused_add_mode(*mode)) {
            out = graph.elemwise(*outer, {plus(graph, in[0], in[1])});
        }
        if (out.valid()) rewriter.replace(graph.output(id), out);
    }
    return rewriter.apply();
}

} // namespace megascope
