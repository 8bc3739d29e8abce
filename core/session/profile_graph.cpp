#include "session/profile_graph.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "opr/catalogue.h"
#include "opr/param_registry.h"


namespace megascope {

namespace {

/// Operators so that producers come first; among the ready ones the smallest id. Operators on a cycle (which only a broken file
/// has) follow at the end.
std::vector<ProfileOprId> topological(const GraphProfile& profile) {
    std::vector<std::vector<std::uint32_t>> consumers(profile.oprs.size());
    std::vector<std::uint32_t> waiting(profile.oprs.size(), 0);
    for (std::uint32_t i = 0; i < profile.oprs.size(); ++i)
        for (const ProfileVarId in : profile.oprs[i].inputs)
            if (const ProfileOprId producer = profile.vars[in.index()].producer; producer.valid() && producer.value() != i) {
                consumers[producer.index()].push_back(i);
                ++waiting[i];
            }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < waiting.size(); ++i)
        if (waiting[i] == 0) ready.push(i);
    std::vector<ProfileOprId> order;
    std::vector<bool> placed(profile.oprs.size());
    while (!ready.empty()) {
        const std::uint32_t i = ready.top();
        ready.pop();
        order.emplace_back(i);
        placed[i] = true;
        for (const std::uint32_t next : consumers[i])
            if (--waiting[next] == 0) ready.push(next);
    }
    for (std::uint32_t i = 0; i < placed.size(); ++i)
        if (!placed[i]) order.emplace_back(i);
    return order;
}

std::optional<Shape> shape_of(const std::vector<std::int64_t>& sizes) {
    if (sizes.empty() || sizes.size() > Shape::max_ndim) return std::nullopt;
    const Shape shape(sizes);
    return shape.checked_elements() ? std::optional(shape) : std::nullopt;
}

/// Class by the name that profiles use.
const OprDef* class_of(std::string_view profile_type) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const OprDef*> by_name;
        for (const OprDef& def : Catalogue::builtin().all()) by_name.emplace(def.profile_type.empty() ? def.type : def.profile_type, &def);
        return by_name;
    }();
    const auto at = index.find(profile_type);
    return at == index.end() ? nullptr : at->second;
}

/// The first param of the class from the footprint's JSON; nothing unless every plain field of it is there and fits.
std::optional<Param> param_from(const OprDef& def, const std::string& json) {
    const ParamType* type = ParamRegistry::builtin().find(def.params.front());
    const auto object = nlohmann::json::parse(json, nullptr, false);
    if (!type || !object.is_object()) return std::nullopt;
    Param param(*type);
    for (std::size_t i = 0; i < type->fields.size(); ++i) {
        const ParamField& field = type->fields[i];
        const auto value = object.find(field.name);
        if (value == object.end()) return std::nullopt;
        if (field.kind == ParamFieldKind::boolean && value->is_boolean()) {
            param.set(i, value->get<bool>());
        } else if (field.kind == ParamFieldKind::enumeration && value->is_string()) {
            const auto number = field.enumeration->find(value->get<std::string>());
            if (!number) return std::nullopt;
            param.set(i, *number);
        } else if (field.kind == ParamFieldKind::float32 && value->is_number()) {
            param.set(i, value->get<float>());
        } else if (field.kind == ParamFieldKind::float64 && value->is_number()) {
            param.set(i, value->get<double>());
        } else if ((field.kind == ParamFieldKind::int32 || field.kind == ParamFieldKind::uint32) && value->is_number_integer()) {
            param.set(i, value->get<std::int64_t>());
        } else if (field.kind == ParamFieldKind::int32_list && value->is_array()) {
            std::vector<std::int64_t> list;
            for (const auto& item : *value) {
                if (!item.is_number_integer()) return std::nullopt;
                list.push_back(item.get<std::int64_t>());
            }
            param.set(i, std::move(list));
        } else {
            return std::nullopt;
        }
    }
    return param;
}

/// Class and param, as far as the profile tells them.
void identify(Opr& opr, const std::optional<ProfileFootprint>& footprint) {
    const OprDef* def = class_of(opr.type);
    if (!def) return;
    if (!def->params.empty()) {
        auto param = footprint ? param_from(*def, footprint->param) : std::nullopt;
        if (!param) return;
        opr.params.push_back(std::move(*param));
    }
    opr.kind = def->kind;
}

bool holds_constant(std::string_view type) { return type == "ImmutableTensor" || type.ends_with("DeviceTensor") || type.ends_with("TensorHolder"); }

} // namespace

ProfileGraph profile_graph(const GraphProfile& profile) {
    ProfileGraph result;
    GraphBuilder builder;
    builder.reserve(profile.oprs.size());
    std::vector<VarId> var_of(profile.vars.size());
    std::vector<bool> read(profile.vars.size());
    for (const ProfileOpr& opr : profile.oprs)
        for (const ProfileVarId in : opr.inputs) read[in.index()] = true;

    std::vector<bool> in_sequence(profile.oprs.size());
    for (const ProfileOprId id : profile.sequence) in_sequence[id.index()] = true;
    std::vector<ProfileVarId> source; // by VarId
    for (const ProfileOprId id : topological(profile)) {
        const ProfileOpr& from = profile.oprs[id.index()];
        Opr opr;
        opr.type = profile.text(from.type);
        opr.registered_type = opr.type;
        opr.name = profile.text(from.name);
        opr.has_name = true;
        if (from.order) opr.priority = static_cast<std::int32_t>(from.order->priority);
        for (const ProfileVarId in : from.inputs)
            if (var_of[in.index()].valid()) opr.inputs.push_back(var_of[in.index()]);
        // Workspaces are outputs that nothing reads and whose name says so; they would only clutter the picture.
        std::vector<ProfileVarId> outputs;
        for (const ProfileVarId out : from.outputs) {
            const std::string_view name = profile.text(profile.vars[out.index()].name);
            if (read[out.index()] || !name.ends_with(":workspace")) outputs.push_back(out);
        }
        const auto& footprint = profile.footprints[id.index()];
        identify(opr, footprint);
        if (opr.inputs.empty() && holds_constant(opr.type)) opr.tensors.emplace_back();
        const bool is_input = opr.type == "Host2DeviceCopy";
        const auto added = builder.add(std::move(opr), outputs.size(), is_input);
        if (!added) continue; // cannot happen: only vars that exist were listed
        const auto first = builder.var_count() - outputs.size();
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const ProfileVar& var = profile.vars[outputs[k].index()];
            const VarId to(first + k);
            var_of[outputs[k].index()] = to;
            source.push_back(outputs[k]);
            Var& v = builder.var(to);
            v.name = profile.text(var.name);
            v.has_name = true;
            v.comp_node = CompNode{std::string(profile.text(var.comp_node))};
            if (var.shape) v.shape = shape_of(*var.shape);
            if (var.mem_plan) v.dtype = dtype_from_name(profile.text(var.mem_plan->dtype));
        }
        result.of_opr.push_back(id);
        Cost cost;
        if (footprint) {
            cost.computation = footprint->computation;
            cost.flops = footprint->computation;
            cost.memory = static_cast<double>(footprint->memory);
        }
        result.costs.push_back(cost);
        if (footprint)
            for (std::size_t k = 0; k < outputs.size() && k < footprint->out_shapes.size(); ++k)
                if (!builder.var(VarId(first + k)).shape) builder.var(VarId(first + k)).shape = shape_of(footprint->out_shapes[k]);
        // What is computed and never read is what the graph is for.
        for (std::size_t k = 0; k < outputs.size(); ++k)
            if (!read[outputs[k].index()] && in_sequence[id.index()]) (void)builder.add_output({VarId(first + k), static_cast<std::uint32_t>(profile.vars[outputs[k].index()].number), {}});
    }
    result.graph = builder.finish();
    std::vector<OprId> at(profile.oprs.size());
    for (std::size_t i = 0; i < result.of_opr.size(); ++i) at[result.of_opr[i].index()] = OprId(i);
    for (const ProfileOprId id : profile.sequence)
        if (at[id.index()].valid()) result.order.push_back(at[id.index()]);
    result.info.vars.resize(result.graph->vars().size());
    for (const Var& var : result.graph->vars()) {
        result.info.vars[var.id.index()].shape = var.shape;
        result.info.vars[var.id.index()].dtype = var.dtype;
    }
    return result;
}

} // namespace megascope
