#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace megascope {

// Walks over a graph. All of them rely on operators being in topological order, take time linear in the part they visit plus one
// flag per operator, and return operators in ascending order unless they say otherwise. Ids must belong to the graph.

/// The operators that `vars` depend on, their producers included.
[[nodiscard]] std::vector<OprId> upstream(const Graph& graph, std::span<const VarId> vars);
/// The operators that depend on `vars`, directly or not; the producers are not included.
[[nodiscard]] std::vector<OprId> downstream(const Graph& graph, std::span<const VarId> vars);
/// The same for all outputs of an operator; the operator itself is not included.
[[nodiscard]] std::vector<OprId> upstream(const Graph& graph, OprId opr);
[[nodiscard]] std::vector<OprId> downstream(const Graph& graph, OprId opr);

/// A shortest way along the data from one operator to another, both included, in that order. Empty when there is none.
[[nodiscard]] std::vector<OprId> path(const Graph& graph, OprId from, OprId to);
/// All operators on any way from one operator to another, both included. Empty when there is no way.
[[nodiscard]] std::vector<OprId> between(const Graph& graph, OprId from, OprId to);

/// For every operator the nearest one that all ways from `roots` to it pass through. Invalid: it cannot be reached from the
/// roots, or no single operator is passed by all ways. Ways that begin elsewhere (constants, params) do not count.
[[nodiscard]] std::vector<OprId> immediate_dominators(const Graph& graph, std::span<const OprId> roots);
/// The counterpart: the nearest operator that all ways from it to the producers of the graph's outputs pass through.
[[nodiscard]] std::vector<OprId> immediate_postdominators(const Graph& graph);

} // namespace megascope
