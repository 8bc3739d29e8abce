#pragma once

#include <vector>

#include "base/cancel.h"
#include "layout/layered_graph.h"

namespace megascope {

/// x of the middle of every vertex, from the order of the layers: no overlaps, trunks vertical, the main path straight.
///
/// After Brandes and Köpf: four assignments (aligned with the neighbours above or below, packed to the left or to the right)
/// are averaged. Two changes. Segments of the main chains and of trunks are aligned before all others and in all four
/// assignments, so that the longest way through the graph runs straight. And every block is packed by longest paths over the
/// graph of blocks, which also covers boxes of any width and ports away from a box' middle.
[[nodiscard]] std::vector<double> assign_coordinates(const LayeredGraph& graph, const CancelToken& cancel);

} // namespace megascope
