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

/// Appends an ImmutableTensor that shares the value's bytes, named `name`.
Expected<VarId> add_constant(GraphBuilder& builder, const Tensor& value, const std::string& name, const CompNode& comp_node = {});

/// "arg_3": a name with a number behind it.
[[nodiscard]] std::string numbered(std::string name, std::size_t number);

/// A constant's default name: "const<0.5>[24]" for one element, "const{1,8,1,1}[245]" otherwise.
[[nodiscard]] std::string default_const_name(const Tensor& value, std::size_t id);

} // namespace megascope
