#include <algorithm>
#include <optional>
#include <unordered_map>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

/// NCHW → NHWCD4, tensors being images of an OpenCL device: [N, H, C/4, W, 4].
class Nhwcd4 {
public:
    explicit Nhwcd4(Workspace& graph) : g_(graph), rewrite_(graph) {
        rewrite_.endpoint_rule([this](VarId fresh, VarId) { return is_image(fresh) ? from_image(fresh) : fresh; });
        rewrite_.input_rule([this](OprId id, VarId fresh, VarId old) {
            const std::string& type = g_.opr(id).type;
            const bool elementwise = type == "ElemwiseMultiType" || type == "TypeCvt" || type == "PowC";
            require(g_, id, elementwise || !is_image(fresh) || is_image(old),
                    "It has no form for NHWCD4 images, and one of its inputs would be one.");
            return fresh;
        });
        rewrite_.rule({"Convolution", "ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return convolution(id, in); });
        rewrite_.rule({"ConvolutionBackwardData"}, [this](OprId id, const NewInputs& in) { return deconvolution(id, in); });
        rewrite_.rule({"Pooling", "Resize", "WarpPerspective", "WarpAffine"},
                      [this](OprId id, const NewInputs& in) { return image_opr(id, in); });
        rewrite_.rule({"Elemwise"}, [this](OprId id, const NewInputs& in) { return elementwise(id, in); });
        rewrite_.rule({"Concat"}, [this](OprId id, const NewInputs& in) { return concat(id, in); });
        rewrite_.rule({"Reshape", "GetVarShape", "Images2NeibsBackward", "Dimshuffle", "Reduce", "AssertEqual", "Subtensor",
                       "Broadcast", "IncrSubtensor", "AxisAddRemove"},
                      [this](OprId id, const NewInputs& in) { return plain_inputs(id, in, in.size()); });
        rewrite_.rule({"Local", "GroupLocal", "Softmax"},
                      [this](OprId id, const NewInputs& in) { return plain_inputs(id, in, 1); });
    }
    std::size_t run() { return rewrite_.run() + merge_shuffles(); }

private:
    VarId to_image(VarId x) { return relayout_format(g_, x, "NCHW_NHWCD4I"); }
    VarId from_image(VarId x) { return relayout_format(g_, x, "NHWCD4I_NCHW"); }

    /// Is the var stored as an image? Follows from its operator; operators without a rule of their own pass images on.
    [[nodiscard]] bool is_image(VarId x) {
        if (const auto it = images_.find(x); it != images_.end()) return it->second;
        const bool image = gives_image(g_.producer(x));
        images_[x] = image;
        return image;
    }
    [[nodiscard]] bool gives_image(const Opr& opr) {
        if (opr.type == "RelayoutFormat") return memory_format(opr).kind == TensorFormat::Kind::image2d_pack4;
        if (opr.type == "ElemwiseMultiType" || opr.type == "Elemwise" || opr.type == "TypeCvt" || opr.type == "PowC" ||
            opr.type == "Concat")
            return std::ranges::any_of(opr.inputs, [&](VarId in) { return is_image(in); });
        if (opr.params.empty()) return false;
        const std::optional<std::size_t> field = opr.param().type().find("format");
        const ParamEnum* formats = field ? opr.param().type().fields[*field].enumeration : nullptr;
        return formats && formats->name == "ConvolutionFormat" && format_of(opr) == ImageFormat::nhwcd4;
    }

    struct Channels {
        std::int64_t group = 1, oc = 0, ic = 0;
    };
    [[nodiscard]] Channels channels(OprId id, bool grouped, VarId filter) const {
        require(g_, id, ndim_of(g_, filter) == (grouped ? 5U : 4U),
                "Its filter has another number of axes than a convolution in NCHW has.");
        const Shape& f = *g_.shape(filter);
        return grouped ? Channels{f[0], f[1], f[2]} : Channels{1, f[0], f[1]};
    }

    VarId weight(bool grouped, VarId filter) {
        const DTypeId dtype = g_.dtype(filter).id;
        const bool dot = dtype == DTypeId::qint8 || dtype == DTypeId::quint8;
        if (!grouped) return relayout_format(g_, filter, dot ? "INTER_WEIGHT_DENSEI_DOT" : "INTER_WEIGHT_DENSEI");
        const Shape& f = *g_.shape(filter);
        if (f[1] == 1 && f[2] == 1) return relayout_format(g_, filter, "INTER_WEIGHT_CHANI");
        return relayout_format(g_, filter, dot ? "INTER_WEIGHT_GROUPI_DOT" : "INTER_WEIGHT_GROUPI");
    }

    OprId convolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, format_of(opr) == ImageFormat::nchw, "Only convolutions in NCHW can be converted to NHWCD4.");
        bool grouped = is_grouped(opr);
        const Channels c = channels(id, grouped, in[1]);
        NewInputs now = in;
        if (!is_image(in[0])) {
            if (c.oc % 4 != 0 || (c.ic % 4 != 0 && c.group != 1) || ndim_of(g_, in[0]) != 4) return rewrite_.copy(id, in);
            now[0] = to_image(in[0]);
        } else {
            const bool channel_wise = grouped && c.ic == 1 && c.oc == 1;
            if (c.oc % 4 != 0 && !channel_wise) {
                now[0] = from_image(in[0]);
                return rewrite_.copy(id, now);
            }
        }
        VarId filter = in[1];
        if (grouped && c.group == 1) {
            // One group is a dense convolution.
            const Shape& f = *g_.shape(filter);
            const VarId shape = g_.int32s({f[1], f[2], f[3], f[4]}, filter);
            filter = g_.insert1(make_opr("Reshape", {filter, shape}, {make_param("OptionalAxisV1")}));
            grouped = false;
        }
        now[1] = weight(grouped, filter);
        require(g_, id, in.size() < 4, "The NHWCD4 layout does not support a ConvBias with z.");
        if (in.size() > 2 && !is_image(in[2])) now[2] = to_image(in[2]);
        Opr changed = opr;
        changed.inputs = now;
        changed.params.front().set("format", static_cast<std::int64_t>(ImageFormat::nhwcd4));
        if (!grouped) changed.params.front().set("sparse", std::int64_t{0});
        return g_.insert_as(id, std::move(changed));
    }

    OprId deconvolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, format_of(opr) == ImageFormat::nchw, "Only convolutions in NCHW can be converted to NHWCD4.");
        const bool grouped = is_grouped(opr);
        Channels c = channels(id, grouped, in[0]);
        std::swap(c.oc, c.ic);
        NewInputs now = in;
        if (!is_image(in[1])) {
            if (c.oc % 4 != 0 || (c.ic % 4 != 0 && c.group != 1) || ndim_of(g_, in[1]) != 4) return rewrite_.copy(id, in);
            now[1] = to_image(in[1]);
        } else if (c.oc % 4 != 0) {
            now[1] = from_image(in[1]);
            return rewrite_.copy(id, now);
        }
        now[0] = weight(grouped, in[0]);
        return rewrite_.with_format(id, now, ImageFormat::nhwcd4);
    }

    OprId image_opr(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        NewInputs now = in;
        if (!is_image(in[0])) {
            if (ndim_of(g_, in[0]) != 4 || size_of(g_, in[0], 1) % 4 != 0) return rewrite_.copy(id, in);
            now[0] = to_image(in[0]);
        }
        require(g_, id, format_of(opr) == ImageFormat::nchw, "Only image operators in NCHW can be converted to NHWCD4.");
        return rewrite_.with_format(id, now, ImageFormat::nhwcd4);
    }

    VarId plain(OprId id, VarId old, VarId x) {
        if (is_image(x) && !is_image(old)) return from_image(x);
        require(g_, id, equal_shapes(g_, old, x),
                "Its input changed to a layout that is no NHWCD4 image, because an operator before it has no NHWCD4 form.");
        return x;
    }
    OprId plain_inputs(OprId id, const NewInputs& in, std::size_t count) {
        NewInputs now = in;
        for (std::size_t i = 0; i < count; ++i) now[i] = plain(id, g_.opr(id).inputs[i], in[i]);
        return rewrite_.copy(id, now);
    }

    OprId concat(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        const std::int64_t axis = opr.param().integer("axis");
        bool images = axis >= 0 && axis < 3;
        for (std::size_t i = 0; images && i < in.size(); ++i)
            images = !is_image(opr.inputs[i]) && ndim_of(g_, opr.inputs[i]) > 1 && size_of(g_, opr.inputs[i], 1) % 4 == 0 &&
                     ndim_of(g_, in[i]) == 5 && is_image(in[i]);
        if (!images) return plain_inputs(id, in, in.size());
        Opr changed = opr;
        changed.inputs = in;
        changed.params.front().set("axis", axis == 1 ? std::int64_t{2} : axis == 2 ? std::int64_t{1} : axis);
        return g_.insert_as(id, std::move(changed));
    }

    OprId elementwise(OprId id, const NewInputs& in) {
        const auto divisible = [&](VarId x) { return ndim_of(g_, x) == 4 && !is_image(x) && size_of(g_, x, 1) % 4 == 0; };
        for (const VarId x : in)
            if (!divisible(x) && !is_scalar_shape(g_, x) && !(ndim_of(g_, x) == 5 && is_image(x)))
                return plain_inputs(id, in, in.size());
        NewInputs now = in;
        for (VarId& x : now)
            if (divisible(x)) x = to_image(x);
        return rewrite_.copy(id, now);
    }

    /// Dimshuffle (NHWC to NCHW) + conversion → conversion from NHWC, and the same on the way back.
    std::size_t merge_shuffles() {
        Rewriter rewriter(g_);
        rewriter.unchecked(true, true);
        for (const OprId id : g_.order()) {
            const VarId merged = merged_shuffle(rewriter, g_.opr(id));
            if (merged.valid())
                rewriter.replace(g_.output(id), merged);
            else
                rewriter.auto_replace(id);
        }
        return rewriter.apply();
    }
    VarId merged_shuffle(const Rewriter& rewriter, const Opr& opr) {
        if (opr.type != "RelayoutFormat" && opr.type != "Dimshuffle") return {};
        const Opr& before = g_.producer(opr.inputs.front());
        const auto shuffles = [](const Opr& o, std::initializer_list<std::int64_t> pattern) {
            return o.type == "Dimshuffle" && o.param().list("pattern") == std::vector<std::int64_t>(pattern);
        };
        const auto converts = [](const Opr& o, std::string_view mode) {
            return o.type == "RelayoutFormat" && o.param().enum_name("mode") == mode;
        };
        if (converts(opr, "NCHW_NHWCD4I") && shuffles(before, {0, 3, 1, 2}))
            return relayout_format(g_, rewriter.get(before.inputs.front()), "NHWC_NHWCD4I");
        if (shuffles(opr, {0, 2, 3, 1}) && converts(before, "NHWCD4I_NCHW"))
            return relayout_format(g_, rewriter.get(before.inputs.front()), "NHWCD4I_NHWC");
        return {};
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
    std::unordered_map<VarId, bool> images_; ///< what `is_image` found
};

} // namespace

std::size_t convert_to_nhwcd4(Workspace& graph) { return Nhwcd4(graph).run(); }

} // namespace megascope
