#pragma once

#include <functional>
#include <vector>

#include "optimize/workspace.h"

namespace megascope {

/// Counts the steps of a walk up a chain of operators. An operator that reads the same var twice doubles the walk, so 64 of them
/// would never end: the rewriting is given up when a walk grows out of all measure.
class ChainSteps {
public:
    ChainSteps(const Workspace& graph, VarId end) : graph_(graph), end_(end) {}
    /// Throws RewriteFailure when there were too many.
    void next() {
        if (++steps_ > most_steps) rewrite_failed("The chain of operators that ends here has too many terms.", graph_.display_name(graph_.owner(end_)));
    }

private:
    static constexpr std::size_t most_steps = 1 << 18;
    const Workspace& graph_;
    VarId end_;
    std::size_t steps_ = 0;
};

/// Walks the tree of operators above `end`, inputs left to right: `inside` says which operators belong to it; `leaf` gets every
/// var that does not come from one (as often as it is read), `left` every operator after its inputs. Either may be empty.
/// Throws RewriteFailure when the tree has too many vars.
inline void walk_tree(const Workspace& graph, VarId end, const std::function<bool(OprId)>& inside, const std::function<void(VarId)>& leaf,
                      const std::function<void(OprId)>& left = {}) {
    struct Frame {
        OprId opr; ///< invalid for the root
        std::vector<VarId> vars;
        std::size_t next = 0;
    };
    ChainSteps steps(graph, end);
    std::vector<Frame> stack{{{}, {end}}};
    while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next == top.vars.size()) {
            if (top.opr.valid() && left) left(top.opr);
            stack.pop_back();
            continue;
        }
        steps.next();
        const VarId var = top.vars[top.next++];
        const OprId owner = graph.owner(var);
        if (inside(owner))
            stack.push_back({owner, graph.opr(owner).inputs});
        else if (leaf)
            leaf(var);
    }
}

[[nodiscard]] inline std::vector<VarId> tree_leaves(const Workspace& graph, VarId end, const std::function<bool(OprId)>& inside) {
    std::vector<VarId> leaves;
    walk_tree(graph, end, inside, [&](VarId var) { leaves.push_back(var); });
    return leaves;
}

} // namespace megascope
