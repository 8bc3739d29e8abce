#include "layout/opr_roles.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace megascope {

namespace {

/// Operators that shapes are computed with. Others (Broadcast, Fill …) may turn a shape into data, so they end a chain.
bool can_compute_shapes(std::string_view type) {
    static constexpr std::array types = {
        std::string_view("GetVarShape"), std::string_view("Subtensor"),  std::string_view("Concat"),    std::string_view("Elemwise"),
        std::string_view("Reduce"),      std::string_view("TypeCvt"),    std::string_view("Reshape"),   std::string_view("AxisAddRemove"),
        std::string_view("Split"),       std::string_view("IndexAt"),    std::string_view("Dimshuffle"), std::string_view("IndexingMultiAxisVec"),
        std::string_view("SetSubtensor"), std::string_view("Identity"), std::string_view("ElemwiseMultiType"), std::string_view("PowC"),
    };
    return std::find(types.begin(), types.end(), type) != types.end();
}

} // namespace

std::vector<OprRole> opr_roles(const Graph& graph) {
    const auto oprs = graph.oprs();
    std::vector<OprRole> roles(oprs.size(), OprRole::compute);
    std::vector<std::uint8_t> is_output(graph.vars().size(), 0);
    for (const GraphOutput& o : graph.outputs()) is_output[o.var.index()] = 1;
    const auto leaves_graph = [&](const Opr& o) {
        return std::any_of(o.outputs.begin(), o.outputs.end(), [&](VarId v) { return is_output[v.index()]; });
    };
    for (OprId id : graph.inputs()) roles[id.index()] = OprRole::input;
    for (const Opr& o : oprs) {
        OprRole& role = roles[o.id.index()];
        if (role == OprRole::input || leaves_graph(o)) continue;
        if (o.inputs.empty()) {
            if (!o.tensors.empty()) role = OprRole::constant;
            continue;
        }
        if (!can_compute_shapes(o.type)) continue;
        if (o.type == "GetVarShape") {
            role = OprRole::shape;
            continue;
        }
        bool from_shape = false, only = true;
        for (VarId v : o.inputs) {
            const OprRole r = roles[graph.var(v).producer.index()];
            from_shape |= r == OprRole::shape;
            only &= r == OprRole::shape || r == OprRole::constant;
        }
        if (from_shape && only) role = OprRole::shape;
    }
    return roles;
}

std::vector<std::uint8_t> made_of_constants(const Graph& graph, const std::vector<OprRole>& roles) {
    std::vector<std::uint8_t> made(graph.oprs().size(), 0);
    for (const Opr& o : graph.oprs())
        made[o.id.index()] = roles[o.id.index()] == OprRole::compute && std::all_of(o.inputs.begin(), o.inputs.end(), [&](VarId v) {
                                 const OprId p = graph.var(v).producer;
                                 return roles[p.index()] == OprRole::constant || roles[p.index()] == OprRole::shape || made[p.index()];
                             });
    return made;
}

} // namespace megascope
