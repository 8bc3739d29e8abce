#pragma once

#include <span>

#include "graph/graph.h"
#include "tensor/tensor.h"

namespace megascope {

// Conditional execution: CondExecPred decides, CondExecMark makes vars belong to a branch, CondExecMerge joins the branches.
// While a graph runs, a var of a branch that does not run has no value.

/// Does the graph have branches that may not run?
[[nodiscard]] bool has_branches(const Graph& graph);

/// Does this operator stay out because its branch does not run? True when an input has no value (CondExecMerge takes those), and
/// for a mark whose predicate is 0. `values` holds the values at hand by VarId.
[[nodiscard]] bool stays_out(const Graph& graph, const Opr& opr, std::span<const Tensor> values);

} // namespace megascope
