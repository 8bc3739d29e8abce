#pragma once

#include <span>
#include <vector>

#include "exec/cpu/fusion.h"

namespace megascope {

/// What is known about every var when the graph's inputs have these shapes (no axes = unknown): inference along `order`, and
/// with `fold` also the values of operators that depend on constants alone. Vars whose operators do not fit their inputs stay
/// unknown; running them says why. `constants` may lie at any address, and so may the values of facts.
[[nodiscard]] std::vector<VarFacts> plan_facts(const Graph& graph, std::span<const OprId> order,
                                               std::span<const Tensor> constants, std::span<const Shape> input_shapes, bool fold);

} // namespace megascope
