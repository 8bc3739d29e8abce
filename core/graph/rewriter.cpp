#include "graph/rewriter.h"

#include <algorithm>

#include "graph/traversal.h"

namespace megascope {

GraphRewriter::GraphRewriter(const Graph& source) : source_(source), vars_(source.vars().size()), is_input_(source.oprs().size(), false) {
    builder_.reserve(source.oprs().size());
    for (OprId input : source.inputs()) is_input_[input.index()] = true;
}

Expected<OprId> GraphRewriter::copy(OprId old) {
    const Opr& original = source_.opr(old);
    Opr opr = original;
    for (VarId& in : opr.inputs) {
        const VarId fresh = translated(in);
        if (!fresh.valid())
            return fail_in(ErrorCode::invalid_argument, "Its input " + source_.display_name(in) + " is not in the new graph.", source_.display_name(old));
        in = fresh;
    }
    MGS_ASSIGN(const OprId id, builder_.add(std::move(opr), original.outputs.size(), is_input_[old.index()]));
    for (std::size_t i = 0; i < original.outputs.size(); ++i) {
        const Var& from = source_.var(original.outputs[i]);
        Var& to = builder_.var(builder_.opr(id).outputs[i]);
        to.name = from.name;
        to.has_name = from.has_name;
        to.shape = from.shape;
        to.dtype = from.dtype;
        to.comp_node = from.comp_node;
        to.format = from.format;
        translate(from.id, to.id);
    }
    return id;
}

Expected<OprId> GraphRewriter::add(Opr opr, std::size_t output_count, bool is_input) {
    return builder_.add(std::move(opr), output_count, is_input);
}

Expected<std::shared_ptr<const Graph>> GraphRewriter::finish() { return finish(source_.outputs()); }

Expected<std::shared_ptr<const Graph>> GraphRewriter::finish(std::span<const GraphOutput> outputs) {
    for (GraphOutput output : outputs) {
        const VarId fresh = translated(output.var);
        if (!fresh.valid())
            return fail_in(ErrorCode::invalid_argument, "An output of the graph is not in the new graph.", source_.display_name(output.var));
        output.var = fresh;
        MGS_TRY(builder_.add_output(std::move(output)));
    }
    return builder_.finish();
}

Expected<DerivedGraph> replace_vars(const Graph& graph, const std::unordered_map<VarId, VarId>& replacements) {
    const auto read_as = [&](VarId var) {
        const auto it = replacements.find(var);
        return it == replacements.end() ? var : it->second;
    };
    // Depth-first over what outputs need, since a replacement may stand later in the old order than its reader.
    enum class State : std::uint8_t { untouched, open, done };
    std::vector<State> states(graph.oprs().size(), State::untouched);
    std::vector<OprId> order;
    struct Frame {
        OprId opr;
        std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto visit = [&](OprId root) -> Expected<void> {
        if (states[root.index()] == State::done) return {};
        stack.push_back({root});
        states[root.index()] = State::open;
        while (!stack.empty()) {
            Frame& frame = stack.back();
            const Opr& opr = graph.opr(frame.opr);
            if (frame.next == opr.inputs.size()) {
                states[frame.opr.index()] = State::done;
                order.push_back(frame.opr);
                stack.pop_back();
                continue;
            }
            const OprId producer = graph.var(read_as(opr.inputs[frame.next++])).producer;
            if (states[producer.index()] == State::open)
                return fail_in(ErrorCode::invalid_argument, "It would depend on itself through a replacement.", graph.display_name(producer));
            if (states[producer.index()] == State::untouched) {
                states[producer.index()] = State::open;
                stack.push_back({producer});
            }
        }
        return {};
    };
    for (OprId input : graph.inputs()) MGS_TRY(visit(input));
    for (const GraphOutput& output : graph.outputs()) MGS_TRY(visit(graph.var(read_as(output.var)).producer));
    // Where the old order still works it is kept.
    const bool old_order_works = std::all_of(order.begin(), order.end(), [&](OprId id) {
        return std::all_of(graph.opr(id).inputs.begin(), graph.opr(id).inputs.end(), [&](VarId in) { return graph.var(read_as(in)).producer < id; });
    });
    if (old_order_works) std::sort(order.begin(), order.end());

    GraphRewriter rewriter(graph);
    DerivedGraph derived;
    derived.vars.resize(graph.vars().size());
    for (OprId id : order) {
        const Opr& original = graph.opr(id);
        // All readers of a var read the same, so its translation may be what it is replaced by.
        for (VarId in : original.inputs) rewriter.translate(in, derived.vars[read_as(in).index()]);
        MGS_ASSIGN(const OprId fresh, rewriter.copy(id));
        const Opr& opr = rewriter.opr(fresh);
        for (std::size_t i = 0; i < opr.outputs.size(); ++i) derived.vars[original.outputs[i].index()] = opr.outputs[i];
    }
    for (const GraphOutput& output : graph.outputs()) rewriter.translate(output.var, derived.vars[read_as(output.var).index()]);
    MGS_ASSIGN(derived.graph, rewriter.finish());
    return derived;
}

DerivedGraph without_unused(const Graph& graph) {
    std::vector<VarId> needed;
    for (const GraphOutput& output : graph.outputs()) needed.push_back(output.var);
    for (OprId input : graph.inputs()) needed.insert(needed.end(), graph.opr(input).outputs.begin(), graph.opr(input).outputs.end());
    GraphRewriter rewriter(graph);
    for (OprId id : upstream(graph, needed)) (void)rewriter.copy(id); // inputs are upstream as well, so they are translated
    DerivedGraph derived;
    derived.vars.resize(graph.vars().size());
    for (std::size_t i = 0; i < derived.vars.size(); ++i) derived.vars[i] = rewriter.translated(VarId(i));
    derived.graph = *rewriter.finish();
    return derived;
}

} // namespace megascope
