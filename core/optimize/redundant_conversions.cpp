#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

/// Is a conversion to `outer` of a conversion to `inner` the same as one conversion to `outer`?
bool inner_is_redundant(const DType& outer, const DType& inner) {
    const bool both_integer = outer.is_integer() && inner.is_integer();
    const bool both_float = outer.is_float() && inner.is_float();
    if ((both_integer || both_float) && inner.bits() >= outer.bits()) return true;
    // float32 holds integers of up to 24 bits exactly.
    return inner.id == DTypeId::float32 && (outer.is_quantized() || (outer.is_integer() && outer.bits() <= 24));
}

bool is_host(const CompNode& node) { return node.locator.starts_with("cpu") || node.locator.starts_with("multithread"); }
bool is_accelerator(const CompNode& node) { return node.locator.starts_with("gpu") || node.locator.starts_with("atlas"); }
/// Where the memory is: type and device, without the stream.
std::string memory_node(const CompNode& node) {
    if (is_host(node)) return "cpu";
    return node.locator.substr(0, node.locator.find(':'));
}
bool can_copy_between(const CompNode& a, const CompNode& b) {
    return memory_node(a) == memory_node(b) || (is_host(a) && is_accelerator(b)) || (is_host(b) && is_accelerator(a));
}

} // namespace

std::size_t remove_redundant_type_cvt(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const Opr& outer = graph.opr(id);
        if (outer.type == "TypeCvt") {
            const VarId in = rewriter.get(outer.inputs[0]);
            if (graph.is(in, "TypeCvt")) {
                const DType target = outer.param().dtype("dtype");
                if (inner_is_redundant(target, graph.producer(in).param().dtype("dtype")))
                    rewriter.replace(graph.output(id), cast(graph, graph.producer(in).inputs[0], target));
                continue;
            }
        }
        rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

std::size_t remove_redundant_copy(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const Opr& outer = graph.opr(id);
        if (outer.type == "Copy") {
            const VarId in = rewriter.get(outer.inputs[0]);
            if (graph.is(in, "Copy")) {
                const VarId source = graph.producer(in).inputs[0];
                const CompNode target = graph.comp_node(graph.output(id));
                if (can_copy_between(graph.comp_node(source), target)) {
                    if (graph.comp_node(source) == target) {
                        rewriter.replace(graph.output(id), source);
                    } else {
                        Opr copy = make_opr("Copy", {source}, outer.params);
                        copy.comp_nodes = {target};
                        rewriter.replace(graph.output(id), graph.insert1(std::move(copy)));
                    }
                    continue;
                }
            }
        }
        rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

std::size_t combine_type_cvt_and_reduce(Workspace& graph) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const Opr& reduce = graph.opr(id);
        if (reduce.type == "Reduce") {
            const VarId in = rewriter.get(reduce.inputs[0]);
            if (graph.is(in, "TypeCvt")) {
                const VarId source = graph.producer(in).inputs[0];
                if (graph.dtype(source).id == DTypeId::float16 && graph.dtype(in).id == DTypeId::float32) {
                    std::vector<VarId> inputs = reduce.inputs;
                    inputs[0] = source;
                    Opr combined = make_opr("Reduce", inputs, reduce.params);
                    set_enum(combined.params[0], "data_type", "FLOAT_O32xC32");
                    combined.comp_nodes = reduce.comp_nodes;
                    rewriter.replace(graph.output(id), graph.insert1(std::move(combined)));
                    continue;
                }
            }
        }
        rewriter.auto_replace(id);
    }
    return rewriter.apply();
}

std::size_t fuse_deconv_type_cvt(Workspace& graph) {
    UniqueReaders readers(graph);
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const Opr& cvt = graph.opr(id);
        if (cvt.type == "TypeCvt" && cvt.param().dtype("dtype").id == DTypeId::qint8) {
            const VarId in = rewriter.get(cvt.inputs[0]);
            const Opr& deconv = graph.producer(in);
            if (deconv.type == "ConvolutionBackwardData" && readers(in)) {
                const std::vector<VarId> inputs(deconv.inputs.begin(), deconv.inputs.begin() + 2);
                Opr fused = make_opr("ConvolutionBackwardData", inputs, deconv.params);
                fused.comp_nodes = deconv.comp_nodes;
                fused.output_dtype = cvt.param().dtype("dtype");
                const OprId fresh = graph.insert(std::move(fused));
                rewriter.replace(graph.output(id), graph.output(fresh));
                readers.update(graph, id, fresh);
                continue;
            }
        }
        readers.update(graph, id, rewriter.auto_replace(id));
    }
    return rewriter.apply();
}

} // namespace megascope
