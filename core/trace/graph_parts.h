#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

// Graph inputs and constants, as graphs made from traces have them.

/// Appends a Host2DeviceCopy named `name`. An empty comp node means "xpux:0"; without a shape any shape may come.
Expected<VarId> add_input(GraphBuilder& builder, DType dtype, std::optional<Shape> shape, const CompNode& comp_node, const std::string& name);

/// Appends an ImmutableTensor that shares the value's bytes, named `name`; an empty name becomes MegEngine's default one, "const<0.5>[24]"
/// or "const{1,8,1,1}[245]", with this id.
Expected<VarId> add_constant(GraphBuilder& builder, const Tensor& value, const std::string& name, const CompNode& comp_node = {},
                             std::size_t id = 0);

/// "arg_3": a name with a number behind it.
[[nodiscard]] std::string numbered(std::string name, std::size_t number);

} // namespace megascope
