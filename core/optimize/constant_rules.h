#pragma once

#include <optional>

#include "optimize/workspace.h"

namespace megascope {

/// An expression that computes the same with the constants brought together, and the part of it that may be looked at again.
struct RuleResult {
    VarId result;
    VarId inner; ///< may be invalid
};

/// f(g(a, b), c) → f'(a, g'(b, c)): Elemwise of one mode (ADD, MUL, MAX, MIN), conv(x·k, w), matmul(x·k, w), conv(x, w)·k,
/// matmul(x, w)·k. `f` reads `g` as its second input when `swap_f` is set; b and a are swapped when `swap_g` is.
/// Nothing when no rule fits the operators and the shapes.
std::optional<RuleResult> reassociate(Workspace& graph, OprId f, bool swap_f, bool swap_g);

/// f(a + b, c) → f(a, c) + f(b, c) for Convolution without padding and MatrixMul.
std::optional<RuleResult> distribute_over_add(Workspace& graph, OprId f, bool swap_g);

} // namespace megascope
