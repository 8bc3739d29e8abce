#include "session/profile_graph.h"

#include <algorithm>
#include <queue>


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
        const auto added = builder.add(std::move(opr), outputs.size());
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
        const auto& footprint = profile.footprints[id.index()];
        result.param.push_back(footprint ? footprint->param : std::string());
        if (footprint)
            for (std::size_t k = 0; k < outputs.size() && k < footprint->out_shapes.size(); ++k)
                if (!builder.var(VarId(first + k)).shape) builder.var(VarId(first + k)).shape = shape_of(footprint->out_shapes[k]);
        // What is computed and never read is what the graph is for.
        for (std::size_t k = 0; k < outputs.size(); ++k)
            if (!read[outputs[k].index()] && in_sequence[id.index()]) (void)builder.add_output({VarId(first + k), static_cast<std::uint32_t>(profile.vars[outputs[k].index()].number), {}});
    }
    result.graph = builder.finish();
    result.info.vars.resize(result.graph->vars().size());
    for (const Var& var : result.graph->vars()) {
        result.info.vars[var.id.index()].shape = var.shape;
        result.info.vars[var.id.index()].dtype = var.dtype;
    }
    return result;
}

} // namespace megascope
