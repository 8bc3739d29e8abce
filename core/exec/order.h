#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace megascope {

/// The operators that the graph's outputs and `keep` depend on (all of them when the graph has no outputs), in MegEngine's
/// execution order: of the operators that are ready, the smallest priority first, then the one whose inputs became ready
/// latest (so that chains run together), then the larger id.
[[nodiscard]] std::vector<OprId> execution_order(const Graph& graph, std::span<const VarId> keep = {});

} // namespace megascope
