#pragma once

#include <vector>

#include "layout/flat_problem.h"
#include "layout/layered_graph.h"
#include "layout/ranking.h"

namespace megascope {

/// Turns ranks and x coordinates into rectangles and curves.
///
/// Every rank is a horizontal band as tall as its tallest box; between bands nothing but lines lies. A line runs vertically
/// inside a band, where its dummy keeps a lane free for it, and bends only between bands: so it cannot touch a foreign box.
[[nodiscard]] FlatResult route_edges(const FlatProblem& problem, const Ranking& ranking, const LayeredGraph& graph,
                                     const std::vector<double>& x, const LayoutOptions& options);

} // namespace megascope
