#include "trace/compiled_trace.h"

#include <algorithm>
#include <utility>

#include "optimize/rebuild.h"
#include "trace/graph_parts.h"
#include "trace/result_graph.h"

namespace megascope {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);
/// Values up to this size take part in shape inference.
constexpr std::size_t max_host_elements = 64;

} // namespace

CompiledTrace::CompiledTrace(const TraceResult& result, Compile compile, int opt_level)
    : result_(result), compile_(std::move(compile)), opt_level_(opt_level), roots_(result.roots()), maker_(result.vars.size(), none),
      readers_(result.vars.size()), asked_(result.vars.size()) {
    for (std::size_t i = 0; i < result.seq.size(); ++i)
        if (result.seq[i].kind == TraceItemKind::opr)
            for (const std::size_t var : result.seq[i].outputs) maker_[var] = i;
    for (const TraceVar& var : result.vars)
        if (var.value_required || var.data_required || !var.output_marks.empty()) asked_[roots_[var.id]] = true;
    // Items that nothing asked for depends on never run.
    std::vector<bool> live(result.seq.size());
    for (std::size_t i = result.seq.size(); i-- > 0;) {
        const TraceItem& item = result.seq[i];
        if (item.kind != TraceItemKind::opr) continue;
        for (const std::size_t var : item.outputs) {
            live[i] = live[i] || asked_[var];
            for (const std::size_t reader : readers_[var]) live[i] = live[i] || live[reader];
        }
        if (!live[i]) continue;
        for (const std::size_t var : item.inputs) readers_[roots_[var]].push_back(i);
    }
}

CompiledTrace::Values CompiledTrace::start() const {
    Values values;
    values.by_root.resize(result_.vars.size());
    values.inferred.resize(result_.vars.size());
    for (const TraceVar& var : result_.vars)
        if (var.kind != TraceVarKind::internal && var.bound_value) values.by_root[var.id] = *var.bound_value;
    return values;
}

Expected<CompiledTrace::Part> CompiledTrace::make_part(const Values& values, const std::vector<std::size_t>& wanted) const {
    Part part;
    std::vector<bool> inside(result_.seq.size()), read(result_.vars.size());
    std::vector<std::size_t> open = wanted;
    while (!open.empty()) {
        const std::size_t var = open.back();
        open.pop_back();
        if (values.by_root[var].has_value()) {
            read[var] = true;
            continue;
        }
        const std::size_t item = maker_[var];
        if (item == none)
            return fail(ErrorCode::invalid_argument, "A tensor from outside that the trace needs has no value in this call.");
        if (inside[item]) continue;
        inside[item] = true;
        for (const std::size_t input : result_.seq[item].inputs) open.push_back(roots_[input]);
    }

    GraphBuilder builder;
    std::vector<VarId> vars(result_.vars.size());
    for (std::size_t var = 0; var < read.size(); ++var) {
        if (!read[var]) continue;
        const std::string name = numbered("v", var);
        if (result_.vars[var].bound_value && maker_[var] == none) {
            MGS_ASSIGN(vars[var], add_constant(builder, values.by_root[var], name));
        } else {
            // The shape may be another one in the next call.
            MGS_ASSIGN(vars[var], add_input(builder, values.by_root[var].dtype(), values.by_root[var].shape(), {}, name));
            part.inputs.push_back(var);
        }
    }
    for (std::size_t i = 0; i < result_.seq.size(); ++i) {
        if (!inside[i]) continue;
        const TraceItem& item = result_.seq[i];
        std::vector<VarId> inputs;
        for (const std::size_t var : item.inputs) inputs.push_back(vars[roots_[var]]);
        Opr opr = make_opr(item.opr, std::move(inputs));
        opr.name = item_name(item);
        opr.has_name = !opr.name.empty();
        if (item.opr.seed()) {
            part.random = true;
            if (const auto seed = values.seeds.find(i); seed != values.seeds.end()) opr.params.front().set("seed", seed->second);
        }
        MGS_ASSIGN(const OprId id, builder.add(std::move(opr), item.outputs.size()));
        for (std::size_t k = 0; k < item.outputs.size(); ++k) {
            const std::size_t var = item.outputs[k];
            vars[var] = builder.opr(id).outputs[k];
            // Results that later parts go on from, and all that a handle may want.
            const bool crosses = std::ranges::any_of(readers_[var], [&](std::size_t reader) { return !inside[reader]; });
            if (crosses || asked_[var] || std::ranges::find(wanted, var) != wanted.end()) {
                MGS_TRY(builder.add_output({vars[var], 0, {}}));
                part.outputs.push_back(var);
            }
        }
    }
    part.graph = builder.finish();
    if (opt_level_ >= 1) {
        MGS_ASSIGN(part.graph, rebuild_graph(std::move(part.graph)));
        // Inputs may be gone, and stand in another order.
        std::unordered_map<std::string, std::size_t> by_name;
        for (const std::size_t var : part.inputs) by_name[numbered("v", var)] = var;
        part.inputs.clear();
        for (const OprId id : part.graph->inputs()) part.inputs.push_back(by_name.at(part.graph->opr(id).tensors.front().name));
    }
    return part;
}

Expected<void> CompiledTrace::compute(Values& values, std::span<const std::size_t> wanted_vars, Watcher* watcher) {
    std::vector<std::size_t> wanted;
    for (const std::size_t var : wanted_vars)
        if (!values.by_root[roots_[var]].has_value()) wanted.push_back(roots_[var]);
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    if (wanted.empty()) return {};

    std::string key;
    for (const std::size_t var : wanted) key += std::to_string(var) + ',';
    key += '|';
    for (std::size_t var = 0; var < values.by_root.size(); ++var)
        if (maker_[var] != none && values.by_root[var].has_value()) key += std::to_string(var) + ',';
    auto found = parts_.find(key);
    if (found == parts_.end() || found->second.random) {
        MGS_ASSIGN(Part made, make_part(values, wanted));
        MGS_ASSIGN(made.program, compile_(made.graph));
        found = parts_.insert_or_assign(key, std::move(made)).first;
    }
    Part& part = found->second;
    std::vector<Tensor> inputs;
    for (const std::size_t var : part.inputs) {
        if (!values.by_root[var].has_value())
            return fail(ErrorCode::invalid_argument, "A tensor from outside that the trace needs has no value in this call.");
        inputs.push_back(values.by_root[var]);
    }
    RunObserver* observer = watcher ? watcher->begin(part.graph) : nullptr;
    MGS_ASSIGN(RunResult run, part.program->run(inputs, observer, {}));
    if (watcher) watcher->end(inputs, part.program->plan());
    for (std::size_t i = 0; i < part.outputs.size(); ++i) values.by_root[part.outputs[i]] = std::move(run.outputs[i]);
    return {};
}

VarDesc CompiledTrace::infer(Values& values, std::size_t var) const {
    std::unordered_map<std::size_t, VarDesc> unknown; // of this question only: a later one may know more
    const auto find = [&](std::size_t root) -> const VarDesc* {
        if (values.inferred[root]) return &*values.inferred[root];
        const auto found = unknown.find(root);
        return found == unknown.end() ? nullptr : &found->second;
    };
    const auto keep = [&](std::size_t root, VarDesc desc) {
        if (desc.known())
            values.inferred[root] = std::move(desc);
        else
            unknown[root] = std::move(desc);
    };
    const auto describe = [&](std::size_t root) {
        const Tensor& value = values.by_root[root];
        VarDesc desc;
        if (!value.has_value()) return desc;
        desc.dtype = value.dtype();
        desc.shape = value.shape();
        if (value.elements() <= max_host_elements) desc.value = value;
        return desc;
    };
    // Depth first, without recursion: an item is inferred when all its inputs are known.
    std::vector<std::size_t> open{roots_[var]};
    while (!open.empty()) {
        const std::size_t top = open.back();
        if (find(top)) {
            open.pop_back();
            continue;
        }
        if (values.by_root[top].has_value() || maker_[top] == none) {
            keep(top, describe(top));
            open.pop_back();
            continue;
        }
        const TraceItem& item = result_.seq[maker_[top]];
        const std::size_t before = open.size();
        std::vector<VarDesc> inputs;
        for (const std::size_t input : item.inputs) {
            if (const VarDesc* desc = find(roots_[input]))
                inputs.push_back(*desc);
            else
                open.push_back(roots_[input]);
        }
        if (open.size() > before) continue;
        Opr opr = make_opr(item.opr, std::vector<VarId>(item.inputs.size()));
        opr.outputs.resize(item.outputs.size());
        const Expected<std::vector<VarDesc>> inferred = infer_opr({opr, inputs});
        for (std::size_t k = 0; k < item.outputs.size(); ++k) keep(item.outputs[k], inferred ? (*inferred)[k] : VarDesc{});
        open.pop_back();
    }
    return *find(roots_[var]);
}

} // namespace megascope
