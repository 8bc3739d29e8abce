#include "session/profile_export.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "exec/forward.h"
#include "exec/memory/graph_memory.h"
#include "opr/catalogue.h"

namespace megascope {

namespace {

std::vector<std::int64_t> sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

nlohmann::json index_json(const std::vector<IndexItem>& items) {
    auto list = nlohmann::json::array();
    for (const IndexItem& item : items)
        list.push_back({{"axis", item.axis}, {"begin", int{item.begin}}, {"end", int{item.end}}, {"step", int{item.step}}, {"idx", int{item.idx}}});
    return list;
}

nlohmann::json axes_json(const std::vector<AxisDesc>& axes) {
    auto list = nlohmann::json::array();
    for (const AxisDesc& axis : axes) list.push_back({{"method", static_cast<int>(axis.method)}, {"axisnum", axis.axis}});
    return {{"nr_desc", axes.size()}, {"desc", std::move(list)}};
}

/// The operator's (first) param as the footprint spells it: enum names, numbers, bools.
std::string param_json(const Opr& opr) {
    nlohmann::json object = nlohmann::json::object();
    if (!opr.params.empty()) {
        const Param& param = opr.param();
        for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
            const ParamField& field = param.type().fields[i];
            const ParamValue& value = param.value(i);
            if (const auto* items = std::get_if<std::vector<IndexItem>>(&value)) return index_json(*items).dump();
            if (const auto* axes = std::get_if<std::vector<AxisDesc>>(&value)) return axes_json(*axes).dump();
            if (const auto* dtype = std::get_if<DType>(&value)) object[field.name] = dtype->library_name();
            else if (field.enumeration) object[field.name] = param.text(i);
            else if (const auto* b = std::get_if<bool>(&value)) object[field.name] = *b;
            else if (const auto* n = std::get_if<std::int64_t>(&value)) object[field.name] = *n;
            else if (const auto* u = std::get_if<std::uint64_t>(&value)) object[field.name] = *u;
            else if (const auto* f = std::get_if<float>(&value)) object[field.name] = *f;
            else if (const auto* d = std::get_if<double>(&value)) object[field.name] = *d;
            else if (const auto* l = std::get_if<std::vector<std::int64_t>>(&value)) object[field.name] = *l;
        }
    }
    return object.dump();
}

/// Where vars lay: `mem_plan` and chunks of a profile whose vars are those of the graph.
class MemoryRecord {
public:
    MemoryRecord(GraphProfile& profile, const GraphInfo& info) : profile_(profile), info_(info) {}

    /// A chunk that is this var's own.
    void own(VarId var, std::uint64_t bytes, std::optional<std::uint64_t> address = std::nullopt) {
        const std::string id = "chk" + std::to_string(profile_.vars[var.index()].number);
        profile_.chunks.push_back({profile_.strings.intern(id), bytes, ProfileVarId(var.value()), address});
        lies_in(var, profile_.chunks.back().id);
    }
    void share(VarId var, VarId with) {
        if (const auto& plan = profile_.vars[with.index()].mem_plan) lies_in(var, plan->chunk);
    }
    [[nodiscard]] std::optional<std::uint64_t> bytes(VarId var) const { return var_bytes(info_, var); }
    [[nodiscard]] bool has(VarId var) const { return profile_.vars[var.index()].mem_plan.has_value(); }

private:
    void lies_in(VarId var, StringId chunk) {
        const VarDesc& desc = info_.var(var);
        if (!desc.known()) return;
        profile_.vars[var.index()].mem_plan = ProfileMemPlan{chunk, 0, profile_.strings.intern(std::string(desc.dtype->library_name())), sizes(*desc.shape)};
    }

    GraphProfile& profile_;
    const GraphInfo& info_;
};

void record_memory(GraphProfile& profile, const Graph& graph, const GraphInfo& info, const std::vector<StepRecord>& steps, const Plan* plan) {
    MemoryRecord record(profile, info);
    // Constants and inputs lie as the file and the caller hold them.
    const auto whole = [&](const Opr& opr) {
        for (const VarId var : opr.outputs)
            if (const auto bytes = record.bytes(var); bytes && !record.has(var)) record.own(var, *bytes);
    };
    for (const Opr& opr : graph.oprs())
        if (opr.inputs.empty() && std::ranges::any_of(opr.tensors, [](const StoredTensor& t) { return t.data != nullptr; })) whole(opr);
    for (const OprId input : graph.inputs()) whole(graph.opr(input));
    if (!plan) return;
    for (const PlanBlock& block : plan->blocks) {
        const bool of_var = block.kind == PlanBlock::Kind::value || block.kind == PlanBlock::Kind::output;
        if (!of_var || !block.var.valid() || block.var.index() >= graph.vars().size() || record.has(block.var)) continue;
        record.own(block.var, block.bytes, block.address);
        for (const VarId var : block.sharing)
            if (var.index() < graph.vars().size() && !record.has(var)) record.share(var, block.var);
    }
    std::vector<bool> ran(graph.oprs().size());
    for (const StepRecord& step : steps) ran[step.opr.index()] = true;
    for (const Opr& opr : graph.oprs()) {
        if (opr.outputs.empty() || record.has(opr.outputs.front()) || !ran[opr.id.index()]) continue;
        // The bytes of an input or a constant under another shape.
        if (forwards_first_input(opr) && record.has(opr.inputs[0])) record.share(opr.outputs[0], opr.inputs[0]);
        // Without a plan every value has memory of its own.
        else if (plan->blocks.empty()) whole(opr);
    }
}

} // namespace

std::size_t median_iteration(const TestcaseRun& run) {
    std::vector<std::size_t> order(run.seconds.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return run.seconds[a] < run.seconds[b]; });
    return order[(order.size() - 1) / 2];
}

std::shared_ptr<const GraphProfile> profile_of_run(const Graph& graph, const GraphInfo& info, const std::vector<StepRecord>& steps,
                                                   const Plan* plan, std::string_view device) {
    auto profile = std::make_shared<GraphProfile>();
    GraphProfile& p = *profile;
    const Catalogue& catalogue = Catalogue::builtin();

    const auto comp_node = [&](const Opr& opr) {
        const std::string logical = opr.comp_nodes.empty() ? "xpux:0" : opr.comp_nodes.front().locator;
        return p.strings.intern("CompNode(\"" + std::string(device) + "\" from \"" + logical + "\")");
    };

    // Operators and vars share one id space, in file order, as in MegEngine.
    std::uint64_t number = 0;
    for (const Opr& opr : graph.oprs()) {
        ProfileOpr out;
        out.number = number++;
        out.name = p.strings.intern(graph.display_name(opr.id));
        const OprDef* def = catalogue.of(opr);
        out.type = p.strings.intern(def && !def->profile_type.empty() ? def->profile_type : std::string_view(opr.type));
        for (const VarId in : opr.inputs) out.inputs.emplace_back(in.value());
        for (const VarId id : opr.outputs) {
            out.outputs.emplace_back(id.value());
            ProfileVar var;
            var.number = number++;
            var.name = p.strings.intern(graph.display_name(id));
            var.comp_node = comp_node(opr);
            var.producer = ProfileOprId(opr.id.value());
            const VarDesc& desc = info.var(id);
            if (desc.shape) var.shape = sizes(*desc.shape);
            const bool is_constant = desc.value && opr.inputs.empty();
            var.shape_infer = !desc.shape ? ProfileInfer::no_desc : is_constant ? ProfileInfer::constant : ProfileInfer::rt_static;
            var.value_infer = is_constant ? ProfileInfer::constant : desc.value ? ProfileInfer::rt_static : ProfileInfer::no_desc;
            p.vars.push_back(std::move(var));
        }
        p.file_order.emplace_back(p.oprs.size());
        p.oprs.push_back(std::move(out));
    }

    p.footprints.resize(p.oprs.size());
    const StringId main_thread = p.strings.intern("");
    std::vector<std::int64_t> ready_at(graph.vars().size(), 0); // operators that had run when the var was there
    for (std::size_t position = 0; position < steps.size(); ++position) {
        const StepRecord& step = steps[position];
        const Opr& opr = graph.opr(step.opr);
        const ProfileOprId id(step.opr.value());
        p.sequence.push_back(id);
        const ProfileSpan span{step.start, step.kern, step.end};
        p.device.push_back({id, comp_node(opr), span});
        p.host.push_back({id, main_thread, span});

        ProfileOpr::Order order;
        order.priority = opr.priority;
        order.dfs_step_num = static_cast<std::int64_t>(step.opr.value());
        for (const VarId in : opr.inputs) order.input_update_time = std::max(order.input_update_time, ready_at[in.index()]);
        for (const VarId out : opr.outputs) ready_at[out.index()] = static_cast<std::int64_t>(position) + 1;
        p.oprs[id.index()].order = order;

        ProfileFootprint footprint;
        const Cost cost = opr_cost(graph, info, step.opr);
        footprint.computation = cost.computation;
        footprint.memory = cost.memory ? static_cast<std::uint64_t>(*cost.memory) : 0;
        for (const VarId in : opr.inputs)
            footprint.in_shapes.push_back(info.var(in).shape ? sizes(*info.var(in).shape) : std::vector<std::int64_t>());
        for (const VarId out : opr.outputs)
            footprint.out_shapes.push_back(info.var(out).shape ? sizes(*info.var(out).shape) : std::vector<std::int64_t>());
        footprint.param = param_json(opr);
        p.footprints[id.index()] = std::move(footprint);
    }
    record_memory(p, graph, info, steps, plan);
    return profile;
}

} // namespace megascope
