#include "exec/conditional.h"

#include <algorithm>

#include "tensor/element.h"

namespace megascope {

bool has_branches(const Graph& graph) {
    return std::ranges::any_of(graph.oprs(), [](const Opr& opr) { return opr.type.starts_with("CondExec"); });
}

bool stays_out(const Graph& graph, const Opr& opr, std::span<const Tensor> values) {
    if (opr.type == "CondExecMerge") return false;
    const auto value = [&](VarId var) -> const Tensor& { return values[var.index()]; };
    if (std::ranges::any_of(opr.inputs, [&](VarId var) { return !value(var).has_value(); })) return true;
    const auto refused = [&](VarId predicate) { return value(predicate).elements() == 1 && stored_at(value(predicate).ref(), 0) == 0; };
    if (opr.type == "CondExecMark") return refused(opr.inputs.back());
    // Its first input may be any var; only a predicate makes it a mark.
    if (opr.type == "CondExecMarkIfNeed")
        return graph.producer(opr.inputs.front()).type.starts_with("CondExecPred") && refused(opr.inputs.front());
    return false;
}

} // namespace megascope
