#include "opr/infer.h"

#include "opr/catalogue.h"
#include "opr/fold.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// What the file says about a var, for places where inference finds nothing.
void complete(VarDesc& desc, const Var& var, bool shapes_apply) {
    if (!desc.dtype) desc.dtype = var.dtype;
    if (!desc.shape && shapes_apply && var.shape && var.shape->checked_elements()) desc.shape = var.shape;
}

/// Do the given inputs leave the shapes of the file as they are?
bool keeps_shapes(const Graph& graph, std::span<const VarDesc> inputs) {
    for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
        const Opr& opr = graph.opr(graph.inputs()[i]);
        if (!inputs[i].shape || opr.tensors.empty()) continue;
        if (opr.tensors[0].shape != inputs[i].shape) return false;
    }
    return true;
}

} // namespace

Expected<std::vector<VarDesc>> infer_opr(const InferContext& c) {
    const std::size_t outputs = c.opr.outputs.size();
    const OprDef* def = Catalogue::builtin().of(c.opr);
    if (!def || !def->infer) return std::vector<VarDesc>(outputs);
    if (!def->params_fit(c.opr)) return misfit(c.opr, "its params are not those of this operator.");
    if (c.inputs.size() < def->inputs.required || (c.inputs.size() > def->inputs.fixed.size() && def->inputs.repeated.empty()))
        return misfit(c.opr, "it has " + std::to_string(c.inputs.size()) + " inputs.");
    MGS_ASSIGN(auto result, def->infer(c));
    if (result.size() != outputs)
        return misfit(c.opr, "it has " + std::to_string(outputs) + " outputs where " + std::to_string(result.size()) + " belong.");
    for (const VarDesc& out : result) // a param may hold any number as its dtype
        if (const auto number = out.dtype ? static_cast<std::uint32_t>(out.dtype->id) : 0; !dtype_id_valid(number))
            return misfit(c.opr, "its output would have the unknown dtype number " + std::to_string(number) + ".");
    for (const VarDesc& out : result)
        if (out.shape && !out.shape->checked_elements()) return misfit(c.opr, "its output would have the shape " + out.shape->text() + ".");
    return result;
}

GraphInfo infer_graph(const Graph& graph, std::span<const VarDesc> inputs) {
    GraphInfo info;
    info.vars.resize(graph.vars().size());
    const bool shapes_apply = keeps_shapes(graph, inputs);
    std::vector<VarDesc> arguments;
    std::size_t next_input = 0;
    for (const Opr& opr : graph.oprs()) {
        arguments.clear();
        for (VarId in : opr.inputs) arguments.push_back(info.var(in));
        std::vector<VarDesc> results(opr.outputs.size());
        if (auto inferred = infer_opr({opr, arguments})) {
            results = std::move(*inferred);
        } else {
            Error error = std::move(inferred).error();
            error.where = graph.display_name(opr.id);
            info.problems.push_back({opr.id, std::move(error)});
        }
        if (next_input < graph.inputs().size() && graph.inputs()[next_input] == opr.id) {
            if (next_input < inputs.size() && !results.empty()) {
                const VarDesc& given = inputs[next_input];
                if (given.dtype) results[0].dtype = given.dtype;
                if (given.shape) results[0].shape = given.shape;
                results[0].value = given.value;
            }
            ++next_input;
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            complete(results[i], graph.var(opr.outputs[i]), shapes_apply);
            info.vars[opr.outputs[i].index()] = std::move(results[i]);
        }
    }
    return info;
}

} // namespace megascope
