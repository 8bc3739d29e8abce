#include "optimize/recursive_rewrite.h"

namespace megascope {

std::size_t RecursiveRewrite::run() {
    for (const OprId id : graph_.order()) visit(id);
    return rewriter_.apply();
}

void RecursiveRewrite::visit(OprId id) {
    const auto meet = [&](OprId opr) { return met(opr, rewriter_.auto_replace(opr)); };
    if (!meet(id)) return;
    const VarId out = graph_.single_output(id);
    if (!out.valid()) return;
    struct Frame {
        VarId original;
        OprId opr;
    };
    std::vector<Frame> stack{{out, graph_.owner(rewriter_.get(out))}};
    bool first = true;
    while (!stack.empty()) {
        const Frame frame = stack.back();
        stack.pop_back();
        const bool should_process = first || meet(frame.opr);
        first = false;
        const VarId current = rewriter_.get(graph_.single_output(frame.opr));
        if (should_process) {
            if (std::optional<Replacement> found = process(current)) {
                stack.push_back({frame.original, graph_.owner(found->result)});
                for (auto it = found->inner.rbegin(); it != found->inner.rend(); ++it)
                    if (it->valid()) stack.push_back({*it, graph_.owner(*it)});
                continue;
            }
        }
        if (rewriter_.get(frame.original) != current) {
            rewriter_.replace(frame.original, current);
            replaced(frame.original, current);
        }
    }
}

} // namespace megascope
