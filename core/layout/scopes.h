#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "layout/opr_roles.h"

namespace megascope {

/// The module path of every operator ("backbone.layer1.0"), empty where names say nothing.
///
/// MegEngine names a var after the module that computed it plus the operator's type ("layer1.0.conv1.Convolution[2]"), names
/// params after their place in the module tree ("layer1.0.conv1.weight"), and gives results of functions and of the graph
/// optimizer names without a module ("ADD(layer1.0.x,y)[48]"). So an operator's own names come first, then the params it
/// reads, and what is left takes what its producers and readers have in common.
[[nodiscard]] std::vector<std::string> operator_scopes(const Graph& graph, const std::vector<OprRole>& roles);

/// The module part of one name: "a.b.Convolution[2]" → "a.b", "a.b.weight" → "a.b"; empty for names that are expressions.
[[nodiscard]] std::string_view scope_of_name(std::string_view name);
/// Longest common path: "a.b.c" and "a.b.d" → "a.b".
[[nodiscard]] std::string_view common_scope(std::string_view a, std::string_view b);

} // namespace megascope
