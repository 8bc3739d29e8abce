#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// Which container a graph is prepared for: v1 needs more operators replaced (Softmax, LayerNorm, Dropout, CheckNonFinite).
enum class CompatTarget : std::uint8_t { v1, v2 };

/// Replaces operators that older readers do not know, as `trace.dump` does unless `no_change_graph` is given. Outputs keep their
/// names. `first_id`: where the ids that generated names show go on (`OptimizeReport::next_id` after an optimization).
/// Any thread.
/// Errors: unsupported, where MegEngine's converters fail as well (SQUARE of integers, group or instance norm with affine
/// inputs); `no_change_graph` is the way out.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> to_compatible(std::shared_ptr<const Graph> graph,
                                                                   CompatTarget target = CompatTarget::v2, std::uint32_t first_id = 0);

} // namespace megascope
