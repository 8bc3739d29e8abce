#include <algorithm>
#include <array>

#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

constexpr DTypeId f16 = DTypeId::float16;
constexpr DTypeId f32 = DTypeId::float32;

class Float16Converter {
public:
    Float16Converter(Workspace& graph, bool float32_compute) : graph_(graph), rewriter_(graph), float32_compute_(float32_compute) {
        rewriter_.unchecked(true, false);
    }

    std::size_t run() {
        std::vector<DType> wanted;
        for (const VarId var : graph_.endpoints()) wanted.push_back(graph_.dtype(var));
        for (const OprId id : graph_.order()) visit(id);
        std::size_t count = rewriter_.apply();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const VarId var = graph_.endpoints()[i];
            if (graph_.dtype(var).id == wanted[i].id) continue;
            const VarId back = cast(graph_, var, wanted[i]);
            if (graph_.has_given_name(var) && !graph_.has_given_name(back)) graph_.set_name(back, graph_.name(var));
            graph_.set_endpoint(i, back);
            ++count;
        }
        return count;
    }

private:
    void visit(OprId id) {
        const Opr& opr = graph_.opr(id);
        if (opr.type == "Host2DeviceCopy" || opr.type == "SharedDeviceTensor" || opr.type == "ImmutableTensor" ||
            opr.type.starts_with("MultipleDeviceTensor")) {
            const std::vector<VarId> outputs = opr.outputs;
            for (const VarId out : outputs)
                if (graph_.dtype(out).id == f32) rewriter_.replace(out, cast(graph_, out, f16));
            return;
        }
        if (opr.type == "Linspace") {
            // MegEngine does not look at what replaced its inputs here.
            if (graph_.dtype(opr.outputs[0]).id != f16) rewriter_.replace(opr.outputs[0], cast(graph_, opr.outputs[0], f16));
            return;
        }
        std::vector<VarId> in;
        for (const VarId var : opr.inputs) in.push_back(rewriter_.get(var));
        if (opr.type == "TypeCvt") {
            const DType target = opr.param().dtype("dtype");
            Opr copy = opr;
            if (target.id == f32) copy.params[0].set("dtype", DType(f16));
            put(id, std::move(copy), in);
        } else if (computes(opr.type)) {
            if (opr.type != "MatrixMul") want_float16(id, in);
            Opr copy = opr;
            if (float32_compute_) set_enum(copy.params[0], "compute_mode", "FLOAT32");
            put(id, std::move(copy), in);
        } else if (opr.type == "Reduce") {
            Opr copy = opr;
            if (float32_compute_ && graph_.dtype(opr.inputs[0]).is_float()) set_enum(copy.params[0], "data_type", "FLOAT_O16xC32");
            put(id, std::move(copy), in);
        } else if (opr.type == "WarpPerspective" || opr.type == "Remap") {
            in[1] = as_float32(in[1]);
            put(id, opr, in);
        } else {
            rewriter_.auto_replace(id);
        }
    }

    static bool computes(const std::string& type) {
        constexpr std::array<std::string_view, 5> types = {"Convolution", "ConvolutionBackwardData", "ConvBiasForward", "MatrixMul",
                                                           "BatchedMatrixMul"};
        return std::ranges::find(types, type) != types.end();
    }

    void want_float16(OprId id, const std::vector<VarId>& in) {
        for (std::size_t i = 0; i < 2; ++i)
            if (graph_.dtype(in[i]).id != f16)
                rewrite_failed("A graph with operators on " + graph_.dtype(in[i]).text() + " cannot be converted to float16.",
                               graph_.display_name(id));
    }

    /// Coordinates stay float32: a conversion right before is undone.
    VarId as_float32(VarId var) {
        if (graph_.dtype(var).id == f32) return var;
        if (graph_.is(var, "TypeCvt") && graph_.dtype(graph_.producer(var).inputs[0]).id == f32) return graph_.producer(var).inputs[0];
        return cast(graph_, var, f32);
    }

    /// Replaces the operator by `copy` on other inputs; its name and config are kept.
    void put(OprId id, Opr copy, const std::vector<VarId>& in) {
        copy.inputs = in;
        if (copy.type == "TypeCvt" && graph_.dtype(in[0]) == copy.param().dtype("dtype")) {
            rewriter_.replace(graph_.output(id), in[0]);
            return;
        }
        const OprId fresh = graph_.insert_as(id, std::move(copy));
        const std::vector<VarId> from = graph_.opr(id).outputs;
        const std::vector<VarId> to = graph_.opr(fresh).outputs;
        for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) rewriter_.replace(from[i], to[i]);
    }

    Workspace& graph_;
    Rewriter rewriter_;
    bool float32_compute_;
};

} // namespace

std::size_t convert_to_float16(Workspace& graph) { return Float16Converter(graph, false).run(); }
std::size_t convert_to_float16_io(Workspace& graph) { return Float16Converter(graph, true).run(); }

} // namespace megascope
