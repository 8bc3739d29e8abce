#include <algorithm>
#include <unordered_map>

#include "optimize/build.h"
#include "optimize/mode_is.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

/// How many operators read an operator's outputs, whatever they need of them.
class ReaderCount {
public:
    explicit ReaderCount(const Workspace& graph) {
        for (const OprId id : graph.order()) {
            std::vector<VarId> read = graph.opr(id).inputs;
            std::ranges::sort(read);
            read.erase(std::unique(read.begin(), read.end()), read.end());
            for (const VarId var : read) ++counts_[graph.owner(var)];
        }
    }
    [[nodiscard]] std::size_t operator()(OprId id) const {
        const auto it = counts_.find(id);
        return it == counts_.end() ? 0 : it->second;
    }

private:
    std::unordered_map<OprId, std::size_t> counts_;
};

/// sum(x, axis) / float32(shape(x, axis)) → mean(x, axis)
VarId mean_for(Workspace& graph, const Rewriter& rewriter, const ReaderCount& readers, OprId id) {
    if (!mode_is(graph, id, ElemwiseMode::true_div)) return {};
    OprId above = graph.owner(graph.opr(id).inputs[0]);
    std::optional<OprId> axis_remove;
    if (graph.is(above, "AxisAddRemove")) {
        axis_remove = above;
        above = graph.owner(graph.opr(above).inputs[0]);
    }
    const Opr& reduce = graph.opr(above);
    if (reduce.type != "Reduce" || reduce.param().enum_name("mode") != "SUM") return {};
    const Opr& cvt = graph.producer(graph.opr(id).inputs[1]);
    if (cvt.type != "TypeCvt" || cvt.param().dtype("dtype").id != DTypeId::float32) return {};
    const Opr& size = graph.producer(cvt.inputs[0]);
    if (size.type != "GetVarShape" || graph.owner(size.inputs[0]) != graph.owner(reduce.inputs[0])) return {};
    if (readers(graph.owner(size.inputs[0])) != 2) return {};
    if (size.param().integer("axis") != reduce.param().integer("axis")) return {};
    std::vector<Param> params = reduce.params;
    set_enum(params[0], "mode", "MEAN");
    VarId mean = graph.insert1(make_opr("Reduce", {rewriter.get(reduce.inputs[0])}, std::move(params)));
    if (axis_remove) {
        Opr remove = make_opr("AxisAddRemove", {mean}, graph.opr(*axis_remove).params);
        remove.comp_nodes = graph.opr(*axis_remove).comp_nodes;
        mean = graph.insert1(std::move(remove));
    }
    return mean;
}

/// Reshape (N, C, H, W) → (N, C, H·W), then mean or maximum over the last axis: pooling to one point.
VarId pooling_for(Workspace& graph, const Rewriter& rewriter, OprId reduce_id) {
    const Opr& reduce = graph.opr(reduce_id);
    if (reduce.type != "Reduce" || reduce.param().integer("axis") != 2) return {};
    const std::string mode = reduce.param().enum_name("mode");
    if (mode != "MAX" && mode != "MEAN") return {};
    const VarId joined = reduce.inputs[0];
    if (!graph.is(joined, "Reshape")) return {};
    const VarId source = graph.producer(joined).inputs[0];
    const Shape* from = graph.shape(source);
    const Shape* to = graph.shape(joined);
    if (!from || !to || to->ndim() != 3 || from->ndim() != 4 || (*from)[2] * (*from)[3] != (*to)[2]) return {};
    Param param = make_param("AdaptivePooling");
    set_enum(param, "mode", mode == "MAX" ? "MAX" : "AVERAGE");
    const VarId x = rewriter.get(source);
    return graph.insert1(make_opr("AdaptivePooling", {x, graph.int32s({1, 1}, x)}, {std::move(param)}));
}

VarId pooling_with_axes(Workspace& graph, const Rewriter& rewriter, const ReaderCount& readers, OprId id) {
    if (!graph.is(id, "AxisAddRemove") || readers(id) > 1) return {};
    const Shape* shape = graph.shape(graph.output(id));
    if (!shape || shape->ndim() != 4 || (*shape)[2] != 1 || (*shape)[3] != 1) return {};
    OprId above = graph.owner(graph.opr(id).inputs[0]);
    while (graph.is(above, "AxisAddRemove")) {
        if (readers(above) != 1) return {};
        above = graph.owner(graph.opr(above).inputs[0]);
    }
    return pooling_for(graph, rewriter, above);
}

VarId pooling_with_dimshuffle(Workspace& graph, const Rewriter& rewriter, OprId id) {
    if (!graph.is(id, "Dimshuffle") || graph.opr(id).param().list("pattern") != std::vector<std::int64_t>{0, 1, -1, -1}) return {};
    const Opr& remove = graph.producer(graph.opr(id).inputs[0]);
    if (remove.type != "AxisAddRemove") return {};
    return pooling_for(graph, rewriter, graph.owner(remove.inputs[0]));
}

} // namespace

std::size_t fold_reduce_mean(Workspace& graph) {
    const ReaderCount readers(graph);
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        if (const VarId mean = mean_for(graph, rewriter, readers, id); mean.valid())
            rewriter.replace(graph.output(id), mean);
        else
            rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

std::size_t fold_global_pooling(Workspace& graph) {
    const ReaderCount readers(graph);
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        VarId pooled = pooling_with_axes(graph, rewriter, readers, id);
        if (!pooled.valid()) pooled = pooling_with_dimshuffle(graph, rewriter, id);
        if (pooled.valid())
            rewriter.replace(graph.output(id), pooled);
        else
            rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

} // namespace megascope
