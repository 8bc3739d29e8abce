#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.h"
#include "exec/memory/plan.h"

namespace megascope {

/// Which way to compute again instead of keeping, with all its settings.
struct RecomputeConfig {
    enum class Method : std::uint8_t { sublinear, dtr };
    Method method = Method::dtr;
    SublinearMemoryConfig sublinear;
    DtrConfig dtr;
};

/// plan_sublinear or plan_dtr.
[[nodiscard]] Expected<MemoryPlanResult> plan_recomputation(const Graph& graph, std::span<const std::optional<Shape>> input_shapes,
                                                            const RecomputeConfig& config, const CancelToken& cancel = {});

/// What one budget leads to.
struct BudgetPoint {
    std::size_t budget = 0; ///< bytes: DTR's eviction_threshold, or sublinear memory's lb_memory_mb
    std::size_t peak = 0;   ///< bytes that the plan really needs; above the budget where it cannot be kept
    std::size_t extra_steps = 0;
    double extra_flops = 0;
};

struct BudgetCurve {
    std::size_t plain_peak = 0; ///< bytes, nothing computed again
    std::size_t plain_steps = 0;
    double plain_flops = 0;
    std::vector<BudgetPoint> points; ///< ascending by budget
};

/// The trade of memory against computation: a plan for each tenth of the plain peak, everything but the budget as in `config`.
/// Sublinear memory takes budgets in whole MiB; those that round to the same one are one point. Errors: those of the plans.
[[nodiscard]] Expected<BudgetCurve> plan_budget_curve(const Graph& graph, std::span<const std::optional<Shape>> input_shapes, RecomputeConfig config,
                                                      const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
