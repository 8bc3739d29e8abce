#include "opr/cost.h"

#include "opr/catalogue.h"

namespace megascope {

namespace {

/// Bytes of the elements laid end to end, as MegEngine's footprint counts them. Nothing when dtype or shape is not known.
std::optional<double> var_bytes(const VarDesc& var) {
    if (!var.known()) return std::nullopt;
    const auto n = var.shape->checked_elements();
    if (!n) return std::nullopt;
    return static_cast<double>((*n * var.dtype->bits() + 7) / 8);
}

} // namespace

Cost opr_cost(const Graph& graph, const GraphInfo& info, OprId id) {
    const Opr& opr = graph.opr(id);
    const OprDef* def = Catalogue::builtin().of(opr);
    std::vector<VarDesc> inputs, outputs;
    for (VarId in : opr.inputs) inputs.push_back(info.var(in));
    for (VarId out : opr.outputs) outputs.push_back(info.var(out));

    Cost cost;
    const bool complete = def && def->params_fit(opr) && inputs.size() >= def->inputs.required && !outputs.empty();
    if (complete && def->cost) cost = def->cost({opr, inputs, outputs});
    // Operators that only move or hold data do no arithmetic.
    if (complete && !cost.flops && (def->category == OprCategory::shape || def->category == OprCategory::data || def->category == OprCategory::indexing))
        cost.flops = 0;

    double bytes = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (complete && def->input_use(opr, i) != InputUse::device) continue;
        const auto size = var_bytes(inputs[i]);
        if (!size) return cost;
        bytes += *size;
    }
    for (const VarDesc& out : outputs) {
        const auto size = var_bytes(out);
        if (!size) return cost;
        bytes += *size;
    }
    cost.memory = bytes;
    return cost;
}

} // namespace megascope
