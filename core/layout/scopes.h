#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "layout/operator_names.h"
#include "layout/opr_roles.h"

namespace megascope {

/// The module path of every operator ("backbone.layer1.0"), empty where names say nothing.
///
/// MegEngine names a var after the module that computed it plus the operator's type ("layer1.0.conv1.Convolution[2]"), names
/// params after their place in the module tree ("layer1.0.conv1.weight"), and gives results of functions and of the graph
/// optimizer names without a module ("ADD(layer1.0.x,y)[48]"). So an operator's own names come first, then the params it
/// reads, and what is left takes what its producers and readers have in common. In a training graph the gradients and updates stand
/// apart, arranged like the modules they belong to ("backward.layer1.0.conv1", "update.layer1.0.conv1").
[[nodiscard]] std::vector<std::string> operator_scopes(const Graph& graph, const std::vector<OprRole>& roles);

} // namespace megascope
