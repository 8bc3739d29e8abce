#include "session/assertions.h"

#include <algorithm>

namespace megascope {

namespace {

bool is_assertion(const Opr& opr) { return opr.type == "AssertEqual" && opr.inputs.size() >= 2 && opr.outputs.size() == 1; }

/// A pass that changes layouts can leave an AssertEqual that compares an NCHW expectation with a packed value; the error is then
/// computed by operators of the dump, which undo the layout on the way.
bool in_other_layouts(const Graph& graph, VarId a, VarId b) {
    const auto& x = graph.var(a).shape;
    const auto& y = graph.var(b).shape;
    return x && y && !(*x == *y);
}

} // namespace

VarId asserted_var(const Graph& graph, VarId output) {
    while (is_assertion(graph.producer(output))) output = graph.producer(output).inputs[1];
    return output;
}

std::vector<Assertion> find_assertions(const Graph& graph) {
    std::vector<Assertion> found;
    for (const Opr& opr : graph.oprs()) {
        if (!is_assertion(opr)) continue;
        Assertion a;
        a.opr = opr.id;
        a.expect = opr.inputs[0];
        a.got = opr.inputs[1];
        if (!opr.params.empty() && opr.params.front().type().find("maxerr")) a.maxerr = opr.params.front().real("maxerr");
        a.name = graph.display_name(a.got);
        if (opr.inputs.size() > 2 && in_other_layouts(graph, a.expect, a.got)) a.own_error = opr.inputs[2];
        const auto input = std::ranges::find(graph.inputs(), graph.var(a.expect).producer);
        if (input != graph.inputs().end()) a.expect_input = static_cast<std::size_t>(input - graph.inputs().begin());
        found.push_back(std::move(a));
    }
    return found;
}

std::shared_ptr<const Graph> without_assertions(const std::shared_ptr<const Graph>& graph) {
    const auto outputs = graph->outputs();
    if (std::ranges::none_of(outputs, [&](const GraphOutput& o) { return is_assertion(graph->producer(o.var)); })) return graph;
    GraphBuilder builder;
    builder.reserve(graph->oprs().size());
    for (const Opr& opr : graph->oprs()) {
        const bool is_input = std::ranges::binary_search(graph->inputs(), opr.id); // they are in file order
        // Every input of an operator of a finished graph exists, so neither call can fail.
        if (!builder.add(opr, opr.outputs.size(), is_input)) return graph;
        for (const VarId var : opr.outputs) builder.var(var) = graph->var(var);
    }
    for (GraphOutput output : outputs) {
        output.var = asserted_var(*graph, output.var);
        if (!builder.add_output(std::move(output))) return graph;
    }
    return builder.finish();
}

} // namespace megascope
