#include "format/write_plan.h"

#include <algorithm>
#include <unordered_map>

#include "format/graph_assembler.h"

namespace megascope {

namespace {

/// CheckNonFinite counts its pass-through outputs in v2 files only; everything else counts the same outputs everywhere.
std::vector<WritePlan::Output> outputs_in(const Opr& opr, Container container) {
    std::vector<WritePlan::Output> outputs(opr.outputs.begin(), opr.outputs.end());
    if (opr.kind.valid() && opr.type == "CheckNonFinite" && !opr.outputs.empty()) {
        if (container != Container::fbs_v2)
            outputs.erase(outputs.begin(), outputs.end() - 1);
        else if (opr.outputs.size() == 1)
            outputs.insert(outputs.begin(), opr.inputs.size(), std::nullopt);
    }
    return outputs;
}

/// Post-order without recursion: graphs can be many thousand operators deep.
std::vector<OprId> post_order(const Graph& graph) {
    std::vector<OprId> order;
    order.reserve(graph.oprs().size());
    std::vector<bool> visited(graph.oprs().size());
    struct Frame {
        OprId opr;
        std::size_t next_input;
    };
    std::vector<Frame> stack;
    const auto enter = [&](OprId opr) {
        if (visited[opr.index()]) return;
        visited[opr.index()] = true;
        stack.push_back({opr, 0});
    };
    for (const GraphOutput& output : graph.outputs()) {
        enter(graph.var(output.var).producer);
        while (!stack.empty()) {
            Frame& top = stack.back();
            const Opr& opr = graph.opr(top.opr);
            if (top.next_input == opr.inputs.size()) {
                order.push_back(top.opr);
                stack.pop_back();
            } else {
                enter(graph.var(opr.inputs[top.next_input++]).producer);
            }
        }
    }
    return order;
}

} // namespace

Expected<WritePlan> WritePlan::make(const Graph& graph, Container container) {
    WritePlan plan;
    plan.id_of.assign(graph.vars().size(), not_written);
    std::uint32_t next = 0;
    for (OprId id : post_order(graph)) {
        const Opr& opr = graph.opr(id);
        for (VarId in : opr.inputs)
            if (plan.id_of[in.index()] == not_written)
                return fail_in(ErrorCode::unsupported, std::string(container_name(container)) + " does not store the output of " +
                                                           graph.display_name(graph.var(in).producer) + " that this operator reads.",
                               opr_text(id.index(), opr));
        Step step{id, outputs_in(opr, container), next, false};
        for (const Output& output : step.outputs) {
            if (output) plan.id_of[output->index()] = next;
            ++next;
        }
        plan.steps.push_back(std::move(step));
    }
    std::vector<bool> owns(graph.oprs().size());
    for (const GraphOutput& output : graph.outputs()) {
        if (plan.id_of[output.var.index()] == not_written)
            return fail(ErrorCode::unsupported, std::string(container_name(container)) + " does not store the graph output " +
                                                    graph.display_name(output.var) + ".");
        owns[graph.var(output.var).producer.index()] = true;
    }
    for (Step& step : plan.steps) step.owns_graph_output = owns[step.opr.index()];
    return plan;
}

Expected<OprIdentification> identify_for(const Opr& opr, const WriteOptions& options) {
    if (options.read_from == options.container && opr.type_id != 0) return OprIdentification{opr.registered_type, opr.type_id, opr.version};
    const OprDef* def = Catalogue::builtin().of(opr);
    if (!def && !opr.raw_params.empty()) def = Catalogue::builtin().find_type(opr.type); // known but for its params
    if (!def)
        return fail_in(ErrorCode::unsupported, "The operator's type is not known, so it cannot be written as " +
                                                   std::string(container_name(options.container)) + ".",
                       opr_text(opr.id.index(), opr));
    switch (options.container) {
    case Container::fbs_mgbc: return OprIdentification{{}, def->v1_id, 0};
    case Container::fbs_mgbs: return OprIdentification{{}, def->mgbs_id, 0};
    case Container::fbs_v2: break;
    }
    return OprIdentification{def->v2_name, def->v2.id, def->v2.version};
}

std::string written_name(const Graph& graph, const WritePlan::Step& step, std::size_t output) {
    const auto& var = step.outputs[output];
    if (!var) return graph.display_name(step.opr) + ":o" + std::to_string(output);
    return graph.var(*var).has_name ? graph.var(*var).name : graph.display_name(*var);
}

std::optional<std::string> written_tensor_name(const Graph& graph, const WritePlan::Step& step, std::size_t tensor, const KeptNames& kept) {
    const Opr& opr = graph.opr(step.opr);
    const StoredTensor& stored = opr.tensors[tensor];
    const bool input = opr.kind.valid() && opr.type == "Host2DeviceCopy";
    const bool shared = opr.kind.valid() && holds_shared_tensors(opr);
    if (!opr.kind.valid()) return stored.has_name ? std::optional(stored.name) : std::nullopt;
    if (!input && !(shared && kept.param_name)) return std::nullopt;
    if (stored.has_name) return stored.name;
    return written_name(graph, step, std::min(tensor, step.outputs.size() - 1));
}

Expected<WriteSummary> summarise(const Graph& graph, const WritePlan& plan, const WriteOptions& options) {
    WriteSummary summary;
    summary.opr_count = plan.steps.size();
    for (const WritePlan::Step& step : plan.steps) {
        const Opr& opr = graph.opr(step.opr);
        for (std::size_t i = 0; i < opr.tensors.size(); ++i) {
            summary.tensor_bytes += opr.tensors[i].data_size;
            const auto name = written_tensor_name(graph, step, i, options.kept);
            if (!name) continue;
            (opr.type == "Host2DeviceCopy" ? summary.inputs : summary.params).push_back(*name);
        }
    }
    std::sort(summary.inputs.begin(), summary.inputs.end());
    const auto twice = std::adjacent_find(summary.inputs.begin(), summary.inputs.end());
    if (twice != summary.inputs.end())
        return fail(ErrorCode::invalid_argument, "Two inputs of the graph have the name '" + *twice + "'.");

    std::unordered_map<std::string_view, VarId> names; // one var may be an output twice
    for (const GraphOutput& output : graph.outputs()) {
        const Var& var = graph.var(output.var);
        if (options.kept.var_name == 0) {
            summary.outputs.push_back("unnamed" + std::to_string(summary.outputs.size()));
            continue;
        }
        if (var.has_name && names.emplace(var.name, var.id).first->second != var.id)
            return fail(ErrorCode::invalid_argument, "Two outputs of the graph have the name '" + var.name + "'.");
        summary.outputs.push_back(var.has_name ? var.name : graph.display_name(output.var));
    }
    return summary;
}

} // namespace megascope
