#pragma once

#include <optional>

#include "opr/infer.h"

namespace megascope {

/// What one execution of an operator costs, in the terms of MegEngine's opr_footprint.
struct Cost {
    /// Operations, multiply and add counted separately; nothing where MegEngine's profile says null.
    std::optional<double> computation;
    /// Megascope's own count, which covers more operators; nothing where no count makes sense.
    std::optional<double> flops;
    /// Bytes of all inputs whose device value is used plus all counted outputs.
    std::optional<double> memory;
};

struct CostContext {
    const Opr& opr;
    std::span<const VarDesc> inputs;
    std::span<const VarDesc> outputs; ///< counted outputs
};

/// Fills `computation` and `flops` when the shapes are known; `memory` is computed by `opr_cost` for all operators.
using CostFn = Cost (*)(const CostContext& context);

[[nodiscard]] Cost opr_cost(const Graph& graph, const GraphInfo& info, OprId opr);

} // namespace megascope
