#pragma once

#include <functional>
#include <vector>

#include "optimize/workspace.h"

namespace megascope {

/// Walks the tree of operators above `end`, inputs left to right: `inside` says which operators belong to it; `leaf` gets every
/// var that does not come from one (as often as it is read), `left` every operator after its inputs. Either may be empty.
inline void walk_tree(const Workspace& graph, VarId end, const std::function<bool(OprId)>& inside, const std::function<void(VarId)>& leaf,
                      const std::function<void(OprId)>& left = {}) {
    struct Frame {
        OprId opr; ///< invalid for the root
        std::vector<VarId> vars;
        std::size_t next = 0;
    };
    std::vector<Frame> stack{{{}, {end}}};
    while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next == top.vars.size()) {
            if (top.opr.valid() && left) left(top.opr);
            stack.pop_back();
            continue;
        }
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
