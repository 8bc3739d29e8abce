#include <optional>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;

/// NCHW → NCHW4 for operators that are not float32.
class Nchw4 {
public:
    explicit Nchw4(Workspace& graph) : g_(graph), rewrite_(graph) {
        rewrite_.endpoint_rule([this](VarId fresh, VarId old) { return equal_shapes(g_, old, fresh) ? fresh : unpacked(fresh); });
        rewrite_.rule({"Convolution"}, [this](OprId id, const NewInputs& in) { return convolution(id, in); });
        rewrite_.rule({"ConvolutionBackwardData"}, [this](OprId id, const NewInputs& in) { return deconvolution(id, in); });
        rewrite_.rule({"ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return conv_bias(id, in); });
        rewrite_.rule({"BatchConvBiasForward"}, [this](OprId id, const NewInputs& in) { return batch_conv_bias(id, in); });
        rewrite_.rule({"Pooling", "Resize", "WarpPerspective"},
                      [this](OprId id, const NewInputs& in) { return image_opr(id, in); });
        rewrite_.rule({"Elemwise", "TypeCvt", "ElemwiseMultiType", "PowC"},
                      [this](OprId id, const NewInputs& in) { return elementwise(id, in); });
        rewrite_.input_rule([this](OprId id, VarId fresh, VarId old) {
            if (ndim_of(g_, old) != 4 || !is_packed(fresh)) return fresh;
            // MegEngine lets a Reshape read the packed tensor, which gives the same elements in the same order for 1×1 images
            // only.
            const bool same_order = size_of(g_, fresh, 2) == 1 && size_of(g_, fresh, 3) == 1;
            return same_order && g_.is(id, "Reshape") ? fresh : unpacked(fresh);
        });
        rewrite_.rule({"Concat", "Subtensor", "GetVarShape", "Dimshuffle", "Reduce", "AssertEqual", "IncrSubtensor", "WarpAffine",
                       "AdaptivePooling"},
                      [this](OprId id, const NewInputs& in) { return unpacked_inputs(id, in); });
    }
    std::size_t run() { return rewrite_.run(); }

private:
    struct Choice {
        RelayoutKey weight;
        RelayoutKey source;
    };
    static constexpr RelayoutKey to_packed{F::nchw, F::nchw_c4};

    VarId unpacked(VarId x) { return rewrite_.placeholder(x, {F::nchw_c4, F::nchw}); }
    [[nodiscard]] bool is_float32(VarId x) const { return g_.dtype(x).id == DTypeId::float32; }
    [[nodiscard]] bool is_packed(VarId x) const { return ndim_of(g_, x) == 5; }

    /// Nothing = the filter's channels do not fill packs, or a shape is not known.
    [[nodiscard]] std::optional<Choice> choose(OprId id, VarId filter_var, VarId source) const {
        if (!g_.shape(filter_var) || !g_.shape(source)) return std::nullopt;
        const Shape& filter = *g_.shape(filter_var);
        if (!is_grouped(g_.opr(id))) {
            require(g_, id, filter.ndim() == 4, "The filter of a dense convolution in NCHW must have 4 axes.");
            if (filter[0] % 4 != 0) return std::nullopt;
            if (filter[1] < 4) return Choice{{F::kcrs, F::kcrs_c4, true}, {F::nchw, F::nchw_c4, true}};
            if (filter[1] % 4 != 0) return std::nullopt;
            return Choice{{F::kcrs, F::kcrs_c4}, to_packed};
        }
        require(g_, id, filter.ndim() == 5, "The filter of a group convolution in NCHW must have 5 axes.");
        if (filter[1] % 4 != 0 || filter[2] % 4 != 0) return std::nullopt;
        return Choice{{F::gkcrs, F::gkcrs_c4}, to_packed};
    }

    VarId packed_source(VarId x, const RelayoutKey& key) { return is_packed(x) ? x : rewrite_.placeholder(x, key); }
    /// Bias and z: float ones stay as they are.
    VarId packed_addend(VarId x) { return !is_float32(x) && ndim_of(g_, x) == 4 ? rewrite_.placeholder(x, to_packed) : x; }

    OprId convolution(OprId id, const NewInputs& in) {
        if (is_float32(in[0]) || format_of(g_.opr(id)) != ImageFormat::nchw) return rewrite_.copy(id, in);
        const std::optional<Choice> choice = choose(id, in[1], in[0]);
        if (!choice) return unpacked_inputs(id, in);
        const VarId src = packed_source(in[0], choice->source);
        const VarId filter = rewrite_.placeholder(in[1], choice->weight);
        return rewrite_.with_format(id, {src, filter}, ImageFormat::nchw4);
    }

    OprId deconvolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (is_float32(in[1]) || format_of(opr) != ImageFormat::nchw || is_grouped(opr)) return rewrite_.copy(id, in);
        const std::optional<Choice> choice = choose(id, in[0], in[1]);
        if (!choice) return unpacked_inputs(id, in);
        const VarId src = packed_source(in[1], choice->source);
        const VarId filter = rewrite_.placeholder(in[0], choice->weight);
        return rewrite_.with_format(id, {filter, src}, ImageFormat::nchw4);
    }

    OprId conv_bias(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (is_float32(in[0]) || format_of(opr) != ImageFormat::nchw) return rewrite_.copy(id, in);
        const std::optional<Choice> choice = choose(id, in[1], in[0]);
        if (!choice) return unpacked_inputs(id, in);
        NewInputs now = in;
        now[0] = packed_source(in[0], choice->source);
        now[1] = rewrite_.placeholder(in[1], choice->weight);
        for (std::size_t i = 2; i < in.size(); ++i) now[i] = packed_addend(in[i]);
        return rewrite_.with_format(id, now, is_float32(opr.outputs[0]) ? ImageFormat::nchw4_nchw : ImageFormat::nchw4);
    }

    OprId batch_conv_bias(OprId id, const NewInputs& in) {
        if (is_float32(in[0]) || format_of(g_.opr(id)) != ImageFormat::nchw || !g_.shape(in[0])) return rewrite_.copy(id, in);
        NewInputs now = in;
        now[0] = packed_source(in[0], to_packed);
        now[1] = rewrite_.placeholder(in[1], {F::gkcrs, F::gkcrs_c4});
        for (std::size_t i = 2; i < in.size(); ++i)
            if (ndim_of(g_, in[i]) == 4) now[i] = rewrite_.placeholder(in[i], to_packed);
        return rewrite_.with_format(id, now, ImageFormat::nchw4);
    }

    OprId image_opr(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (is_float32(in[0])) return rewrite_.copy(id, in);
        if (opr.type == "Pooling" && format_of(opr) != ImageFormat::nchw) return id;
        if (!is_packed(in[0])) return rewrite_.copy(id, in);
        require(g_, id, g_.dtype(in[0]).id == DTypeId::qint8, "Only qint8 images can be in NCHW4 here.");
        return rewrite_.with_format(id, in, ImageFormat::nchw4);
    }

    OprId elementwise(OprId id, const NewInputs& in) {
        bool any_packed = false;
        for (const VarId x : in) any_packed |= is_packed(x);
        NewInputs now = in;
        for (VarId& x : now) {
            if (!any_packed) break;
            if (ndim_of(g_, x) == 4)
                x = rewrite_.placeholder(x, to_packed);
            else
                require(g_, id, is_packed(x) || is_scalar_shape(g_, x),
                        "It mixes a tensor in NCHW4 with one that has neither 4 nor 5 axes nor one element.");
        }
        return rewrite_.copy(id, now);
    }

    OprId unpacked_inputs(OprId id, const NewInputs& in) {
        NewInputs now = in;
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (equal_shapes(g_, g_.opr(id).inputs[i], in[i])) continue;
            require(g_, id, ndim_of(g_, g_.opr(id).inputs[i]) == 4 && is_packed(in[i]),
                    "One of its inputs changed to a layout that cannot be changed back to NCHW.");
            now[i] = unpacked(in[i]);
        }
        return rewrite_.copy(id, now);
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
};

} // namespace

std::size_t convert_to_nchw4(Workspace& graph) { return Nchw4(graph).run(); }

} // namespace megascope
