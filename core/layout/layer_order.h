#pragma once

#include <cstdint>

#include "base/cancel.h"
#include "layout/layered_graph.h"

namespace megascope {

/// Orders every layer so that few segments cross. Works piece by piece: a layer with a single vertex separates what is above
/// from what is below. Pieces of the same structure are solved once. Stops early, with a valid order, when cancelled.
void order_layers(LayeredGraph& graph, int effort, const CancelToken& cancel);

/// Crossings between the segments of layers `upper` and `upper + 1` in the current order.
[[nodiscard]] std::uint64_t count_crossings(const LayeredGraph& graph, std::size_t upper);

} // namespace megascope
