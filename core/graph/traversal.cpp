#include "graph/traversal.h"

#include <algorithm>
#include <limits>

namespace megascope {

namespace {

using Flags = std::vector<bool>;

std::vector<OprId> listed(const Flags& flags) {
    std::vector<OprId> oprs;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i]) oprs.emplace_back(i);
    return oprs;
}

/// Marks what the marked operators depend on: producers stand before their consumers, so one pass backwards is enough.
void spread_up(const Graph& graph, Flags& flags) {
    for (std::size_t i = flags.size(); i-- > 0;)
        if (flags[i])
            for (VarId in : graph.oprs()[i].inputs) flags[graph.var(in).producer.index()] = true;
}

/// Marks what depends on the marked operators.
void spread_down(const Graph& graph, Flags& flags) {
    for (const Opr& opr : graph.oprs())
        if (!flags[opr.id.index()])
            for (VarId in : opr.inputs)
                if (flags[graph.var(in).producer.index()]) {
                    flags[opr.id.index()] = true;
                    break;
                }
}

Flags none(const Graph& graph) { return Flags(graph.oprs().size(), false); }

/// Dominator tree of a DAG whose nodes come in topological order. `nobody` stands for the virtual root.
class DominatorTree {
public:
    static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

    explicit DominatorTree(std::size_t nodes) : parent_(nodes, nobody), depth_(nodes, 0), reached_(nodes, false) {}

    [[nodiscard]] bool reached(std::uint32_t node) const { return reached_[node]; }
    [[nodiscard]] std::uint32_t parent(std::uint32_t node) const { return parent_[node]; }

    /// Where both nodes meet in the tree built so far.
    [[nodiscard]] std::uint32_t meet(std::uint32_t a, std::uint32_t b) const {
        while (a != b) {
            if (a == nobody || b == nobody) return nobody;
            if (depth_[a] >= depth_[b]) a = parent_[a];
            else b = parent_[b];
        }
        return a;
    }
    void place(std::uint32_t node, std::uint32_t parent) {
        reached_[node] = true;
        parent_[node] = parent;
        depth_[node] = parent == nobody ? 1 : depth_[parent] + 1;
    }
    [[nodiscard]] std::vector<OprId> ids() const {
        std::vector<OprId> ids(parent_.size());
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (reached_[i] && parent_[i] != nobody) ids[i] = OprId(parent_[i]);
        return ids;
    }

private:
    std::vector<std::uint32_t> parent_;
    std::vector<std::uint32_t> depth_;
    Flags reached_;
};

} // namespace

std::vector<OprId> upstream(const Graph& graph, std::span<const VarId> vars) {
    Flags flags = none(graph);
    for (VarId var : vars) flags[graph.var(var).producer.index()] = true;
    spread_up(graph, flags);
    return listed(flags);
}

std::vector<OprId> downstream(const Graph& graph, std::span<const VarId> vars) {
    Flags flags = none(graph);
    for (VarId var : vars)
        for (OprId consumer : graph.consumers(var)) flags[consumer.index()] = true;
    spread_down(graph, flags);
    return listed(flags);
}

std::vector<OprId> upstream(const Graph& graph, OprId opr) { return upstream(graph, graph.opr(opr).inputs); }
std::vector<OprId> downstream(const Graph& graph, OprId opr) { return downstream(graph, graph.opr(opr).outputs); }

std::vector<OprId> path(const Graph& graph, OprId from, OprId to) {
    if (to < from) return {};
    std::vector<OprId> before(graph.oprs().size()); // the operator through which it was reached first
    std::vector<OprId> queue{from};
    before[from.index()] = from;
    for (std::size_t next = 0; next < queue.size() && !before[to.index()].valid(); ++next)
        for (VarId out : graph.opr(queue[next]).outputs)
            for (OprId consumer : graph.consumers(out))
                if (!before[consumer.index()].valid()) {
                    before[consumer.index()] = queue[next];
                    queue.push_back(consumer);
                }
    if (!before[to.index()].valid()) return {};
    std::vector<OprId> way{to};
    while (way.back() != from) way.push_back(before[way.back().index()]);
    std::reverse(way.begin(), way.end());
    return way;
}

std::vector<OprId> between(const Graph& graph, OprId from, OprId to) {
    Flags after = none(graph), before = none(graph);
    after[from.index()] = true;
    spread_down(graph, after);
    if (!after[to.index()]) return {};
    before[to.index()] = true;
    spread_up(graph, before);
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = after[i] && before[i];
    return listed(after);
}

std::vector<OprId> immediate_dominators(const Graph& graph, std::span<const OprId> roots) {
    DominatorTree tree(graph.oprs().size());
    Flags is_root = none(graph);
    for (OprId root : roots) is_root[root.index()] = true;
    for (const Opr& opr : graph.oprs()) {
        const std::uint32_t node = opr.id.value();
        std::optional<std::uint32_t> parent;
        for (VarId in : opr.inputs) {
            const std::uint32_t producer = graph.var(in).producer.value();
            if (!tree.reached(producer)) continue;
            parent = parent ? tree.meet(*parent, producer) : producer;
        }
        if (is_root[node]) parent = DominatorTree::nobody; // a way begins here
        if (parent) tree.place(node, *parent);
    }
    return tree.ids();
}

std::vector<OprId> immediate_postdominators(const Graph& graph) {
    DominatorTree tree(graph.oprs().size());
    Flags is_end = none(graph);
    for (const GraphOutput& output : graph.outputs()) is_end[graph.var(output.var).producer.index()] = true;
    for (std::size_t i = graph.oprs().size(); i-- > 0;) {
        const Opr& opr = graph.oprs()[i];
        const std::uint32_t node = opr.id.value();
        std::optional<std::uint32_t> parent;
        for (VarId out : opr.outputs)
            for (OprId consumer : graph.consumers(out)) {
                if (!tree.reached(consumer.value())) continue;
                parent = parent ? tree.meet(*parent, consumer.value()) : consumer.value();
            }
        if (is_end[node]) parent = DominatorTree::nobody;
        if (parent) tree.place(node, *parent);
    }
    return tree.ids();
}

} // namespace megascope
