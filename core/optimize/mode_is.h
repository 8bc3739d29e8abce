#pragma once

#include "optimize/workspace.h"

namespace megascope {

/// Is the operator an Elemwise of this mode? As `graph.mode(id) == mode`, where GCC compares the value that may not be there before
/// it looks whether it is there: no harm, but an alarm of every memory checker.
[[nodiscard]] inline bool mode_is(const Workspace& graph, OprId id, ElemwiseMode mode) {
    return graph.is(id, "Elemwise") && graph.opr(id).param().integer("mode") == static_cast<std::int64_t>(mode);
}
[[nodiscard]] inline bool mode_is(const Workspace& graph, VarId id, ElemwiseMode mode) { return mode_is(graph, graph.owner(id), mode); }

} // namespace megascope
