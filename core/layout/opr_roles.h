#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace megascope {

/// What an operator is to a drawing.
enum class OprRole : std::uint8_t {
    compute,
    input,    ///< Host2DeviceCopy and the like: fed from outside
    constant, ///< carries a value of the file and reads nothing
    shape,    ///< computes a shape (GetVarShape and what follows from it and constants alone) and nothing else reads it as data
};

/// One role per operator. A constant or shape value that is an output of the graph counts as compute: it must stay visible.
/// Linear; any thread.
[[nodiscard]] std::vector<OprRole> opr_roles(const Graph& graph);

/// Per operator: does it compute, and is it made of constants and shapes alone (anchors, grids, masks)? `roles` are the graph's.
/// Linear; any thread.
[[nodiscard]] std::vector<std::uint8_t> made_of_constants(const Graph& graph, const std::vector<OprRole>& roles);

} // namespace megascope
