#include <unordered_set>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;

/// NCHW4 → CHWN4. Runs after the NCHW4 conversion. Shapes do not tell the two apart, so the converted vars are remembered.
class Chwn4 {
public:
    explicit Chwn4(Workspace& graph) : g_(graph), rewrite_(graph) {
        rewrite_.endpoint_rule([this](VarId fresh, VarId) { return changed(fresh) ? back(fresh) : fresh; });
        rewrite_.input_rule([this](OprId, VarId fresh, VarId) { return changed(fresh) ? back(fresh) : fresh; });
        rewrite_.rule({"ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return conv_bias(id, in); });
        rewrite_.rule({"Elemwise", "TypeCvt", "ElemwiseMultiType", "PowC"},
                      [this](OprId id, const NewInputs& in) { return elementwise(id, in); });
        rewrite_.rule({"Pooling"}, [this](OprId id, const NewInputs& in) { return pooling(id, in); });
        rewrite_.rule({"WarpAffine", "WarpPerspective", "Resize"}, [this](OprId id, const NewInputs& in) {
            if (format_of(g_.opr(id)) != ImageFormat::nchw4) return unchanged(id, in);
            return inputs_back(id, in);
        });
        rewrite_.rule({"Reduce", "Concat", "Reshape", "GetVarShape", "Dimshuffle", "BatchConvBiasForward"},
                      [this](OprId id, const NewInputs& in) { return inputs_back(id, in); });
    }
    std::size_t run() { return rewrite_.run(); }

private:
    [[nodiscard]] bool changed(VarId x) const { return changed_.contains(x); }
    VarId converted(OprId id, VarId x) {
        if (changed(x)) return x;
        if (ndim_of(g_, x) != 5)
            rewrite_failed("Only tensors in NCHW4 become CHWN4, but its input " + g_.name(x) + " has the shape " +
                               (g_.shape(x) ? g_.shape(x)->text() : std::string("that is not known")) + ".",
                           opr_text(g_, id));
        return rewrite_.placeholder(x, {F::nchw_c4, F::chwn_c4});
    }
    VarId back(VarId x) { return rewrite_.placeholder(x, {F::chwn_c4, F::nchw_c4}); }
    OprId remember(OprId fresh) {
        changed_.insert(g_.output(fresh));
        return fresh;
    }

    OprId unchanged(OprId id, const NewInputs& in) {
        for (const VarId x : in)
            require(g_, id, !changed(x), "It does not work in NCHW4, so none of its inputs may be in CHWN4.");
        return rewrite_.copy(id, in);
    }

    OprId conv_bias(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (format_of(opr) != ImageFormat::nchw4 || g_.dtype(opr.outputs[0]).id != DTypeId::qint8) return unchanged(id, in);
        require(g_, id, !changed(in[1]), "The filter of a ConvBias must not be changed by other operators.");
        NewInputs now = in;
        for (VarId& x : now) x = converted(id, x);
        return remember(rewrite_.with_format(id, now, ImageFormat::chwn4));
    }

    OprId elementwise(OprId id, const NewInputs& in) {
        std::size_t count = 0;
        for (const VarId x : in) count += changed(x) ? 1 : 0;
        if (count == 0) return rewrite_.copy(id, in);
        NewInputs now = in;
        const bool convert = count >= in.size() / 2;
        for (VarId& x : now) x = convert ? converted(id, x) : changed(x) ? back(x) : x;
        const OprId fresh = rewrite_.copy(id, now);
        return convert ? remember(fresh) : fresh;
    }

    OprId pooling(OprId id, const NewInputs& in) {
        if (format_of(g_.opr(id)) != ImageFormat::nchw4) return unchanged(id, in);
        if (!changed(in[0])) return rewrite_.copy(id, in);
        return remember(rewrite_.with_format(id, in, ImageFormat::chwn4));
    }

    OprId inputs_back(OprId id, const NewInputs& in) {
        NewInputs now = in;
        for (VarId& x : now)
            if (changed(x)) x = back(x);
        return rewrite_.copy(id, now);
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
    std::unordered_set<VarId> changed_;
};

} // namespace

std::size_t convert_to_chwn4(Workspace& graph) { return Chwn4(graph).run(); }

} // namespace megascope
