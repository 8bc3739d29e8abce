#include "exec/order.h"

#include <queue>
#include <tuple>

namespace megascope {
namespace {

std::vector<bool> needed_operators(const Graph& graph, std::span<const VarId> keep) {
    std::vector<bool> needed(graph.oprs().size(), graph.outputs().empty());
    for (const GraphOutput& output : graph.outputs()) needed[graph.var(output.var).producer.index()] = true;
    for (const VarId var : keep)
        if (var.index() < graph.vars().size()) needed[graph.var(var).producer.index()] = true;
    // File order is a topological order, so one sweep from the end reaches every dependency.
    for (std::size_t i = graph.oprs().size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (const VarId input : graph.oprs()[i].inputs) needed[graph.var(input).producer.index()] = true;
    }
    return needed;
}

struct Ready {
    std::int32_t priority;
    std::size_t since; ///< position in the order at which the last input became ready
    OprId opr;

    /// std::priority_queue gives the greatest: the one to run first.
    friend bool operator<(const Ready& a, const Ready& b) {
        return std::tuple(-static_cast<std::int64_t>(a.priority), a.since, a.opr) <
               std::tuple(-static_cast<std::int64_t>(b.priority), b.since, b.opr);
    }
};

} // namespace

std::vector<OprId> execution_order(const Graph& graph, std::span<const VarId> keep) {
    const std::vector<bool> needed = needed_operators(graph, keep);
    std::vector<std::uint32_t> missing(graph.oprs().size());
    std::priority_queue<Ready> ready;
    for (const Opr& opr : graph.oprs()) {
        if (!needed[opr.id.index()]) continue;
        // `consumers` lists a reader once, so a var that is read twice counts once, too.
        for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
            bool seen = false;
            for (std::size_t j = 0; j < i; ++j) seen = seen || opr.inputs[j] == opr.inputs[i];
            if (!seen) ++missing[opr.id.index()];
        }
        if (missing[opr.id.index()] == 0) ready.push({opr.priority, 0, opr.id});
    }
    std::vector<OprId> order;
    while (!ready.empty()) {
        const OprId next = ready.top().opr;
        ready.pop();
        order.push_back(next);
        for (const VarId output : graph.opr(next).outputs)
            for (const OprId reader : graph.consumers(output))
                if (needed[reader.index()] && --missing[reader.index()] == 0)
                    ready.push({graph.opr(reader).priority, order.size(), reader});
    }
    return order;
}

} // namespace megascope
