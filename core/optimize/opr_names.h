#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace megascope {

/// What MegEngine calls an operator that nobody named, without the part that depends on the graph: "conv", "FUSE_ADD_RELU",
/// "powc_-0.5", "const<0>", "const{2,3}".
[[nodiscard]] std::string default_base_name(const Opr& opr);

/// How many of the inputs, from the first, show in the default name.
[[nodiscard]] std::size_t naming_inputs(const Opr& opr);

/// "<base>(<inputs>)[<id>]": of each input's name the outermost bracket part is left out, and once the text has 64 characters the
/// rest of the inputs is "...".
[[nodiscard]] std::string default_name(std::string base, std::span<const std::string_view> inputs, std::size_t id);

/// Does the name have the default form, so that it was probably not given?
[[nodiscard]] bool looks_default(std::string_view name);

/// Outputs that MegEngine's operator has beside the counted ones (workspaces and the like): they take ids of the graph's count.
[[nodiscard]] std::size_t hidden_outputs(const Opr& opr);

/// What the default name of an output adds to its operator's: ":o<k>", or nothing for the only output.
[[nodiscard]] std::string default_output_label(const Opr& opr, std::size_t index);

/// Is the operator's first counted output preceded by hidden ones? Their number (BatchNorm in inference mode: 2).
[[nodiscard]] std::size_t leading_hidden_outputs(const Opr& opr);

} // namespace megascope
