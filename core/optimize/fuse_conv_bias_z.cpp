#include <optional>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

constexpr std::int64_t identity = 0, relu = 1, h_swish = 3; // ConvBiasV0NonlineMode

/// The nonlinearity of a ConvBias that takes in this addition; nothing when it is none that can be taken in.
std::optional<std::int64_t> nonlinearity_of(const Opr& opr) {
    if (opr.inputs.size() != 2) return std::nullopt;
    if (opr.type == "Elemwise") {
        const std::string mode = opr.param().enum_name("mode");
        if (mode == "ADD") return identity;
        if (mode == "FUSE_ADD_RELU") return relu;
    } else if (opr.type == "ElemwiseMultiType") {
        const std::string mode = opr.param().enum_name("mode");
        if (mode == "QADD") return identity;
        if (mode == "QFUSE_ADD_RELU") return relu;
        if (mode == "QFUSE_ADD_H_SWISH") return h_swish;
    }
    return std::nullopt;
}

bool format_takes_z(const Opr& conv) {
    const ImageFormat format = format_of(conv);
    return format == ImageFormat::nhwc || format == ImageFormat::nchw || format == ImageFormat::nchw4;
}

VarId fuse(Workspace& graph, Rewriter& rewriter, const UniqueReaders& single_reader, const Opr& opr) {
    const std::optional<std::int64_t> nonlinearity = nonlinearity_of(opr);
    if (!nonlinearity) return {};
    for (std::size_t i = 0; i < 2; ++i) {
        const OprId conv_id = graph.owner(rewriter.get(opr.inputs[i]));
        const Opr& conv = graph.opr(conv_id);
        if (conv.type != "ConvBiasForward" || conv.inputs.size() != 3 || conv.param().integer("nonlineMode") != identity ||
            !single_reader(opr.inputs[i]))
            continue;
        // The first candidate decides, even when z does not fit.
        const VarId z = rewriter.get(opr.inputs[1 - i]);
        const VarId out = conv.outputs.front();
        if (!format_takes_z(conv) || equal_shapes(graph, out, conv.inputs[2]) || !equal_shapes(graph, out, z) ||
            !graph.desc(z).dtype || graph.dtype(out).id != graph.desc(z).dtype->id)
            return {};
        Opr fused = conv;
        fused.inputs.push_back(z);
        fused.params.front().set("nonlineMode", *nonlinearity);
        fused.output_dtype = graph.dtype(opr.outputs.front());
        return graph.output(graph.insert_as(conv_id, std::move(fused)));
    }
    return {};
}

} // namespace

std::size_t fuse_conv_bias_z(Workspace& graph) {
    UniqueReaders single_reader(graph);
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const VarId fused = fuse(graph, rewriter, single_reader, graph.opr(id));
        if (fused.valid()) {
            rewriter.replace(graph.output(id), fused);
            single_reader.update(graph, id, graph.owner(fused));
        } else {
            single_reader.update(graph, id, rewriter.auto_replace(id));
        }
    }
    return rewriter.apply();
}

} // namespace megascope
