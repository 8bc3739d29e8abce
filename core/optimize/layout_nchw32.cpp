#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;

/// NCHW4 → NCHW32, the layout of CUDA's tensor cores. Runs after the NCHW4 conversion.
class Nchw32 {
public:
    explicit Nchw32(Workspace& graph) : g_(graph), rewrite_(graph) {
        rewrite_.endpoint_rule([this](VarId fresh, VarId old) {
            return equal_shapes(g_, old, fresh) ? fresh : rewrite_.placeholder(fresh, {F::nchw_c32, F::nchw_c4});
        });
        rewrite_.input_rule([this](OprId, VarId fresh, VarId old) {
            return pack_of(old) == 4 && pack_of(fresh) == 32 ? rewrite_.placeholder(fresh, {F::nchw_c32, F::nchw_c4}) : fresh;
        });
        rewrite_.rule({"ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return conv_bias(id, in); });
        rewrite_.rule({"Elemwise", "TypeCvt", "ElemwiseMultiType", "PowC"},
                      [this](OprId id, const NewInputs& in) { return elementwise(id, in); });
        rewrite_.rule({"Pooling"}, [this](OprId id, const NewInputs& in) { return pooling(id, in); });
        rewrite_.rule({"WarpAffine", "WarpPerspective", "Resize"},
                      [this](OprId id, const NewInputs& in) { return image_opr(id, in); });
        rewrite_.rule({"Reduce", "Concat", "Reshape", "GetVarShape", "Dimshuffle", "BatchConvBiasForward"},
                      [this](OprId id, const NewInputs& in) { return back(id, in, F::nchw_c4); });
    }
    std::size_t run() { return rewrite_.run(); }

private:
    /// Last axis of a 5-dim tensor; 0 otherwise.
    [[nodiscard]] std::int64_t pack_of(VarId x) const { return ndim_of(g_, x) == 5 ? size_of(g_, x, 4) : 0; }
    [[nodiscard]] bool changed(OprId id, std::size_t i, const NewInputs& in) const {
        return !equal_shapes(g_, g_.opr(id).inputs[i], in[i]);
    }

    VarId to_32(OprId id, VarId x) {
        if (pack_of(x) == 4) return rewrite_.placeholder(x, {F::nchw_c4, F::nchw_c32});
        if (ndim_of(g_, x) == 4) return rewrite_.placeholder(x, {F::nchw, F::nchw_c32});
        require(g_, id, pack_of(x) == 32, "One of its inputs is neither in NCHW nor NCHW4 nor NCHW32.");
        return x;
    }
    VarId from_32(OprId id, VarId x, VarId original) {
        if (pack_of(original) == 4) return rewrite_.placeholder(x, {F::nchw_c32, F::nchw_c4});
        if (ndim_of(g_, original) == 4) return rewrite_.placeholder(x, {F::nchw_c32, F::nchw});
        require(g_, id, pack_of(original) == 32, "One of its inputs was neither in NCHW nor NCHW4 nor NCHW32.");
        return x;
    }

    /// Does the convolution fill packs of 32 on both sides? Images smaller than 3×3 stay in NCHW4.
    [[nodiscard]] bool fills_packs(const Opr& conv, VarId src) const {
        if (!g_.shape(conv.inputs[1]) || !g_.shape(src)) return false;
        const Shape& filter = *g_.shape(conv.inputs[1]);
        const Shape& image = *g_.shape(src);
        if (image[2] < 3 || image[3] < 3) return false;
        std::int64_t group = 1, oc = filter[0], ic = filter[1];
        if (is_grouped(conv)) {
            group = filter[0], oc = filter[1], ic = filter[2];
            if (pack_of(src) != 0 && ic == 1 && oc == 1) group *= 4;
        }
        if (pack_of(src) == 4) ic *= 4;
        // An input that is in NCHW32 already says that its channels fill packs. (A group convolution passes here in MegEngine.)
        if (pack_of(src) == 32) return oc % 32 == 0 && !(is_grouped(conv) && oc == 1);
        return group == 1 && oc % 32 == 0 && ic % 32 == 0;
    }

    OprId conv_bias(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (format_of(opr) != ImageFormat::nchw4 || g_.dtype(opr.outputs[0]).id != DTypeId::qint8) {
            for (std::size_t i = 0; i < in.size(); ++i)
                require(g_, id, !changed(id, i, in), "A ConvBias whose output is not qint8 cannot read inputs in NCHW32.");
            return rewrite_.copy(id, in);
        }
        require(g_, id, !changed(id, 1, in), "The filter of a ConvBias must not be changed by other operators.");
        NewInputs now = in;
        if (fills_packs(opr, in[0])) {
            for (VarId& x : now) x = to_32(id, x);
            return rewrite_.with_format(id, now, ImageFormat::nchw32);
        }
        for (std::size_t i = 0; i < in.size(); ++i)
            if (i != 1 && pack_of(in[i]) == 32) now[i] = from_32(id, in[i], opr.inputs[i]);
        return rewrite_.copy(id, now);
    }

    OprId elementwise(OprId id, const NewInputs& in) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < in.size(); ++i) count += changed(id, i, in) ? 1 : 0;
        NewInputs now = in;
        const bool use_32 = count >= in.size() / 2;
        for (std::size_t i = 0; count != 0 && i < in.size(); ++i) {
            if (use_32 && !changed(id, i, in) && !is_scalar_shape(g_, in[i])) now[i] = to_32(id, in[i]);
            if (!use_32 && changed(id, i, in)) now[i] = from_32(id, in[i], g_.opr(id).inputs[i]);
        }
        return rewrite_.copy(id, now);
    }

    OprId pooling(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (format_of(opr) != ImageFormat::nchw4) return image_opr(id, in);
        if (ndim_of(g_, opr.inputs[0]) != 5 || size_of(g_, opr.inputs[0], 1) * 4 % 32 != 0) return rewrite_.copy(id, in);
        NewInputs now = in;
        if (!changed(id, 0, in)) now[0] = rewrite_.placeholder(in[0], {F::nchw_c4, F::nchw_c32});
        return rewrite_.with_format(id, now, ImageFormat::nchw32);
    }

    OprId image_opr(OprId id, const NewInputs& in) {
        const ImageFormat format = format_of(g_.opr(id));
        if (format == ImageFormat::nchw) return back(id, in, F::nchw);
        if (format == ImageFormat::nchw4) return back(id, in, F::nchw_c4);
        for (std::size_t i = 0; i < in.size(); ++i)
            require(g_, id, !changed(id, i, in),
                    "An image operator that is neither in NCHW nor NCHW4 cannot read inputs in NCHW32.");
        return rewrite_.copy(id, in);
    }

    OprId back(OprId id, const NewInputs& in, F to) {
        NewInputs now = in;
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (!changed(id, i, in)) continue;
            require(g_, id, pack_of(g_.opr(id).inputs[i]) == 4 && pack_of(in[i]) == 32,
                    "One of its inputs changed, but not from NCHW4 to NCHW32.");
            now[i] = rewrite_.placeholder(in[i], {F::nchw_c32, to});
        }
        return rewrite_.copy(id, now);
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
};

} // namespace

std::size_t convert_to_nchw32(Workspace& graph) { return Nchw32(graph).run(); }

} // namespace megascope
