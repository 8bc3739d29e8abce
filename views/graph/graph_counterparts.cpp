#include "views/graph/graph_counterparts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "layout/group_tree.h"

namespace megascope {

namespace {

/// By GroupId: all operators in it and below.
std::vector<std::size_t> sizes(const GroupTree& tree) {
    std::vector<std::size_t> all(tree.groups().size());
    for (auto g = tree.groups().rbegin(); g != tree.groups().rend(); ++g) {
        all[g->id.index()] += g->oprs.size();
        if (g->parent.valid()) all[g->parent.index()] += all[g->id.index()];
    }
    return all;
}

} // namespace

GraphCounterparts::GraphCounterparts(std::vector<OprId> other_of, std::shared_ptr<const GraphStructure> here, std::shared_ptr<const GraphStructure> there)
    : other_of_(std::move(other_of)), here_(std::move(here)), there_(std::move(there)) {
    const GroupTree &tree = *here_->groups, &other = *there_->groups;
    here_of_group_.resize(other.groups().size());
    std::map<std::string, GroupId> named;
    for (const Group& g : tree.groups())
        if (g.origin == Group::Origin::name) named.emplace(g.path, g.id);
    for (const Group& g : other.groups())
        if (const auto it = named.find(g.path); g.origin == Group::Origin::name && it != named.end()) here_of_group_[g.id.index()] = it->second;
    // Of groups without a name those that have most operators in common: more than half of all that one of the two holds.
    std::map<std::pair<GroupId, GroupId>, std::size_t> common;
    for (std::size_t i = 0; i < other_of_.size(); ++i) {
        if (!other_of_[i].valid()) continue;
        for (GroupId g = other.of(other_of_[i]); g.valid(); g = other.group(g).parent) {
            if (other.group(g).origin == Group::Origin::name) continue;
            for (GroupId mine = tree.of(OprId(i)); mine.valid(); mine = tree.group(mine).parent)
                if (tree.group(mine).origin == Group::Origin::structure) ++common[{g, mine}];
        }
    }
    const std::vector<std::size_t> size_here = sizes(tree), size_there = sizes(other);
    std::vector<double> best(other.groups().size(), 0.5);
    for (const auto& [pair, count] : common) {
        const auto& [g, mine] = pair;
        const double part = static_cast<double>(count) / static_cast<double>(size_there[g.index()] + size_here[mine.index()] - count);
        if (part <= best[g.index()]) continue;
        best[g.index()] = part;
        here_of_group_[g.index()] = mine;
    }
}

VarId GraphCounterparts::of(VarId var) const {
    if (!var.valid()) return {};
    const OprId producer = here_->graph->var(var).producer, other = of(producer);
    if (!other.valid()) return {};
    const auto &mine = here_->graph->opr(producer).outputs, &theirs = there_->graph->opr(other).outputs;
    const auto at = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), var) - mine.begin());
    return at < theirs.size() ? theirs[at] : VarId();
}

std::vector<OprId> GraphCounterparts::of(const std::vector<OprId>& oprs) const {
    std::vector<OprId> others;
    for (const OprId opr : oprs)
        if (const OprId other = of(opr); other.valid()) others.push_back(other);
    std::sort(others.begin(), others.end());
    return others;
}

std::vector<std::uint8_t> GraphCounterparts::expanded(const std::vector<std::uint8_t>& here, std::vector<std::uint8_t> there) const {
    there.resize(here_of_group_.size(), 0);
    for (std::size_t i = 0; i < there.size(); ++i)
        if (const GroupId g = here_of_group_[i]; g.valid()) there[i] = g.index() < here.size() ? here[g.index()] : 0;
    return there;
}

std::vector<std::uint8_t> GraphCounterparts::only(const std::vector<std::uint8_t>& here) const {
    if (here.empty()) return {};
    const Graph& graph = *there_->graph;
    std::vector<std::uint8_t> matched(graph.oprs().size(), 0), alone(graph.oprs().size(), 1);
    bool any = false;
    for (std::size_t i = 0; i < other_of_.size(); ++i) {
        if (!other_of_[i].valid()) continue;
        alone[other_of_[i].index()] = 0;
        matched[other_of_[i].index()] = here[i];
        any |= here[i] != 0;
    }
    if (!any) return {};
    std::vector<std::uint8_t> drawn = matched;
    const auto read_by = [&](const Opr& opr, const std::vector<std::uint8_t>& set) {
        return std::any_of(opr.outputs.begin(), opr.outputs.end(), [&](VarId out) {
            const auto readers = graph.consumers(out);
            return std::any_of(readers.begin(), readers.end(), [&](OprId reader) { return set[reader.index()] != 0; });
        });
    };
    const auto reads = [&](const Opr& opr) {
        return std::any_of(opr.inputs.begin(), opr.inputs.end(), [&](VarId in) { return matched[graph.var(in).producer.index()] != 0; });
    };
    for (const Opr& opr : graph.oprs())
        if (alone[opr.id.index()] && !opr.inputs.empty() && (reads(opr) || read_by(opr, matched))) drawn[opr.id.index()] = 1;
    // Weights go where their readers are.
    for (const Opr& opr : graph.oprs())
        if (alone[opr.id.index()] && opr.inputs.empty() && read_by(opr, drawn)) drawn[opr.id.index()] = 1;
    return drawn;
}

} // namespace megascope
