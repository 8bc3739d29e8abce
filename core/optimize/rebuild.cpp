#include "optimize/rebuild.h"

#include <algorithm>
#include <vector>

#include "optimize/workspace.h"

namespace megascope {

Expected<std::shared_ptr<const Graph>> rebuild_graph(std::shared_ptr<const Graph> graph) {
    try {
        Workspace workspace(*graph);
        std::vector<VarId> stands(workspace.var_count());
        const std::vector<OprId> order = workspace.order();
        for (const OprId id : order) {
            const std::vector<VarId> outputs = workspace.opr(id).outputs;
            std::vector<VarId> inputs = workspace.opr(id).inputs;
            if (inputs.empty()) {
                for (const VarId var : outputs) stands[var.index()] = var;
                continue;
            }
            for (VarId& in : inputs) in = stands[in.index()];
            const OprId made = workspace.copy(id, inputs);
            const std::vector<VarId> fresh = workspace.opr(made).outputs;
            if (outputs.size() > 1 || fresh.size() == 1) {
                for (std::size_t i = 0; i < outputs.size(); ++i) stands[outputs[i].index()] = fresh[i];
            } else {
                // Simplified away: one of its inputs stands for it, which is any output of its operator.
                const auto kept = std::ranges::find_if(inputs, [&](VarId in) { return workspace.owner(in) == made; });
                stands[outputs[0].index()] = kept == inputs.end() ? fresh[0] : *kept;
            }
        }
        for (std::size_t i = 0; i < workspace.endpoints().size(); ++i) {
            const VarId old = workspace.endpoints()[i];
            const VarId now = stands[old.index()];
            if (now == old) continue;
            workspace.set_endpoint(i, now);
            if (workspace.has_given_name(old)) workspace.set_name(now, workspace.name(old));
        }
        return workspace.finish();
    } catch (const RewriteFailure& failure) {
        return forward(failure.error);
    }
}

} // namespace megascope
