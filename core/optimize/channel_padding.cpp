#include <algorithm>
#include <unordered_set>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

/// Zero channels for operators whose channels do not fill the packs of a layout.
class Padding {
public:
    Padding(Workspace& graph, LayoutTransform layout, bool weights_only)
        : g_(graph), rewrite_(graph), layout_(layout), weights_only_(weights_only) {
        rewrite_.check(true, false);
        rewrite_.endpoint_rule([this](VarId fresh, VarId old) { return equal_shapes(g_, old, fresh) ? fresh : cut(fresh, old); });
        rewrite_.input_rule([this](OprId, VarId fresh, VarId old) { return padded(old) ? cut(fresh, old) : fresh; });
        if (layout == LayoutTransform::nchw64) {
            rule({"ConvBiasForward"}, &Padding::conv_bias_nchw64);
            rule({"ConvolutionBackwardData"}, &Padding::deconvolution_nchw64);
        } else {
            if (layout != LayoutTransform::nhwcd4) rule({"ConvBiasForward", "Convolution"}, &Padding::convolution);
            rule({"ConvolutionBackwardData"}, &Padding::deconvolution);
        }
        rule({"Pooling", "WarpPerspective", "WarpAffine", "AdaptivePooling", "Resize"}, &Padding::image_opr);
        rule({"ElemwiseMultiType", "Elemwise", "TypeCvt", "PowC"}, &Padding::elementwise);
        rule({"Reduce", "Subtensor"}, &Padding::conditional);
        rule({"Reshape", "AxisAddRemove", "GetVarShape", "Concat", "Dimshuffle", "Argmax", "Argmin", "IncrSubtensor",
              "AssertEqual"},
             &Padding::cut_inputs);
    }
    std::size_t run() { return rewrite_.run(); }

private:
    using Member = OprId (Padding::*)(OprId, const NewInputs&);
    void rule(std::initializer_list<std::string_view> types, Member member) {
        rewrite_.rule(types, [this, member](OprId id, const NewInputs& in) {
            for (const VarId x : g_.opr(id).inputs)
                if (!g_.shape(x)) return cut_inputs(id, in); // nothing can be said about dynamic shapes
            return (this->*member)(id, in);
        });
    }

    [[nodiscard]] bool padded(VarId old) const { return padded_.contains(g_.owner(old)); }
    static std::int64_t missing(std::int64_t channels, std::int64_t pack) { return (pack - channels % pack) % pack; }
    /// Channels that are missing to a full pack; `known` tells whether this dtype is padded at all.
    [[nodiscard]] bool pads(const DType& dtype) const {
        if (layout_ == LayoutTransform::nchw64)
            return dtype.id == DTypeId::qint4 || dtype.id == DTypeId::quint4 || dtype.id == DTypeId::qint8;
        return dtype.id == DTypeId::qint8 || dtype.id == DTypeId::quint8 || dtype.id == DTypeId::float32 ||
               dtype.id == DTypeId::float16;
    }
    [[nodiscard]] std::int64_t missing_channels(const DType& dtype, std::int64_t channels, bool convolution) const {
        if (layout_ == LayoutTransform::nchw88) return missing(channels, 8);
        if (layout_ != LayoutTransform::nchw64) return missing(channels, 4);
        if (dtype.id != DTypeId::qint8) return channels <= 32 ? missing(channels, 8) : missing(channels, 64);
        return convolution && channels > 16 ? missing(channels, 32) : missing(channels, 4);
    }

    VarId with_zeros(VarId x, std::size_t axis, std::int64_t count) {
        Shape shape = *g_.shape(x);
        shape[axis] = count;
        const DType dtype = g_.dtype(x);
        TensorBuffer zeros(dtype, shape);
        std::ranges::fill(zeros.bytes(), std::byte{0});
        const VarId padding = g_.immutable(std::move(zeros).freeze(), x, std::string());
        Param param = make_param("Axis");
        param.set("axis", static_cast<std::int64_t>(axis));
        return g_.insert1(make_opr("Concat", {x, padding}, {std::move(param)}));
    }
    [[nodiscard]] bool is_channel_wise_filter(VarId x) const {
        return ndim_of(g_, x) == 5 && size_of(g_, x, 1) == 1 && size_of(g_, x, 2) == 1;
    }
    VarId pad_in(OprId id, VarId x, std::int64_t count) {
        if (ndim_of(g_, x) == 4) return with_zeros(x, 1, count);
        require(g_, id, is_channel_wise_filter(x), "The channels of a group convolution cannot be padded.");
        return with_zeros(x, 0, count);
    }
    VarId pad_out(OprId id, VarId x, std::int64_t count) {
        require(g_, id, ndim_of(g_, x) == 4 || is_channel_wise_filter(x),
                "The channels of a group convolution cannot be padded.");
        return with_zeros(x, 0, count);
    }

    /// The channels that `old` has, of a padded tensor.
    VarId cut(VarId x, VarId old) {
        const Shape &now = *g_.shape(x), &before = *g_.shape(old);
        require(g_, g_.owner(old),
                now.ndim() == 4 && before.ndim() == 4 && now[0] == before[0] && now[2] == before[2] && now[3] == before[3],
                "Padded channels can only be cut off an image in NCHW.");
        if (now[1] == before[1]) return x;
        std::vector<VarId> inputs = {x};
        std::vector<IndexItem> items;
        for (std::int8_t axis = 0; axis < 4; ++axis) {
            inputs.push_back(g_.scalar(axis == 1 ? static_cast<double>(before[1]) : 1.0, DTypeId::int32, x));
            items.push_back({.axis = axis, .end = axis == 1, .step = axis != 1});
        }
        Param param = make_param("IndexDescMaskDump");
        param.set("items", std::move(items));
        return g_.insert1(make_opr("Subtensor", inputs, {std::move(param)}));
    }

    /// Dense convolution: output channels are filled up; input channels follow what the input already has.
    OprId dense_convolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, equal_shapes(g_, opr.inputs[1], in[1]),
                "The filter of a convolution must not be padded by other operators.");
        const DType dtype = g_.dtype(opr.inputs[0]);
        if (!pads(dtype)) return rewrite_.copy(id, in);
        NewInputs now = in;
        const std::int64_t ic = size_of(g_, opr.inputs[1], 1), new_ic = size_of(g_, in[0], 1);
        if (padded(opr.inputs[0])) {
            // The producer's dtype may differ, and with it what its channels were filled up to.
            const std::int64_t more = weights_only_ ? 0 : missing_channels(dtype, new_ic, true);
            std::int64_t filter_more = missing_channels(dtype, ic, true);
            if (more != 0)
                now[0] = pad_in(id, in[0], more);
            else
                filter_more = new_ic - ic;
            if (filter_more != 0) now[1] = pad_in(id, in[1], filter_more);
        } else {
            require(g_, id, new_ic == ic, "Its input has another number of channels than its filter.");
            const std::int64_t more = missing_channels(dtype, ic, true);
            if (more != 0 && !weights_only_) {
                now[0] = pad_in(id, in[0], more);
                now[1] = pad_in(id, in[1], more);
            }
        }
        const std::int64_t more = missing_channels(dtype, size_of(g_, now[1], 0), true);
        if (more != 0) {
            now[1] = pad_out(id, now[1], more);
            // A bias of the output's size may come from a padded operator. (MegEngine pads it again; such a dump cannot run.)
            if (const std::int64_t bias_more = now.size() >= 3 ? size_of(g_, now[1], 0) - size_of(g_, now[2], 1) : 0;
                bias_more > 0)
                now[2] = pad_in(id, now[2], bias_more);
            padded_.insert(id);
        }
        return rewrite_.copy(id, now);
    }

    OprId convolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (ndim_of(g_, opr.inputs[1]) == 4) return dense_convolution(id, in);
        require(g_, id, format_of(opr) == ImageFormat::nchw && ndim_of(g_, opr.inputs[1]) == 5,
                "Only convolutions in NCHW can be converted to a packed layout.");
        if (!is_channel_wise_filter(opr.inputs[1])) return cut_inputs(id, in);
        require(g_, id, equal_shapes(g_, opr.inputs[1], in[1]),
                "The filter of a convolution must not be padded by other operators.");
        NewInputs now = in;
        if (pads(g_.dtype(opr.inputs[0])) && padded(opr.inputs[0])) {
            const std::int64_t more = size_of(g_, in[0], 1) - size_of(g_, opr.inputs[1], 0);
            if (more != 0) {
                now[1] = pad_in(id, in[1], more);
                if (in.size() >= 3 && !padded(opr.inputs[2])) now[2] = pad_in(id, in[2], more);
                padded_.insert(id);
            }
        }
        return rewrite_.copy(id, now);
    }

    OprId conv_bias_nchw64(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, ndim_of(g_, opr.inputs[1]) == 4,
                "The NCHW64 layout only supports padding channels in dense convolutions.");
        if (pads(g_.dtype(opr.inputs[0]))) return dense_convolution(id, in);
        return not_padded(id, in, 0);
    }

    OprId not_padded(OprId id, const NewInputs& in, std::size_t source) {
        const VarId x = g_.opr(id).inputs[source];
        require(g_, id, !padded(x),
                "It computes in " + g_.dtype(x).text() + ", for which channels cannot be padded, but its input " + g_.name(x) +
                    " is padded.");
        return rewrite_.copy(id, in);
    }

    OprId deconvolution_nchw64(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        if (g_.dtype(opr.inputs[1]).id != DTypeId::qint8) return not_padded(id, in, 0);
        require(g_, id, in.size() == 2, "A deconvolution for inference has 2 inputs.");
        const DType dtype = g_.dtype(opr.inputs[1]);
        const std::int64_t oc = size_of(g_, opr.inputs[0], 0), ic = size_of(g_, opr.inputs[0], 1);
        NewInputs now = in;
        if (padded(opr.inputs[1])) {
            now[0] = pad_out(id, in[0], size_of(g_, in[1], 1) - oc);
        } else if (const std::int64_t more = weights_only_ ? 0 : missing_channels(dtype, oc, false); more > 0) {
            now[0] = pad_out(id, in[0], more);
            now[1] = pad_in(id, in[1], more);
        }
        if (const std::int64_t more = missing_channels(dtype, ic, false); more > 0) {
            now[0] = pad_in(id, now[0], more);
            padded_.insert(id);
        }
        return rewrite_.copy(id, now);
    }

    OprId deconvolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        NewInputs now = in;
        if (padded(opr.inputs[1])) now[0] = pad_out(id, in[0], size_of(g_, in[1], 1) - size_of(g_, opr.inputs[0], 0));
        return rewrite_.copy(id, now);
    }

    OprId image_opr(OprId id, const NewInputs& in) {
        const VarId x = g_.opr(id).inputs[0];
        if (layout_ == LayoutTransform::nchw64 && !pads(g_.dtype(x))) return not_padded(id, in, 0);
        if (padded(x)) padded_.insert(id);
        return rewrite_.copy(id, in);
    }

    /// Passes padding on when all inputs have the same; otherwise cuts it off.
    OprId elementwise(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        bool any = false, all = true;
        std::int64_t channels = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (is_scalar_shape(g_, opr.inputs[i])) continue;
            bool same = true;
            if (padded(opr.inputs[i])) {
                any = true;
                const std::int64_t now = size_of(g_, in[i], 1);
                if (channels == 0)
                    channels = now;
                else
                    same = channels == now;
            }
            all &= padded(opr.inputs[i]) && same;
        }
        if (any && !all) return cut_inputs(id, in);
        if (any) padded_.insert(id);
        return rewrite_.copy(id, in);
    }

    /// Reduce and Subtensor pass padding on unless they work along the channels.
    OprId conditional(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        bool forwards = true;
        const auto ndim = static_cast<std::int64_t>(ndim_of(g_, opr.inputs[0]));
        if (opr.type == "Reduce") {
            std::int64_t axis = opr.param().integer("axis");
            if (axis < 0) axis += ndim;
            forwards = in.size() == 1 && axis != 1;
        } else {
            for (const IndexItem& item : opr.param().index("items")) {
                const std::int64_t axis = item.axis < 0 ? item.axis + ndim : item.axis;
                if (axis == 1) forwards &= item.idx || item.end;
            }
        }
        if (!forwards) return cut_inputs(id, in);
        for (const VarId x : opr.inputs)
            if (padded(x)) padded_.insert(id);
        return rewrite_.copy(id, in);
    }

    OprId cut_inputs(OprId id, const NewInputs& in) {
        NewInputs now = in;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (padded(g_.opr(id).inputs[i])) now[i] = cut(in[i], g_.opr(id).inputs[i]);
        return rewrite_.copy(id, now);
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
    LayoutTransform layout_;
    bool weights_only_;
    std::unordered_set<OprId> padded_; ///< operators of the old graph whose outputs got more channels
};

} // namespace

std::size_t pad_channels(Workspace& graph, LayoutTransform layout, bool weights_only) {
    return Padding(graph, layout, weights_only).run();
}

} // namespace megascope
