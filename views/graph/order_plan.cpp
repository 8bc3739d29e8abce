#include "views/graph/order_plan.h"

#include <algorithm>
#include <queue>

namespace megascope {

Expected<std::shared_ptr<const OrderPlan>> make_order_plan(const GraphFacts& facts, const CancelToken& cancel) {
    const Graph& graph = *facts.graph;
    auto plan = std::make_shared<OrderPlan>();
    for (const Opr& opr : graph.oprs())
        if (facts.steps[opr.id.index()] && !facts.is_constant(opr.id)) plan->rows.push_back(opr.id);
    std::sort(plan->rows.begin(), plan->rows.end(), [&](OprId a, OprId b) { return *facts.steps[a.index()] < *facts.steps[b.index()]; });
    plan->row_of.assign(graph.oprs().size(), -1);
    for (std::size_t i = 0; i < plan->rows.size(); ++i) plan->row_of[plan->rows[i].index()] = static_cast<std::int32_t>(i);
    if (cancel.cancelled()) return CancelToken::error();

    std::vector<std::uint8_t> kept(graph.vars().size(), 0); // outputs
    for (const GraphOutput& output : graph.outputs()) kept[output.var.index()] = 1;
    std::vector<OrderPlan::Life> lives;
    for (const OprId id : plan->rows)
        for (const VarId var : graph.opr(id).outputs) {
            OrderPlan::Life life;
            life.var = var;
            life.first = life.last = static_cast<std::uint32_t>(plan->row_of[id.index()]);
            for (const OprId reader : graph.consumers(var))
                if (const std::int32_t row = plan->row_of[reader.index()]; row >= 0) life.last = std::max(life.last, static_cast<std::uint32_t>(row));
            if (kept[var.index()]) life.last = static_cast<std::uint32_t>(plan->rows.size() - 1);
            life.bytes = facts.var_bytes(var).value_or(0);
            lives.push_back(life);
        }
    if (cancel.cancelled()) return CancelToken::error();

    // Lanes as registers are given out: the leftmost that is free. `lives` ascend by first row.
    using Busy = std::pair<std::uint32_t, std::uint32_t>; // last row, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    std::vector<double> change(plan->rows.size() + 1, 0);
    for (const OrderPlan::Life& life : lives) {
        while (!busy.empty() && busy.top().first < life.first) {
            free.push(busy.top().second);
            busy.pop();
        }
        std::uint32_t lane = static_cast<std::uint32_t>(plan->lanes.size());
        if (free.empty()) {
            plan->lanes.emplace_back();
        } else {
            lane = free.top();
            free.pop();
        }
        plan->lanes[lane].push_back(life);
        busy.emplace(life.last, lane);
        change[life.first] += life.bytes;
        change[life.last + 1] -= life.bytes;
    }
    double live = 0;
    plan->live.reserve(plan->rows.size());
    for (std::uint32_t i = 0; i < plan->rows.size(); ++i) {
        live += change[i];
        plan->live.push_back(live);
        if (live > plan->peak) {
            plan->peak = live;
            plan->peak_row = i;
        }
    }
    return plan;
}

} // namespace megascope
