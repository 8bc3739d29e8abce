#include "trace/dump_names.h"

#include <algorithm>
#include <set>

#include "graph/rewriter.h"

namespace megascope {

namespace {

Expected<void> check_count(std::span<const std::string> names, std::size_t needed, const char* option, const char* what) {
    if (names.empty() || names.size() == needed) return {};
    return fail(ErrorCode::invalid_argument, std::string("Wrong number of ") + option + ": the graph has " + std::to_string(needed) + " " + what +
                                                 (needed == 1 ? "" : "s") + ", but " + std::to_string(names.size()) +
                                                 (names.size() == 1 ? " name is given." : " names are given."));
}

Expected<void> check_unique(std::set<std::string>& seen, const std::string& name, const char* what) {
    if (seen.insert(name).second) return {};
    return fail(ErrorCode::invalid_argument, std::string("Two ") + what + "s would be called '" + name + "'.");
}

} // namespace

std::string input_name(const Graph& graph, OprId input) {
    const Opr& opr = graph.opr(input);
    if (!opr.tensors.empty() && !opr.tensors.front().name.empty()) return opr.tensors.front().name;
    return graph.display_name(input);
}

Expected<std::shared_ptr<const Graph>> with_names(const std::shared_ptr<const Graph>& graph, std::span<const std::string> arg_names,
                                                  std::span<const std::string> output_names) {
    MGS_TRY(check_count(arg_names, graph->inputs().size(), "arg_names", "input"));
    MGS_TRY(check_count(output_names, graph->outputs().size(), "output_names", "output"));
    if (arg_names.empty() && output_names.empty()) return graph;
    GraphRewriter rewriter(*graph);
    std::set<std::string> seen;
    for (const Opr& opr : graph->oprs()) {
        MGS_ASSIGN(const OprId fresh, rewriter.copy(opr.id));
        const auto input = std::ranges::find(graph->inputs(), opr.id);
        if (input == graph->inputs().end()) continue;
        const auto at = static_cast<std::size_t>(input - graph->inputs().begin());
        const bool renamed = !arg_names.empty() && !arg_names[at].empty();
        MGS_TRY(check_unique(seen, renamed ? arg_names[at] : input_name(*graph, opr.id), "input"));
        if (!renamed) continue;
        Opr& copy = rewriter.opr(fresh);
        copy.name = arg_names[at];
        copy.has_name = true;
        if (!copy.tensors.empty()) {
            copy.tensors.front().name = arg_names[at];
            copy.tensors.front().has_name = true;
        }
        Var& var = rewriter.var(copy.outputs.front());
        var.name = arg_names[at];
        var.has_name = true;
    }
    seen.clear();
    for (std::size_t i = 0; i < graph->outputs().size(); ++i) {
        const VarId old = graph->outputs()[i].var;
        const bool renamed = !output_names.empty() && !output_names[i].empty();
        MGS_TRY(check_unique(seen, renamed ? output_names[i] : graph->display_name(old), "output"));
        if (!renamed) continue;
        Var& var = rewriter.var(rewriter.translated(old));
        var.name = output_names[i];
        var.has_name = true;
    }
    return rewriter.finish();
}

} // namespace megascope
