#include "exec/memory/plan_curve.h"

namespace megascope {

Expected<MemoryPlanResult> plan_recomputation(const Graph& graph, std::span<const std::optional<Shape>> input_shapes, const RecomputeConfig& config,
                                              const CancelToken& cancel) {
    if (config.method == RecomputeConfig::Method::sublinear) return plan_sublinear(graph, input_shapes, config.sublinear, cancel);
    return plan_dtr(graph, input_shapes, config.dtr, cancel);
}

Expected<BudgetCurve> plan_budget_curve(const Graph& graph, std::span<const std::optional<Shape>> input_shapes, RecomputeConfig config,
                                        const CancelToken& cancel, const Progress& progress) {
    constexpr std::size_t parts = 10;
    MGS_ASSIGN(const MemoryPlanResult plain, plan_without_recomputation(graph, input_shapes));
    BudgetCurve curve{plain.peak, plain.plain_steps, plain.plain_flops, {}};
    for (std::size_t i = 1; i <= parts; ++i) {
        progress.report("planning memory", i - 1, parts);
        std::size_t budget = std::max<std::size_t>(1, plain.peak * i / parts);
        if (config.method == RecomputeConfig::Method::sublinear) {
            config.sublinear.lb_memory_mb = static_cast<int>(budget >> 20);
            budget = static_cast<std::size_t>(config.sublinear.lb_memory_mb) << 20;
        } else {
            config.dtr.eviction_threshold = budget;
        }
        if (!curve.points.empty() && curve.points.back().budget == budget) continue;
        MGS_ASSIGN(const MemoryPlanResult plan, plan_recomputation(graph, input_shapes, config, cancel));
        curve.points.push_back({budget, plan.peak, plan.extra_steps, plan.extra_flops});
    }
    return curve;
}

} // namespace megascope
