#pragma once

#include <memory>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// The graph as MegEngine builds it at graph_opt_level ≥ 1: every operator is made anew by the rules of its `make` function, so
/// that simple arithmetic is simplified (x / x, log(exp(x)), x + 0 …), equal operators become one and small constant results
/// become constants. Outputs keep their order and names; graph inputs that nothing needs any more are dropped.
/// Any thread. Errors: invalid_argument, when the inputs of an operator do not fit.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> rebuild_graph(std::shared_ptr<const Graph> graph);

} // namespace megascope
