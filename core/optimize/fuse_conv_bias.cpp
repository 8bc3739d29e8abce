#include <array>
#include <optional>
#include <unordered_map>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

/// The numbers of ConvBiasV0NonlineMode.
enum class Nonlinearity : std::int64_t { identity = 0, relu = 1, sigmoid = 2, h_swish = 3 };

struct FusedMode {
    ElemwiseMode mode;
    Nonlinearity nonlinearity;
};
constexpr std::array<FusedMode, 4> with_bias = {{{ElemwiseMode::add, Nonlinearity::identity},
                                                 {ElemwiseMode::fuse_add_relu, Nonlinearity::relu},
                                                 {ElemwiseMode::fuse_add_sigmoid, Nonlinearity::sigmoid},
                                                 {ElemwiseMode::fuse_add_h_swish, Nonlinearity::h_swish}}};
constexpr std::array<FusedMode, 3> alone = {{{ElemwiseMode::relu, Nonlinearity::relu},
                                             {ElemwiseMode::sigmoid, Nonlinearity::sigmoid},
                                             {ElemwiseMode::h_swish, Nonlinearity::h_swish}}};

template <std::size_t n>
std::optional<Nonlinearity> find_mode(const std::array<FusedMode, n>& modes, ElemwiseMode mode) {
    for (const FusedMode& m : modes)
        if (m.mode == mode) return m.nonlinearity;
    return std::nullopt;
}

bool fusable_convolution(const Opr& opr) {
    if (opr.type != "Convolution") return false;
    switch (format_of(opr)) {
    case ImageFormat::nhwcd4:
    case ImageFormat::nhwc:
    case ImageFormat::nchw:
    case ImageFormat::nchw4: return true;
    default: return false;
    }
}

bool fusable_conv_bias(const Opr& opr) {
    if (opr.type != "ConvBiasForward" || opr.inputs.size() != 3) return false;
    switch (format_of(opr)) {
    case ImageFormat::nhwc:
    case ImageFormat::nchw:
    case ImageFormat::nchw4: return true;
    default: return false;
    }
}

/// One value per output channel, or as large as the output when that shape may change from run to run: such a bias follows it.
bool bias_fits(const Workspace& graph, const Opr& conv, VarId bias) {
    const VarId out = conv.outputs.front();
    if (equal_shapes(graph, out, bias) && !graph.is_shape_immutable(bias)) return true;
    if (!graph.shape(bias) || !graph.shape(conv.inputs[1])) return false;
    const Shape& filter = *graph.shape(conv.inputs[1]);
    std::int64_t oc = filter[0];
    if (is_grouped(conv)) oc *= filter[1];
    const Shape& shape = *graph.shape(bias);
    switch (format_of(conv)) {
    case ImageFormat::nchw: return shape == Shape{1, oc, 1, 1};
    case ImageFormat::nchw4: return shape == Shape{1, oc / 4, 1, 1, 4};
    case ImageFormat::nhwc: return shape == Shape{1, 1, 1, oc};
    default: return shape == Shape{1, 1, oc, 1, 4}; // NHWCD4, with `oc` packs as MegEngine has it
    }
}

Param conv_bias_param(const Param& conv, Nonlinearity nonlinearity) {
    Param param = make_param("ConvBias");
    for (const ParamField& field : conv.type().fields) param.set(field.name, conv.value(*conv.type().find(field.name)));
    param.set("nonlineMode", static_cast<std::int64_t>(nonlinearity));
    return param;
}

/// Convolution + bias + nonlinearity → ConvBias. The order of conditions is MegEngine's (combine_conv_bias_and_relu).
class Fusion {
public:
    explicit Fusion(Workspace& graph) : graph_(graph), rewriter_(graph) {
        for (const OprId id : graph.order())
            for (const VarId in : graph.opr(id).inputs) ++readers_[in];
    }
    std::size_t run() {
        for (const OprId id : graph_.order()) {
            const VarId fused = fuse(id);
            if (fused.valid())
                rewriter_.replace(graph_.output(id), fused);
            else
                rewriter_.auto_replace(id);
        }
        return rewriter_.apply();
    }

private:
    VarId fuse(OprId id) {
        const Opr& opr = graph_.opr(id);
        if (opr.type == "TypeCvt") return fuse_type_cvt(opr);
        const std::optional<ElemwiseMode> mode = graph_.mode(id);
        if (!mode) return {};
        if (const auto n = find_mode(with_bias, *mode); n && opr.inputs.size() == 2) return fuse_bias(opr, *n);
        if (const auto n = find_mode(alone, *mode)) return fuse_nonlinearity(opr, *n);
        return {};
    }

    [[nodiscard]] OprId owner_now(VarId var) const { return graph_.owner(rewriter_.get(var)); }

    VarId fuse_bias(const Opr& opr, Nonlinearity nonlinearity) {
        for (std::size_t i = 0; i < 2; ++i) {
            const OprId conv_id = owner_now(opr.inputs[i]);
            const Opr& conv = graph_.opr(conv_id);
            if (conv.type != "Convolution" || readers_[opr.inputs[i]] != 1) continue;
            // The first convolution decides, even when it does not fit.
            const VarId bias = rewriter_.get(opr.inputs[1 - i]);
            if (!fusable_convolution(conv) || !bias_fits(graph_, conv, bias)) return {};
            return conv_bias(conv_id, {conv.inputs[0], conv.inputs[1], bias}, conv_bias_param(conv.param(), nonlinearity));
        }
        return {};
    }

    VarId fuse_nonlinearity(const Opr& opr, Nonlinearity nonlinearity) {
        const OprId conv_id = owner_now(opr.inputs[0]);
        const Opr& conv = graph_.opr(conv_id);
        if (readers_[opr.inputs[0]] != 1) return {};
        if (fusable_convolution(conv)) return conv_bias(conv_id, conv.inputs, conv_bias_param(conv.param(), nonlinearity));
        if (!fusable_conv_bias(conv)) return {};
        const auto before = static_cast<Nonlinearity>(conv.param().integer("nonlineMode"));
        const bool relu_twice = before == Nonlinearity::relu && nonlinearity == Nonlinearity::relu;
        if (before != Nonlinearity::identity && !relu_twice) return {};
        Param param = conv.param();
        param.set("nonlineMode", static_cast<std::int64_t>(nonlinearity));
        return conv_bias(conv_id, conv.inputs, std::move(param));
    }

    /// ConvBias that accumulates in qint32, converted to qint8 → ConvBias with that output.
    VarId fuse_type_cvt(const Opr& opr) {
        const OprId conv_id = owner_now(opr.inputs[0]);
        const Opr& conv = graph_.opr(conv_id);
        if (conv.type != "ConvBiasForward" || conv.inputs.size() > 3) return {};
        const DType to = graph_.dtype(opr.outputs.front());
        if (to.id != DTypeId::qint8 || graph_.dtype(opr.inputs[0]).id != DTypeId::qint32) return {};
        Opr fused = conv;
        fused.output_dtype = to;
        return graph_.output(graph_.insert_as(conv_id, std::move(fused)));
    }

    /// A ConvBias with the configuration of `conv`.
    VarId conv_bias(OprId conv_id, std::vector<VarId> inputs, Param param) {
        const Opr& conv = graph_.opr(conv_id);
        std::vector<Param> params = {std::move(param)};
        for (std::size_t i = 1; i < conv.params.size(); ++i) params.push_back(conv.params[i]); // execution policy
        Opr fused = make_opr("ConvBiasForward", inputs, std::move(params));
        fused.comp_nodes = conv.comp_nodes;
        fused.output_dtype = conv.output_dtype;
        return graph_.output(graph_.insert_as(conv_id, std::move(fused)));
    }

    Workspace& graph_;
    Rewriter rewriter_;
    std::unordered_map<VarId, std::size_t> readers_; ///< operators that name the var among their inputs, for whatever use
};

} // namespace

std::size_t fuse_conv_bias(Workspace& graph) { return Fusion(graph).run(); }

} // namespace megascope
