#include "exec/cpu/fusion.h"

#include <algorithm>
#include <limits>

#include "exec/cpu/epilogue.h"
#include "exec/cpu/vector/elemwise_program.h"
#include "exec/reference/conv_layout.h"
#include "exec/reference/elemwise_mode.h"

namespace megascope {
namespace {

/// The position of `var` in the group's inputs; adds it.
std::size_t input_of(OprGroup& group, VarId var) {
    const auto found = std::ranges::find(group.inputs, var);
    if (found != group.inputs.end()) return static_cast<std::size_t>(found - group.inputs.begin());
    group.inputs.push_back(var);
    return group.inputs.size() - 1;
}

class Grouper {
public:
    Grouper(const Graph& graph, std::span<const OprId> order, std::span<const VarFacts> facts, bool fuse)
        : graph_(graph), order_(order), facts_(facts), fuse_(fuse), group_of_(graph.oprs().size(), no_group),
          output_(graph.vars().size()) {
        for (const GraphOutput& output : graph.outputs()) output_[output.var.index()] = true;
    }

    std::vector<OprGroup> run();

private:
    static constexpr std::size_t no_group = SIZE_MAX;

    OprGroup head_group(const Opr& head);
    bool absorb(OprGroup& group, const Opr& next, VarId current, const std::vector<std::size_t>& channels);
    void group_elemwise();
    OprGroup elemwise_group(const std::vector<OprId>& oprs) const;

    const Graph& graph_;
    std::span<const OprId> order_;
    std::span<const VarFacts> facts_;
    bool fuse_;
    std::vector<std::size_t> group_of_; ///< by OprId
    std::vector<bool> output_;          ///< by VarId: a graph output
    std::vector<OprGroup> groups_;
};

/// Adds what `next` does to `current` to the group's epilogue. False, with nothing changed, when it cannot be part of it.
bool Grouper::absorb(OprGroup& group, const Opr& next, VarId current, const std::vector<std::size_t>& channels) {
    const VarFacts& result = facts_[current.index()];
    const VarFacts& after = facts_[next.outputs.front().index()];
    if (!after.known() || *after.shape != *result.shape || *after.dtype != *result.dtype) return false;
    std::optional<std::vector<EpilogueStep>> steps =
        epilogue_of_elemwise(next, current, [&](VarId var) -> std::optional<EpilogueOperand> {
            const VarFacts& facts = facts_[var.index()];
            if (!facts.known() || facts.dtype->id != DTypeId::float32) return std::nullopt;
            const std::optional<Reach> reach = operand_reach(*facts.shape, *result.shape, channels);
            if (!reach) return std::nullopt;
            return EpilogueOperand{*reach, facts.constant};
        });
    if (!steps) return false;
    for (EpilogueStep& step : *steps)
        if (step.kind != EpilogueStep::Kind::activation) step.operand = input_of(group, next.inputs[step.operand]);
    group.epilogue.insert(group.epilogue.end(), steps->begin(), steps->end());
    group.oprs.push_back(next.id);
    return true;
}

OprGroup Grouper::head_group(const Opr& head) {
    OprGroup group;
    group.oprs = {head.id};
    group.has_head = true;
    const VarFacts& result = facts_[head.outputs.front().index()];
    const std::vector<std::size_t> channels = *channel_axes(head, facts_);
    group.inputs = {head.inputs[0]};
    group.inputs.push_back(head.inputs[1]); // also when both are the same var: heads read inputs 0 and 1
    if (!own_epilogue(head, *result.shape, channels, facts_, group)) {
        // A part of the operator itself does not fit: the builder gets the operator as it is and will refuse it.
        group.has_head = false;
        group.epilogue.clear();
        group.inputs.assign(head.inputs.begin(), head.inputs.end());
        return group;
    }
    VarId current = head.outputs.front();
    while (fuse_ && !output_[current.index()] && graph_.consumers(current).size() == 1) {
        const Opr& next = graph_.opr(graph_.consumers(current).front());
        if (next.type != "Elemwise" || group_of_[next.id.index()] != no_group) break;
        // Whoever comes first in the execution order would be waited for otherwise; the other branch must be a plain input.
        if (!absorb(group, next, current, channels)) break;
        group_of_[next.id.index()] = groups_.size();
        current = next.outputs.front();
    }
    return group;
}

OprGroup Grouper::elemwise_group(const std::vector<OprId>& oprs) const {
    OprGroup group;
    group.oprs = oprs;
    for (const OprId id : oprs)
        for (const VarId var : graph_.opr(id).inputs)
            if (std::ranges::find(oprs, graph_.var(var).producer) == oprs.end()) input_of(group, var);
    return group;
}

/// Trees and diamonds of Elemwise: from the end, an operator joins the group that all its readers are in.
void Grouper::group_elemwise() {
    std::vector<std::vector<OprId>> members;
    std::vector<std::size_t> member_of(graph_.oprs().size(), no_group);
    const auto suits = [&](const Opr& opr) {
        if (group_of_[opr.id.index()] != no_group || !elemwise_program_supports(opr)) return false;
        const VarFacts& out = facts_[opr.outputs.front().index()];
        if (!out.known() || out.dtype->id != DTypeId::float32) return false;
        return std::ranges::all_of(opr.inputs, [&](VarId var) {
            const VarFacts& in = facts_[var.index()];
            return in.known() && in.dtype->id == DTypeId::float32;
        });
    };
    for (std::size_t i = order_.size(); i-- > 0;) {
        const Opr& opr = graph_.opr(order_[i]);
        if (!suits(opr)) continue;
        const VarId out = opr.outputs.front();
        std::size_t joined = no_group;
        if (fuse_ && !output_[out.index()] && !graph_.consumers(out).empty()) {
            for (const OprId reader : graph_.consumers(out)) {
                const std::size_t there = member_of[reader.index()];
                if (there == no_group || (joined != no_group && joined != there)) {
                    joined = no_group;
                    break;
                }
                joined = there;
            }
            if (joined != no_group) {
                const Opr& last = graph_.opr(members[joined].front());
                const bool same_shape = *facts_[out.index()].shape == *facts_[last.outputs.front().index()].shape;
                if (!same_shape || members[joined].size() >= max_elemwise_program) joined = no_group;
            }
        }
        if (joined == no_group) {
            joined = members.size();
            members.emplace_back();
        }
        members[joined].push_back(opr.id);
        member_of[opr.id.index()] = joined;
    }
    for (std::vector<OprId>& oprs : members) {
        std::ranges::reverse(oprs);
        for (const OprId id : oprs) group_of_[id.index()] = groups_.size();
        groups_.push_back(elemwise_group(oprs));
    }
}

std::vector<OprGroup> Grouper::run() {
    // Heads from the end, so that of two branches that meet in an addition the one that is computed last takes it.
    for (std::size_t i = order_.size(); i-- > 0;) {
        const Opr& opr = graph_.opr(order_[i]);
        if (opr.outputs.size() != 1 || opr.inputs.size() < 2) continue;
        const VarFacts& result = facts_[opr.outputs.front().index()];
        if (!result.known() || result.dtype->id != DTypeId::float32 || !channel_axes(opr, facts_)) continue;
        if (facts_[opr.inputs[0].index()].dtype != DType(DTypeId::float32)) continue;
        group_of_[opr.id.index()] = groups_.size();
        groups_.push_back(head_group(opr));
    }
    group_elemwise();
    for (const OprId id : order_) {
        if (group_of_[id.index()] != no_group) continue;
        group_of_[id.index()] = groups_.size();
        OprGroup single;
        single.oprs = {id};
        single.inputs.assign(graph_.opr(id).inputs.begin(), graph_.opr(id).inputs.end());
        groups_.push_back(std::move(single));
    }
    // A group stands where its last operator stood.
    std::vector<OprGroup> sorted;
    sorted.reserve(groups_.size());
    for (const OprId id : order_)
        if (OprGroup& group = groups_[group_of_[id.index()]]; group.oprs.back() == id) sorted.push_back(std::move(group));
    return sorted;
}

} // namespace

std::vector<OprGroup> group_operators(const Graph& graph, std::span<const OprId> order, std::span<const VarFacts> facts,
                                      bool fuse) {
    return Grouper(graph, order, facts, fuse).run();
}

std::optional<std::vector<std::size_t>> channel_axes(const Opr& opr, std::span<const VarFacts> facts) {
    const std::size_t ndim = facts[opr.outputs.front().index()].shape->ndim();
    if (opr.type == "MatrixMul" || opr.type == "BatchedMatrixMul") {
        if (opr.param().enum_name("format") != "DEFAULT" || ndim < 2) return std::nullopt;
        return std::vector<std::size_t>{ndim - 1};
    }
    const bool backward = opr.type == "ConvolutionBackwardData";
    if (opr.type != "Convolution" && opr.type != "ConvBiasForward" && !backward) return std::nullopt;
    const VarFacts& image = facts[opr.inputs[backward ? 1 : 0].index()];
    const VarFacts& filter = facts[opr.inputs[backward ? 0 : 1].index()];
    if (!image.known() || !filter.known()) return std::nullopt;
    const Expected<ConvLayout> layout = conv_layout(static_cast<ConvFormat>(opr.param().integer("format")),
                                                    opr.param().enum_name("sparse") == "GROUP", *image.shape, *filter.shape);
    if (!layout) return std::nullopt;
    const std::string_view result = backward ? layout->src : layout->dst;
    if (result.size() != ndim) return std::nullopt;
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < result.size(); ++i)
        if (result[i] == 'C' || result[i] == 'c') axes.push_back(i);
    return axes;
}

} // namespace megascope
