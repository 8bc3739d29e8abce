#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// The name of a graph input: its tensor's, as files store it, else its display name.
[[nodiscard]] std::string input_name(const Graph& graph, OprId input);

/// New names for inputs and outputs, in order; empty texts keep the old name, an empty list keeps all. Renaming an input renames
/// its operator, var and tensor; renaming an output renames its var.
/// Errors: invalid_argument: another number of names than there are inputs or outputs, two inputs or two outputs of one name.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> with_names(const std::shared_ptr<const Graph>& graph, std::span<const std::string> arg_names,
                                                                std::span<const std::string> output_names);

} // namespace megascope
