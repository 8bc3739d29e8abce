#include "views/common/graph_facts.h"

#include "exec/order.h"
#include "tensor/tensor.h"

namespace megascope {

OprCategory GraphFacts::category(OprId id) const {
    const OprDef* found = def(id);
    return found ? found->category : OprCategory::other;
}

const OprDef* GraphFacts::def(OprId id) const { return Catalogue::builtin().of(graph->opr(id)); }

std::optional<double> GraphFacts::var_bytes(VarId id) const {
    const VarDesc& desc = info.var(id);
    if (!desc.known() || !desc.shape->checked_elements()) return std::nullopt;
    return static_cast<double>(tensor_bytes(*desc.dtype, *desc.shape));
}

bool GraphFacts::is_constant(OprId id) const {
    const Opr& opr = graph->opr(id);
    if (!opr.inputs.empty()) return false;
    for (const StoredTensor& tensor : opr.tensors)
        if (tensor.data) return true;
    return false;
}

namespace {

void number_steps(GraphFacts& facts, std::span<const OprId> order) {
    facts.steps.resize(facts.graph->oprs().size());
    std::uint32_t step = 0;
    for (const OprId id : order) facts.steps[id.index()] = step++;
}

} // namespace

Expected<std::shared_ptr<const GraphFacts>> graphFactsFrom(std::shared_ptr<const Graph> graph, GraphInfo info, std::vector<Cost> costs,
                                                            std::span<const OprId> order, const CancelToken& cancel) {
    auto facts = std::make_shared<GraphFacts>();
    facts->info = std::move(info);
    facts->structure = analyse_structure(graph);
    if (cancel.cancelled()) return CancelToken::error();
    facts->graph = std::move(graph);
    facts->costs = std::move(costs);
    for (const Cost& cost : facts->costs) facts->total_flops += cost.flops.value_or(0);
    number_steps(*facts, order);
    return facts;
}

Expected<std::shared_ptr<const GraphFacts>> computeGraphFacts(std::shared_ptr<const Graph> graph, const CancelToken& cancel,
                                                               const Progress& progress) {
    auto facts = std::make_shared<GraphFacts>();
    const std::size_t count = graph->oprs().size();
    progress.report("inferring shapes", 0, count);
    facts->info = infer_graph(*graph);
    if (cancel.cancelled()) return CancelToken::error();
    progress.report("finding groups", 0, count);
    facts->structure = analyse_structure(graph);
    facts->graph = std::move(graph);
    facts->costs.reserve(count);
    for (const Opr& opr : facts->graph->oprs()) {
        if ((opr.id.index() & 0xfff) == 0) {
            if (cancel.cancelled()) return CancelToken::error();
            progress.report("counting operations", opr.id.index(), count);
        }
        facts->costs.push_back(opr_cost(*facts->graph, facts->info, opr.id));
        if (const auto flops = facts->costs.back().flops) facts->total_flops += *flops;
        for (const StoredTensor& tensor : opr.tensors) facts->weight_bytes += tensor.data_size;
    }
    number_steps(*facts, execution_order(*facts->graph));
    return facts;
}

std::string paramSummary(const Opr& opr) {
    std::string summary;
    std::size_t shown = 0;
    const auto add = [&](const std::string& part) {
        if (!summary.empty()) summary += ", ";
        summary += part;
        ++shown;
    };
    for (const Param& param : opr.params) {
        const auto& fields = param.type().fields;
        // A mode says what the operator does (Elemwise, Reduce, Pooling): it is shown even at its default.
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const bool mode = fields[i].name == "mode" && fields[i].kind == ParamFieldKind::enumeration;
            if (mode && param.type().name != "Convolution") add(param.text(i));
        }
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const bool mode = fields[i].name == "mode" && fields[i].kind == ParamFieldKind::enumeration;
            if ((mode && param.type().name != "Convolution") || param.is_default(i)) continue;
            if (param.type().name == "ExecutionPolicy") continue; // how, not what
            if (shown >= 8) return summary + ", …";
            add(fields[i].name + "=" + param.text(i));
        }
    }
    return summary;
}

} // namespace megascope
