#pragma once

#include <string>

#include "graph/graph.h"
#include "layout/graph_scene.h"
#include "opr/infer.h"

namespace megascope {

// The whole graph as text for other programs. Every operator and every connection is in it, whatever the drawing shows.

/// Graphviz' DOT: one node per operator ("type\nname"), one edge per input, clusters for the groups of `structure`.
[[nodiscard]] std::string graph_as_dot(const GraphStructure& structure);

/// {"operators": [{"id", "type", "name", "inputs": [var ids], "outputs": [var ids], "group"}], "vars": [{"id", "name", "shape",
/// "dtype"}], "inputs": [operator ids], "outputs": [var ids], "groups": [{"id", "parent", "title", "path"}]}.
/// Missing names are "", unknown shapes and dtypes null, no group null. What the file does not say about a var, `info` may; null:
/// only what the file says.
[[nodiscard]] std::string graph_as_json(const GraphStructure& structure, const GraphInfo* info = nullptr);

} // namespace megascope
