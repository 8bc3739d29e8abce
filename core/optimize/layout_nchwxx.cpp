#include <optional>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;

/// A convolution in plain numbers, as the question "can it read NCHW and write packed channels?" needs it.
struct FirstConv {
    std::int64_t oc = 0, ic = 0, fh = 0, fw = 0, sh = 1, sw = 1, dh = 1, dw = 1;
    bool flipped = false;
    bool full_bias = false;
    bool simple_nonlinearity = true; ///< identity, relu, h_swish
    bool identity = true;
};

bool small_square_filter(const FirstConv& c) { return c.fh == c.fw && (c.fh == 2 || c.fh == 3 || c.fh == 5 || c.fh == 7); }
bool plain_slide(const FirstConv& c) { return c.dh == 1 && c.dw == 1 && c.sh == c.sw && (c.sh == 1 || c.sh == 2); }

/// MegEngine has kernels for these "hybrid" first convolutions (dnn, is_nchw_nchwxx_optimized).
bool hybrid_kernel_exists(const FirstConv& c, std::int64_t pack, const DType& src, const DType& filter, const DType& dst) {
    if (c.flipped || c.full_bias || c.ic >= pack || c.oc % pack != 0 || c.oc < pack) return false;
    const auto all = [&](DTypeId id) { return src.id == id && filter.id == id && dst.id == id; };
    if (pack == 8) {
        if (all(DTypeId::float32)) return c.dh == 1 && c.dw == 1;
        return all(DTypeId::float16) && c.simple_nonlinearity && small_square_filter(c) && plain_slide(c);
    }
    if (!plain_slide(c)) return false;
    if (all(DTypeId::float32)) return c.simple_nonlinearity && small_square_filter(c);
    if (all(DTypeId::qint8)) {
        const bool pointwise = c.fh == 1 && c.fw == 1 && c.sh == 1 && c.sw == 1;
        return c.simple_nonlinearity && (small_square_filter(c) || pointwise);
    }
    const bool widening = src.id == DTypeId::int8 && filter.id == DTypeId::int8 && dst.id == DTypeId::int16;
    return widening && c.identity && small_square_filter(c);
}

/// NCHW → NCHW44, NCHW44_DOT or NCHW88. A convolution reads and writes packed channels when all its channels fill packs, reads
/// NCHW and writes packs when it is a first convolution with a kernel for that, and stays NCHW otherwise.
class Nchwxx {
public:
    Nchwxx(Workspace& graph, std::size_t pack, bool dot)
        : g_(graph), rewrite_(graph), pack_(static_cast<std::int64_t>(pack)), dot_(dot) {
        rewrite_.endpoint_rule([this](VarId fresh, VarId old) { return equal_shapes(g_, old, fresh) ? fresh : unpacked(fresh); });
        rewrite_.input_rule([this](OprId, VarId fresh, VarId old) {
            return ndim_of(g_, old) == 4 && is_packed(fresh) ? unpacked(fresh) : fresh;
        });
        rewrite_.rule({"Convolution", "ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return convolution(id, in); });
        rewrite_.rule({"Pooling", "AdaptivePooling"}, [this](OprId id, const NewInputs& in) { return pooling(id, in); });
        rewrite_.rule({"Resize"}, [this](OprId id, const NewInputs& in) { return resize(id, in); });
        rewrite_.rule({"Concat", "Elemwise", "TypeCvt", "ElemwiseMultiType", "PowC"},
                      [this](OprId id, const NewInputs& in) { return several_inputs(id, in); });
        rewrite_.rule({"Reduce"}, [this](OprId id, const NewInputs& in) { return reduce(id, in); });
        rewrite_.rule({"ConvolutionBackwardData", "Subtensor", "GetVarShape", "Dimshuffle", "AssertEqual", "IncrSubtensor",
                       "WarpPerspective", "WarpAffine", "Reshape", "AxisAddRemove", "Argmax", "Broadcast"},
                      [this](OprId id, const NewInputs& in) { return unpacked_inputs(id, in); });
    }
    std::size_t run() { return rewrite_.run(); }

private:
    struct Choice {
        RelayoutKey weight;
        ImageFormat format = ImageFormat::nchw44;
        bool hybrid = false;
    };

    [[nodiscard]] F packed_format() const { return pack_ == 8 ? F::nchw_c8 : F::nchw_c4; }
    [[nodiscard]] ImageFormat image_format() const { return pack_ == 8 ? ImageFormat::nchw88 : ImageFormat::nchw44; }
    VarId packed(VarId x) { return rewrite_.placeholder(x, {F::nchw, packed_format()}); }
    VarId unpacked(VarId x) { return rewrite_.placeholder(x, {packed_format(), F::nchw}); }
    [[nodiscard]] bool is_packed(VarId x) const { return ndim_of(g_, x) == 5; }

    [[nodiscard]] bool can_be_hybrid(const Opr& opr, const NewInputs& in) const {
        if (ndim_of(g_, in[1]) != 4 || in.size() == 4) return false;
        const Shape& filter = *g_.shape(in[1]);
        const Param& p = opr.param();
        FirstConv c{.oc = filter[0],
                    .ic = filter[1],
                    .fh = filter[2],
                    .fw = filter[3],
                    .sh = p.integer("stride_h"),
                    .sw = p.integer("stride_w"),
                    .dh = p.integer("dilate_h"),
                    .dw = p.integer("dilate_w"),
                    .flipped = p.enum_name("mode") == "CONVOLUTION"};
        if (opr.type == "ConvBiasForward") {
            const std::string mode = p.enum_name("nonlineMode");
            c.identity = mode == "IDENTITY";
            c.simple_nonlinearity = mode != "SIGMOID";
            if (in.size() > 2 && g_.shape(in[2]) && g_.shape(opr.outputs[0])) {
                Shape bias = *g_.shape(in[2]);
                if (bias.ndim() == 5) {
                    bias[1] *= bias[4];
                    bias.erase(4);
                }
                c.full_bias = bias == *g_.shape(opr.outputs[0]);
            }
        }
        // NCHW44_DOT asks the same of its int8 kernel as NCHW44.
        return hybrid_kernel_exists(c, pack_, g_.dtype(in[0]), g_.dtype(in[1]), g_.dtype(opr.outputs[0]));
    }

    /// How the convolution is converted; nothing = not at all.
    [[nodiscard]] std::optional<Choice> choose(const Opr& opr, const NewInputs& in) const {
        if (!g_.shape(in[0]) || !g_.shape(in[1])) return std::nullopt;
        const Shape& filter = *g_.shape(in[1]);
        const DTypeId weight_dtype = g_.dtype(in[1]).id;
        const bool dot = dot_ && (weight_dtype == DTypeId::qint8 || weight_dtype == DTypeId::int8);
        const ImageFormat format = dot ? ImageFormat::nchw44_dot : image_format();
        const bool eight = pack_ == 8;
        if (!is_grouped(opr)) {
            if (filter[1] % pack_ == 0 && filter[0] % pack_ == 0)
                return Choice{{F::kcrs, dot ? F::kcrs_k4c4 : eight ? F::kcrs_c8k8 : F::kcrs_c4k4}, format, false};
            if (can_be_hybrid(opr, in)) return Choice{{F::kcrs, eight ? F::krsc_k8 : F::krsc_k4}, format, true};
            return std::nullopt;
        }
        if (filter[1] == 1 && filter[2] == 1 && filter[0] % pack_ == 0)
            return Choice{{F::c11rs, eight ? F::c11rs_c8 : F::c11rs_c4}, image_format(), false};
        if (filter[2] % pack_ == 0 && filter[1] % pack_ == 0)
            return Choice{{F::gkcrs, dot ? F::gkcrs_k4c4 : eight ? F::gkcrs_c8k8 : F::gkcrs_c4k4}, format, false};
        return std::nullopt;
    }

    OprId convolution(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, in.size() <= 3, "The packed layouts NCHW44 and NCHW88 do not support a ConvBias with z.");
        require(g_, id, format_of(opr) == ImageFormat::nchw, "Only convolutions in NCHW can be converted to a packed layout.");
        const std::optional<Choice> choice = choose(opr, in);
        NewInputs now = in;
        if (!choice) {
            if (is_packed(in[0])) now[0] = unpacked(in[0]);
            if (in.size() > 2 && is_packed(in[2])) now[2] = unpacked(in[2]);
            return rewrite_.copy(id, now);
        }
        now[1] = rewrite_.placeholder(in[1], choice->weight);
        if (choice->hybrid)
            require(g_, id, ndim_of(g_, in[0]) == 4, "A first convolution must read NCHW, but its input is packed already.");
        else if (!is_packed(in[0]))
            now[0] = packed(in[0]);
        if (in.size() > 2 && ndim_of(g_, in[2]) == 4) now[2] = packed(in[2]);
        const OprId fresh = rewrite_.with_format(id, now, choice->format);
        require(g_, id, is_packed(g_.output(fresh)), "The result of the conversion to a packed layout does not have 5 axes.");
        return fresh;
    }

    OprId pooling(OprId id, const NewInputs& in) {
        require(g_, id, format_of(g_.opr(id)) == ImageFormat::nchw, "Only pooling in NCHW can be converted to a packed layout.");
        return is_packed(in[0]) ? rewrite_.with_format(id, in, image_format()) : rewrite_.copy(id, in);
    }

    OprId resize(OprId id, const NewInputs& in) {
        const ImageFormat format = format_of(g_.opr(id));
        require(g_, id, format == ImageFormat::nchw || format == ImageFormat::nhwc,
                "Only Resize in NCHW can be converted to a packed layout.");
        if (!is_packed(in[0])) return rewrite_.copy(id, in);
        if (format == ImageFormat::nchw) return rewrite_.with_format(id, in, image_format());
        NewInputs now = in;
        now[0] = unpacked(in[0]);
        return rewrite_.copy(id, now);
    }

    /// Works on packs when all inputs can, otherwise on NCHW.
    OprId several_inputs(OprId id, const NewInputs& in) {
        bool any_packed = false, can_pack = true;
        for (const VarId x : in) {
            const std::size_t ndim = ndim_of(g_, x);
            if (ndim == 5)
                any_packed = true;
            else if (ndim == 4)
                can_pack &= size_of(g_, x, 1) % pack_ == 0;
            else if (!is_scalar_shape(g_, x))
                can_pack = false;
        }
        if (!any_packed) return rewrite_.copy(id, in);
        NewInputs now = in;
        for (VarId& x : now) {
            if (can_pack && ndim_of(g_, x) == 4)
                x = packed(x);
            else if (!can_pack && is_packed(x))
                x = unpacked(x);
        }
        return rewrite_.copy(id, now);
    }

    OprId reduce(OprId id, const NewInputs& in) {
        const std::int64_t axis = g_.opr(id).param().integer("axis");
        NewInputs now = in;
        if (!equal_shapes(g_, g_.opr(id).inputs[0], in[0]) && axis != 2 && axis != 3) now[0] = unpacked(in[0]);
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
    std::int64_t pack_;
    bool dot_;
};

} // namespace

std::size_t convert_to_nchwxx(Workspace& graph, std::size_t pack, bool dot) { return Nchwxx(graph, pack, dot).run(); }

} // namespace megascope
