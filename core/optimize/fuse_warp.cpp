#include <optional>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

struct Match {
    OprId warp;
    ImageFormat format;
};

bool has_dtype(const Workspace& graph, VarId x, DTypeId id) { return graph.desc(x).dtype && graph.desc(x).dtype->id == id; }

bool eight_bits(const Workspace& graph, VarId x) {
    return has_dtype(graph, x, DTypeId::uint8) || has_dtype(graph, x, DTypeId::quint8);
}

std::optional<Match> find(const Workspace& graph, const UniqueReaders& single_reader, const Opr& last) {
    const bool to_float = last.type == "TypeCvt" && has_dtype(graph, last.outputs[0], DTypeId::float32);
    const bool to_nchw4 = last.type == "RelayoutFormat" && last.param().enum_name("mode") == "NCHW_NCHW4" &&
                          has_dtype(graph, last.outputs[0], DTypeId::qint8);
    if ((!to_float && !to_nchw4) || !single_reader(last.inputs[0])) return std::nullopt;
    const OprId before = graph.owner(last.inputs[0]);
    const Opr& opr = graph.opr(before);
    if (opr.type == "WarpPerspective") {
        if (!eight_bits(graph, opr.inputs[0]) || format_of(opr) != ImageFormat::nchw || !single_reader(opr.inputs[0]))
            return std::nullopt;
        if (to_float) return Match{before, ImageFormat::nchw};
        if (ndim_of(graph, opr.inputs[0]) < 2 || size_of(graph, opr.inputs[0], 1) >= 4) return std::nullopt;
        return Match{before, ImageFormat::nchw_nchw4_ic_small};
    }
    if (opr.type != "Dimshuffle" || opr.param().list("pattern") != std::vector<std::int64_t>{0, 3, 1, 2} ||
        !single_reader(opr.inputs[0]))
        return std::nullopt;
    const OprId warp_id = graph.owner(opr.inputs[0]);
    const Opr& warp = graph.opr(warp_id);
    if (warp.type != "WarpPerspective" || !eight_bits(graph, warp.inputs[0]) || format_of(warp) != ImageFormat::nhwc)
        return std::nullopt;
    if (to_float) return Match{warp_id, ImageFormat::nhwc_nchw};
    if (ndim_of(graph, warp.inputs[0]) < 4 || size_of(graph, warp.inputs[0], 3) >= 4) return std::nullopt;
    return Match{warp_id, ImageFormat::nhwc_nchw4_ic_small};
}

VarId fuse(Workspace& graph, const Rewriter& rewriter, const Match& match, const DType& dtype) {
    Opr fused = graph.opr(match.warp);
    for (VarId& in : fused.inputs) in = rewriter.get(in);
    fused.params.front().set("format", static_cast<std::int64_t>(match.format));
    fused.output_dtype = dtype;
    return graph.output(graph.insert_as(match.warp, std::move(fused)));
}

} // namespace

std::size_t fuse_warp(Workspace& graph) {
    const UniqueReaders single_reader(graph);
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const std::optional<Match> match = find(graph, single_reader, graph.opr(id));
        if (match)
            rewriter.replace(graph.output(id), fuse(graph, rewriter, *match, graph.dtype(graph.output(id))));
        else
            rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

} // namespace megascope
