#pragma once

#include <memory>
#include <optional>

#include "graph/graph.h"
#include "graph/rewriter.h"
#include "opr/elemwise_mode.h"
#include "tensor/element.h"

namespace megascope::test {

/// The graph as it was before the converters for older readers, where they left MIN(MAX(x, 0), 6): RELU6 again.
inline std::shared_ptr<const Graph> with_relu6(const Graph& graph) {
    const auto mode = [&](VarId var) -> std::optional<ElemwiseMode> {
        const Opr& opr = graph.producer(var);
        if (opr.type != "Elemwise") return std::nullopt;
        return static_cast<ElemwiseMode>(opr.param().integer("mode"));
    };
    const auto number = [&](VarId var) -> std::optional<double> {
        const Opr& opr = graph.producer(var);
        if (opr.type != "ImmutableTensor" || !opr.tensors[0].value() || opr.tensors[0].value()->elements() != 1) return std::nullopt;
        return real_at(opr.tensors[0].value()->ref(), 0);
    };
    // The other operand when one is that number.
    const auto beside = [&](const Opr& opr, double value) -> VarId {
        if (number(opr.inputs[0]) == value) return opr.inputs[1];
        if (number(opr.inputs[1]) == value) return opr.inputs[0];
        return {};
    };
    GraphRewriter rewriter(graph);
    for (const Opr& opr : graph.oprs()) {
        if (mode(opr.outputs[0]) == ElemwiseMode::min) {
            const VarId inner = beside(opr, 6);
            if (inner.valid() && mode(inner) == ElemwiseMode::max) {
                if (const VarId x = beside(graph.producer(inner), 0); x.valid()) {
                    Opr relu = opr;
                    relu.inputs = {rewriter.translated(x)};
                    relu.params[0].set("mode", static_cast<std::int64_t>(ElemwiseMode::relu6));
                    const OprId id = *rewriter.add(std::move(relu), 1);
                    const VarId out = rewriter.opr(id).outputs[0];
                    rewriter.var(out).name = graph.var(opr.outputs[0]).name;
                    rewriter.translate(opr.outputs[0], out);
                    continue;
                }
            }
        }
        (void)rewriter.copy(opr.id);
    }
    const auto restored = rewriter.finish();
    return without_unused(**restored).graph;
}

} // namespace megascope::test
