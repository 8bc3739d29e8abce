#include "opr/conv_cost.h"

#include <cmath>

#include "opr/cost_util.h"

namespace megascope {

namespace {

double size(const Shape& shape, std::size_t axis) { return static_cast<double>(shape[axis]); }

/// 2 · N(dst) · FH · FW · IC / groups with the integer division of the original.
double total(const Shape& dst, double fh, double fw, double ic, double groups) {
    return groups > 0 ? std::floor(elements(dst) * fh * fw * ic / groups) * 2 : 0;
}

std::optional<double> packed_computation(ImageFormat format, bool grouped, const Shape& src, const Shape& filter, const Shape& dst) {
    if (filter.ndim() < 5) return std::nullopt;
    const bool hybrid = !grouped && dst.ndim() == 5 && src.ndim() == 4;
    const std::size_t spatial = grouped ? 3 : hybrid ? 1 : 2;
    double groups = grouped ? size(filter, 0) : 1;
    double pack = 4;
    const bool singles = filter[1] == 1 && filter[2] == 1;
    switch (format) {
    case ImageFormat::nchw88:
        pack = 8;
        if (singles) groups *= 8;
        break;
    case ImageFormat::nchw44:
    case ImageFormat::nchw44_dot:
        if (singles && filter.ndim() == 6) groups *= 4;
        break;
    case ImageFormat::nchw64: pack = 64; break;
    case ImageFormat::nchw32:
    case ImageFormat::nchw32_nchw4: pack = 32; break;
    default: break;
    }
    const double once = total(dst, size(filter, spatial), size(filter, spatial + 1), size(src, 1), groups);
    const bool unpacked_source = hybrid && (format == ImageFormat::nchw88 || format == ImageFormat::nchw44 || format == ImageFormat::nchw44_dot);
    if (unpacked_source) return once;
    if (format == ImageFormat::nchw88 || format == ImageFormat::nchw44 || format == ImageFormat::nchw44_dot) return once * pack;
    return total(dst, size(filter, spatial), size(filter, spatial + 1), size(src, 1) * pack, groups);
}

/// Shapes of a convolution, found at their places in the operator.
struct Places {
    const std::optional<Shape>& src;
    const std::optional<Shape>& filter;
    const std::optional<Shape>& dst;
};

Cost convolution(const CostContext& c, const Places& p) {
    if (!p.src || !p.filter || !p.dst) return {};
    const Param& param = c.opr.param();
    return {conv_computation(static_cast<ImageFormat>(param.integer("format")), param.integer("sparse") == 1, *p.src, *p.filter, *p.dst),
            conv_flops(c.opr, *p.src, *p.filter, *p.dst), std::nullopt};
}

Cost volume(const CostContext& c, const Places& p) {
    if (!p.src || !p.filter || !p.dst) return {};
    const bool grouped = c.opr.param().integer("sparse") == 1;
    const double oc = size(*p.filter, grouped ? 1 : 0) * (grouped ? size(*p.filter, 0) : 1);
    if (oc <= 0) return {};
    // Every output element is a sum over the filter's elements of its channel.
    return own_flops(2 * elements(p.dst) * elements(p.filter) / oc);
}

} // namespace

std::optional<double> conv_computation(ImageFormat format, bool grouped, const Shape& src, const Shape& filter, const Shape& dst) {
    switch (format) {
    case ImageFormat::nhwcd4: {
        if (filter.ndim() < 5 || src.ndim() != 5) return std::nullopt;
        const std::size_t spatial = grouped ? 2 : 1;
        double groups = grouped ? size(filter, 0) : 1;
        if (grouped && filter.ndim() == 5) groups *= 4;
        return total(dst, size(filter, spatial), size(filter, spatial + 1), size(src, 2) * 4, groups);
    }
    case ImageFormat::chwn4: {
        if (filter.ndim() < 5 || src.ndim() != 5) return std::nullopt;
        const std::size_t spatial = grouped ? 2 : 1;
        return total(dst, size(filter, spatial), size(filter, spatial + 1), size(src, 0) * 4, grouped ? size(filter, 0) : 1);
    }
    case ImageFormat::nchw4:
    case ImageFormat::nchw4_nchw:
    case ImageFormat::nchw4_nhwc:
    case ImageFormat::nchw4_nchw32:
    case ImageFormat::nchw88:
    case ImageFormat::nchw44:
    case ImageFormat::nchw44_dot:
    case ImageFormat::nchw32:
    case ImageFormat::nchw32_nchw4:
    case ImageFormat::nchw64: return packed_computation(format, grouped, src, filter, dst);
    case ImageFormat::nchw:
    case ImageFormat::nhwc: {
        if (filter.ndim() != (grouped ? 5U : 4U) || src.ndim() != 4) return std::nullopt;
        const std::size_t channel = format == ImageFormat::nchw ? 1 : 3;
        const std::size_t spatial = (format == ImageFormat::nchw ? 2 : 1) + (grouped ? 1U : 0U);
        return total(dst, size(filter, spatial), size(filter, spatial + 1), size(src, channel), grouped ? size(filter, 0) : 1);
    }
    default: return std::nullopt;
    }
}

std::optional<double> conv_flops(const Opr& opr, const Shape& src, const Shape& filter, const Shape& dst) {
    const ConvParams params = conv_params(opr);
    const auto f = filter_shape(opr, params.format, params.grouped, is_hybrid(params.format, src), filter);
    if (!f) return std::nullopt;
    return 2 * elements(dst) * static_cast<double>(f->fh) * static_cast<double>(f->fw) * static_cast<double>(f->ic);
}

Cost cost_convolution(const CostContext& c) { return convolution(c, {c.inputs[0].shape, c.inputs[1].shape, c.outputs[0].shape}); }

Cost cost_conv_bias(const CostContext& c) {
    Cost cost = cost_convolution(c);
    // MegEngine counts the bias only when there is no z.
    if (cost.computation && c.inputs.size() == 3) *cost.computation += output_elements(c);
    if (cost.flops) {
        const bool nonlinear = c.opr.param().integer("nonlineMode") != 0;
        *cost.flops += static_cast<double>(c.inputs.size() - 2 + (nonlinear ? 1 : 0)) * output_elements(c);
    }
    return cost;
}

Cost cost_conv_backward_data(const CostContext& c) { return convolution(c, {c.outputs[0].shape, c.inputs[0].shape, c.inputs[1].shape}); }

Cost cost_conv_backward_filter(const CostContext& c) { return convolution(c, {c.inputs[0].shape, c.inputs[2].shape, c.inputs[1].shape}); }

Cost cost_batch_conv_bias(const CostContext& c) {
    if (!cost_shapes_known(c, {0, 1})) return {};
    const Shape &src = input_shape(c, 0), &filter = input_shape(c, 1);
    if (filter.ndim() < 5 || src.ndim() < 2) return {};
    const double pack = c.opr.param().enum_name("format") == "NCHW4" ? 4 : 1;
    const double figure = output_elements(c) * size(filter, 3) * size(filter, 4) * size(src, 1) * pack * 2;
    return {figure, figure, std::nullopt};
}

Cost cost_convolution3d(const CostContext& c) { return volume(c, {c.inputs[0].shape, c.inputs[1].shape, c.outputs[0].shape}); }
Cost cost_convolution3d_backward_data(const CostContext& c) { return volume(c, {c.outputs[0].shape, c.inputs[0].shape, c.inputs[1].shape}); }
Cost cost_convolution3d_backward_filter(const CostContext& c) { return volume(c, {c.inputs[0].shape, c.inputs[2].shape, c.inputs[1].shape}); }

} // namespace megascope
