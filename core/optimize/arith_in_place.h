#pragma once

#include <span>

#include "optimize/workspace.h"

namespace megascope {

/// The simplification that MegEngine makes at graph_opt_level ≥ 1 when an Elemwise is built: a − a, a / a, a + 0, a · 1, a · 0,
/// exp(0), x⁰, x¹, log(exp(a)·b), log(1 + x), log(exp(x) + exp(y)), exp(x) − 1, floor_div(x, 1). Invalid: nothing to simplify.
/// The inputs have one dtype.
[[nodiscard]] VarId simplify_elemwise(Workspace& graph, ElemwiseMode mode, std::span<const VarId> inputs);

} // namespace megascope
