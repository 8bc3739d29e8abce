#include "opr/size_probe.h"

#include <algorithm>

namespace megascope {

std::optional<InferProblem> which_fixes(const Graph& graph, std::span<const VarDesc> inputs, std::size_t input, std::size_t axis) {
    if (input >= graph.inputs().size()) return std::nullopt;
    const GraphInfo usual = infer_graph(graph, inputs);
    const Opr& opr = graph.opr(graph.inputs()[input]);
    if (opr.outputs.empty()) return std::nullopt;
    const VarDesc& known = usual.var(opr.outputs[0]);
    if (!known.shape || axis >= known.shape->ndim()) return std::nullopt;

    std::vector<VarDesc> changed(inputs.begin(), inputs.end());
    changed.resize(graph.inputs().size());
    changed[input].value.reset();
    const std::int64_t size = (*known.shape)[axis];
    std::optional<InferProblem> first;
    for (const std::int64_t other : {2 * size, 3 * size, size + 32, size / 2}) {
        if (other < 1 || other == size) continue;
        changed[input].shape = known.shape;
        (*changed[input].shape)[axis] = other;
        const GraphInfo info = infer_graph(graph, changed);
        // What does not fit anyway is not this axis's doing.
        const auto refusal = std::ranges::find_if(info.problems, [&](const InferProblem& problem) {
            return std::ranges::find(usual.problems, problem.opr, &InferProblem::opr) == usual.problems.end();
        });
        if (refusal == info.problems.end()) return std::nullopt;
        if (!first) first = *refusal;
    }
    return first;
}

} // namespace megascope
