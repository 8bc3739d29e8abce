#pragma once

#include <memory>
#include <span>

#include "opr/infer.h"

namespace megascope {

/// The part of a graph that computes `outputs` from `inputs`, as a graph of its own. Each input var becomes a graph input
/// (Host2DeviceCopy) of its name, with what `info` knows of its dtype and shape; constants and graph inputs that the part needs
/// besides come along. Operators keep their order, names and params; outputs keep their names.
/// Errors: invalid_argument, when no output is asked for, when an output is also an input, or when an input's dtype is not known.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> extract_subgraph(const Graph& graph, const GraphInfo& info, std::span<const VarId> inputs,
                                                                      std::span<const VarId> outputs);

} // namespace megascope
