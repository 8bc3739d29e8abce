#include "optimize/elem_chain.h"

#include "optimize/mode_is.h"
#include "optimize/opr_tree.h"

namespace megascope {

std::size_t ElemChainPass::run() {
    for (const OprId id : graph_.order()) visit(id);
    return rewriter_.apply();
}

void ElemChainPass::visit(OprId id) {
    readers_.update(graph_, id, rewriter_.auto_replace(id));
    visited(id);
    const std::optional<ElemwiseMode> mode = graph_.mode(id);
    bool changed = false;
    const std::vector<VarId> inputs = graph_.opr(id).inputs;
    for (const VarId in : inputs) {
        if (rewriter_.replaced_by_hand(in)) {
            changed = true;
            continue;
        }
        const std::optional<ElemwiseMode> above = graph_.mode(in);
        // Chains are processed in order: when one is, all that it reads was.
        if (above && (!mode_is(graph_, id, *above) || !readers_(in)) && takes(*above)) {
            changed = true;
            process(in, *above);
        }
    }
    if (changed) readers_.update(graph_, id, rewriter_.auto_replace(id));
    if (!mode || !finished(id)) return;
    const VarId out = graph_.output(id);
    if (takes(*mode) && graph_.is_endpoint(out)) process(out, *mode);
}

std::vector<VarId> ElemChainPass::terms(VarId end, ElemwiseMode mode) const {
    const OprId last = graph_.owner(end);
    return tree_leaves(graph_, end, [&](OprId id) { return mode_is(graph_, id, mode) && (id == last || readers_(graph_.output(id))); });
}

} // namespace megascope
