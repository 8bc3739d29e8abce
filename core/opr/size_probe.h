#pragma once

#include <optional>
#include <span>

#include "opr/infer.h"

namespace megascope {

/// Which operator ties an axis of a graph input to the size that it has: the graph is inferred with other sizes on that axis, and
/// the operator that refuses is named, with its sentence. Nothing when one of the tried sizes fits everywhere (twice, three times
/// and half the size, 32 more), or when the shape of the input is not known.
/// `inputs` as for `infer_graph`; `input` is a position in `graph.inputs()`. Costs up to five inferences.
[[nodiscard]] std::optional<InferProblem> which_fixes(const Graph& graph, std::span<const VarDesc> inputs, std::size_t input, std::size_t axis);

} // namespace megascope
