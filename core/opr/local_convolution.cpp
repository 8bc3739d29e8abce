#include "opr/catalogue_builder.h"
#include "opr/conv_cost.h"
#include "opr/conv_geometry.h"
#include "opr/cost_util.h"

namespace megascope {

namespace {

/// Output size of a plain NCHW convolution window over `src`.
struct Positions {
    std::int64_t h = 0;
    std::int64_t w = 0;
};
Expected<Positions> positions(const Opr& opr, const Shape& src, std::int64_t fh, std::int64_t fw) {
    const Param& p = opr.param();
    Positions out;
    MGS_ASSIGN(out.h, window_positions(opr, src[2], {p.integer("pad_h"), fh, p.integer("stride_h"), p.integer("dilate_h")}));
    MGS_ASSIGN(out.w, window_positions(opr, src[3], {p.integer("pad_w"), fw, p.integer("stride_w"), p.integer("dilate_w")}));
    return out;
}

/// Local, GroupLocal and LocalShare: the filter's spatial grid comes first, then IC, FH, FW, OC; `leading` is 1 with a group axis.
Expected<Shape> local_output(const Opr& opr, const Shape& src, const Shape& filter, std::size_t leading, bool grid_is_output) {
    if (src.ndim() != 4 || filter.ndim() != 6 + leading)
        return misfit(opr, "a source of shape " + src.text() + " and a filter of shape " + filter.text() + " do not fit together.");
    const std::int64_t groups = leading ? filter[0] : 1;
    if (saturated_mul(groups, filter[leading + 2]) != src[1])
        return misfit(opr, "the filter of shape " + filter.text() + " does not take the " + std::to_string(src[1]) + " channels of the source.");
    MGS_ASSIGN(const Positions out, positions(opr, src, filter[leading + 3], filter[leading + 4]));
    if (grid_is_output && (out.h != filter[leading] || out.w != filter[leading + 1]))
        return misfit(opr, "the filter of shape " + filter.text() + " is not made for " + std::to_string(out.h) + "×" + std::to_string(out.w) +
                               " output positions.");
    if (!grid_is_output && (filter[leading] < 1 || filter[leading + 1] < 1 || out.h % filter[leading] || out.w % filter[leading + 1]))
        return misfit(opr, std::to_string(out.h) + "×" + std::to_string(out.w) + " output positions cannot be cut into the regions of a filter of shape " +
                               filter.text() + ".");
    return Shape{src[0], saturated_mul(groups, filter[leading + 5]), out.h, out.w};
}

Inferred infer_local(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype_of(c, 0));
    MGS_ASSIGN(const Shape out, local_output(c.opr, *src, *filter, 0, true));
    return one(dtype_of(c, 0), out);
}

Inferred infer_group_local(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype_of(c, 0));
    MGS_ASSIGN(const Shape out, local_output(c.opr, *src, *filter, 1, true));
    return one(dtype_of(c, 0), out);
}

Inferred infer_local_share(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *filter = shape_of(c, 1);
    if (!src || !filter) return one(DTypeId::float32);
    MGS_ASSIGN(const Shape out, local_output(c.opr, *src, *filter, c.opr.param().integer("sparse") == 1 ? 1 : 0, false));
    return one(DTypeId::float32, out);
}

Inferred infer_local_share_backward_data(const InferContext& c) { return one(DTypeId::float32, maybe(shape_of(c, 2))); }

/// Plain 2-D convolutions with further inputs that do not change the output's shape.
Inferred infer_plain(const InferContext& c) {
    const auto dtype = c.opr.output_dtype ? c.opr.output_dtype : dtype_of(c, 0);
    const Shape *src = shape_of(c, 0), *filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype);
    MGS_ASSIGN(const Shape out, conv_output(c.opr, conv_params(c.opr), *src, *filter));
    return one(dtype, out);
}

Inferred infer_mask_convolution(const InferContext& c) {
    MGS_ASSIGN(auto result, infer_plain(c));
    const Shape* mask = shape_of(c, 2);
    const std::optional<Shape>& out = result[0].shape;
    if (mask && out && out->ndim() == 4 && !(*mask == Shape{(*out)[2], (*out)[3]}))
        return misfit(c.opr, "a mask of shape " + mask->text() + " does not fit the output's " + out->text() + ".");
    return result;
}

Inferred infer_region_restricted(const InferContext& c) {
    MGS_ASSIGN(auto result, infer_plain(c));
    const Shape *src = shape_of(c, 0), *in = shape_of(c, 2), *out = shape_of(c, 3);
    const std::optional<Shape>& dst = result[0].shape;
    if (src && dst && in && out && src->ndim() == 4 && dst->ndim() == 4 &&
        (!(*in == Shape{(*src)[0], (*src)[2], (*src)[3]}) || !(*out == Shape{(*dst)[0], (*dst)[2], (*dst)[3]})))
        return misfit(c.opr, "regions of shapes " + in->text() + " and " + out->text() + " do not fit the source's " + src->text() +
                                 " and the output's " + dst->text() + ".");
    return result;
}

Inferred infer_region_backward_data(const InferContext& c) {
    if (c.inputs.size() == 5) return one(dtype_of(c, 0), maybe(shape_of(c, 4)));
    const Shape *filter = shape_of(c, 0), *diff = shape_of(c, 1);
    if (!filter || !diff) return one(dtype_of(c, 0));
    MGS_ASSIGN(const Shape out, conv_source(c.opr, conv_params(c.opr), *filter, *diff));
    return one(dtype_of(c, 0), out);
}

Inferred infer_deformable(const InferContext& c) {
    const Shape *im = shape_of(c, 0), *filter = shape_of(c, 1), *offset = shape_of(c, 2), *mask = shape_of(c, 3);
    if (!im || !filter) return one(DTypeId::float32);
    const ConvParams params = conv_params(c.opr);
    MGS_ASSIGN(const Shape out, conv_output(c.opr, params, *im, *filter));
    MGS_ASSIGN(const FilterShape f, filter_shape(c.opr, params.format, params.grouped, false, *filter));
    const std::int64_t taps = saturated_mul(f.fh, f.fw);
    const auto fits = [&](const Shape& s, std::int64_t per_tap) {
        const std::int64_t unit = saturated_mul(taps, per_tap);
        return s.ndim() == 4 && unit > 0 && s[0] == out[0] && s[1] >= unit && s[1] % unit == 0 && s[2] == out[2] && s[3] == out[3];
    };
    if ((offset && !fits(*offset, 2)) || (mask && !fits(*mask, 1)) || (offset && mask && (*offset)[1] != saturated_mul(2, (*mask)[1])))
        return misfit(c.opr, "offset or mask does not fit the output's " + out.text() + ".");
    return one(DTypeId::float32, out);
}

template <std::size_t... inputs>
Inferred infer_float_like(const InferContext& c) {
    return std::vector<VarDesc>{describe(DTypeId::float32, maybe(shape_of(c, inputs)))...};
}

Inferred infer_mask_propagate(const InferContext& c) {
    const Shape* mask = shape_of(c, 0);
    if (!mask) return one(dtype_of(c, 0));
    MGS_TRY(want_rank(c, 0, 2, "the mask"));
    const Param& p = c.opr.param();
    Shape out = *mask;
    MGS_ASSIGN(out[0], window_positions(c.opr, (*mask)[0], {p.integer("pad_h"), p.integer("kernel_h"), p.integer("stride_h"), p.integer("dilate_h")}));
    MGS_ASSIGN(out[1], window_positions(c.opr, (*mask)[1], {p.integer("pad_w"), p.integer("kernel_w"), p.integer("stride_w"), p.integer("dilate_w")}));
    return one(dtype_of(c, 0), out);
}

/// One channel per displacement; positions where the kernel and all displacements stay inside.
Inferred infer_correlation(const InferContext& c) {
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (!a || !b) return one(dtype_of(c, 0));
    if (a->ndim() != 4 || !(*a == *b))
        return misfit(c.opr, "inputs of shapes " + a->text() + " and " + b->text() + " must be equal and have 4 axes.");
    const Param& p = c.opr.param();
    const std::int64_t kernel = p.integer("kernel_size"), displacement = p.integer("max_displacement"), pad = p.integer("pad_size");
    const std::int64_t stride1 = p.integer("stride1"), stride2 = p.integer("stride2");
    if (kernel < 1 || stride1 < 1 || stride2 < 1) return misfit(c.opr, "kernel size and strides must be at least 1.");
    const std::int64_t border = (kernel - 1) / 2 + displacement;
    const std::int64_t grid = 2 * (displacement / stride2) + 1;
    Shape out = *a;
    out[1] = saturated_mul(grid, grid);
    for (std::size_t axis : {2, 3}) {
        const std::int64_t inner = (*a)[axis] + 2 * pad - 2 * border;
        if (inner < 1) return misfit(c.opr, "an input of shape " + a->text() + " is smaller than the displacements.");
        out[axis] = ceil_div(inner, stride1);
    }
    return one(dtype_of(c, 0), out);
}

/// 2 · N(dst) · FH · FW · IC of filters …,IC,FH,FW,OC; `at` is where IC stands.
double local_flops(const Shape& dst, const Shape& filter, std::size_t at) {
    if (filter.ndim() < at + 3) return 0;
    return 2 * elements(dst) * static_cast<double>(filter[at]) * static_cast<double>(filter[at + 1]) * static_cast<double>(filter[at + 2]);
}

Cost cost_local(const CostContext& c) { return cost_shapes_known(c, {0, 1}) ? own_flops(local_flops(output_shape(c), input_shape(c, 1), 2)) : Cost(); }
Cost cost_local_data(const CostContext& c) { return cost_shapes_known(c, {0, 1}) ? own_flops(local_flops(input_shape(c, 1), input_shape(c, 0), 2)) : Cost(); }
Cost cost_local_filter(const CostContext& c) { return cost_shapes_known(c, {1}) ? own_flops(local_flops(input_shape(c, 1), output_shape(c), 2)) : Cost(); }
Cost cost_group_local(const CostContext& c) { return cost_shapes_known(c, {0, 1}) ? own_flops(local_flops(output_shape(c), input_shape(c, 1), 3)) : Cost(); }

/// MegEngine's figure takes all input channels and divides by the groups: the same as the channels of one group.
Cost local_share(const CostContext& c, const Shape& dst, const Shape& filter) {
    const double figure = local_flops(dst, filter, c.opr.param().integer("sparse") == 1 ? 3 : 2);
    return {figure, figure, std::nullopt};
}
Cost cost_local_share(const CostContext& c) { return cost_shapes_known(c, {0, 1}) ? local_share(c, output_shape(c), input_shape(c, 1)) : Cost(); }
Cost cost_local_share_data(const CostContext& c) { return cost_shapes_known(c, {0, 1}) ? local_share(c, input_shape(c, 1), input_shape(c, 0)) : Cost(); }
Cost cost_local_share_filter(const CostContext& c) { return cost_shapes_known(c, {1}) ? local_share(c, input_shape(c, 1), output_shape(c)) : Cost(); }

/// `factor` · N(first output) · FH · FW · ICPG.
template <int factor>
Cost cost_deformable(const CostContext& c) {
    if (!cost_shapes_known(c, {1})) return {};
    const Shape& filter = input_shape(c, 1);
    const std::size_t at = c.opr.param().integer("sparse") == 1 ? 2 : 1;
    if (filter.ndim() != at + 3) return {};
    const double figure = factor * output_elements(c) * static_cast<double>(filter[at]) * static_cast<double>(filter[at + 1]) * static_cast<double>(filter[at + 2]);
    return {figure, figure, std::nullopt};
}

Cost cost_plain(const CostContext& c) {
    Cost cost;
    if (cost_shapes_known(c, {0, 1})) cost.flops = conv_flops(c.opr, input_shape(c, 0), input_shape(c, 1), output_shape(c));
    return cost;
}

} // namespace

void add_local_convolution(CatalogueBuilder& b) {
    b.category(OprCategory::convolution);
    b.add({.type = "Local", .v1 = "LocalV2", .params = {"Convolution"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .profile = "LocalForward", .summary = "Convolution with another filter at every output position", .infer = infer_local, .cost = cost_local});
    b.add({.type = "LocalBackwardData", .v1 = "LocalBackwardDataV2", .params = {"Convolution"},
           .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"}, .summary = "Gradient of Local for its source",
           .use = last_for_shape, .infer = infer_like<2>, .cost = cost_local_data});
    b.add({.type = "LocalBackwardFilter", .v1 = "LocalBackwardFilterV2", .params = {"Convolution"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of Local for its filter",
           .use = last_for_shape, .infer = infer_like<2>, .cost = cost_local_filter});
    b.add({.type = "GroupLocal", .v1 = "GroupLocalV2", .params = {"Convolution"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .profile = "GroupLocalForward", .summary = "Local in groups of channels", .infer = infer_group_local, .cost = cost_group_local});
    b.add({.type = "GroupLocalBackwardData", .v1 = "GroupLocalBackwardDataV2", .params = {"Convolution"},
           .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"}, .summary = "Gradient of GroupLocal for its source",
           .use = last_for_shape, .infer = infer_like<2>});
    b.add({.type = "GroupLocalBackwardFilter", .v1 = "GroupLocalBackwardFilterV2", .params = {"Convolution"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of GroupLocal for its filter",
           .use = last_for_shape, .infer = infer_like<2>});
    b.add({.type = "LocalShareForward", .v1 = "LocalShareForwardV1", .v2 = "LocalShareForward",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .summary = "Convolution with one filter per region of the output", .infer = infer_local_share, .cost = cost_local_share});
    b.add({.type = "LocalShareBackwardData", .v1 = "LocalShareBackwardDataV1", .v2 = "LocalShareBackwardData",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of LocalShare for its source", .use = last_for_shape, .infer = infer_local_share_backward_data, .cost = cost_local_share_data});
    b.add({.type = "LocalShareBackwardFilter", .v1 = "LocalShareBackwardFilterV1", .v2 = "LocalShareBackwardFilter",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of LocalShare for its filter", .use = last_for_shape, .infer = infer_like<2>, .cost = cost_local_share_filter});
    b.add({.type = "DeformableConvForward", .v1 = "DeformableConvForwardV1", .v2 = "DeformableConvForward",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask"}, .outputs = {"dst"},
           .summary = "Convolution whose taps are moved by learned offsets and weighted by a mask", .infer = infer_deformable, .cost = cost_deformable<3>});
    b.add({.type = "DeformableConvBackwardData", .v1 = "DeformableConvBackwardDataV1", .v2 = "DeformableConvBackwardData",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask", "diff"},
           .outputs = {"im grad", "offset grad", "mask grad"}, .summary = "Gradients of a deformable convolution for image, offsets and mask", .infer = (infer_float_like<0, 2, 3>), .cost = cost_deformable<12>});
    b.add({.type = "DeformableConvBackwardFilter", .v1 = "DeformableConvBackwardFilterV1", .v2 = "DeformableConvBackwardFilter",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask", "diff"}, .outputs = {"filter grad"},
           .summary = "Gradient of a deformable convolution for its filter", .infer = infer_float_like<1>, .cost = cost_deformable<3>});
    b.add({.type = "MaskConvolution", .v1 = "MaskConvolutionV2", .params = {"Convolution"}, .inputs = {"src", "filter", "mask"},
           .outputs = {"dst"}, .summary = "Convolution that leaves zero where the mask is zero", .infer = infer_mask_convolution, .cost = cost_plain});
    b.add({.type = "MaskPropagate", .params = {"MaskPropagate"}, .inputs = {"mask"}, .outputs = {"mask"},
           .summary = "Moves a mask through the window of a convolution", .infer = infer_mask_propagate});
    b.add({.type = "RegionRestrictedConvolution", .params = {"Convolution"}, .inputs = {"src", "filter", "region in", "region out"},
           .outputs = {"dst"}, .profile = "RegionRestrictedConvolutionForward",
           .summary = "Convolution in which only taps of the output's own region count", .infer = infer_region_restricted, .cost = cost_plain});
    b.add({.type = "RegionRestrictedConvolutionBackwardData", .params = {"Convolution"},
           .inputs = {"filter", "diff", "region in", "region out", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of a region restricted convolution for its source", .use = src_for_shape_at<4>, .infer = infer_region_backward_data});
    b.add({.type = "RegionRestrictedConvolutionBackwardFilter", .params = {"Convolution"},
           .inputs = {"src", "diff", "region in", "region out", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of a region restricted convolution for its filter", .use = src_for_shape_at<4>, .infer = infer_like<4>});
    b.add({.type = "CorrelationForward", .params = {"Correlation"}, .inputs = {"data1", "data2"}, .outputs = {"dst"},
           .summary = "Cost volume of two feature maps over displacements", .infer = infer_correlation});
    b.add({.type = "CorrelationBackwardData1", .params = {"Correlation"}, .inputs = {"diff", "data1", "data2"}, .outputs = {"grad1"},
           .summary = "Gradient of a correlation for its first input", .infer = infer_like<1>});
    b.add({.type = "CorrelationBackwardData2", .params = {"Correlation"}, .inputs = {"diff", "data1", "data2"}, .outputs = {"grad2"},
           .summary = "Gradient of a correlation for its second input", .infer = infer_like<1>});
}

} // namespace megascope
