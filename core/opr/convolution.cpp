#include "opr/catalogue_builder.h"
#include "opr/conv_cost.h"
#include "opr/conv_geometry.h"

namespace megascope {

namespace {

std::optional<DType> configured_or(const Opr& opr, const std::optional<DType>& usual) {
    return opr.output_dtype ? opr.output_dtype : usual;
}

/// Bias and z must broadcast to the output.
Expected<void> check_addend(const InferContext& c, std::size_t input, const char* name, const Shape& out) {
    const Shape* shape = shape_of(c, input);
    if (!shape || broadcast(*shape, out) == out) return {};
    return misfit(c.opr, std::string(name) + " of shape " + shape->text() + " does not broadcast to the output's " + out.text() + ".");
}

Inferred infer_convolution(const InferContext& c) {
    const auto dtype = configured_or(c.opr, conv_dtype(dtype_of(c, 0), dtype_of(c, 1)));
    const Shape* src = shape_of(c, 0);
    const Shape* filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype);
    MGS_ASSIGN(const Shape out, conv_output(c.opr, conv_params(c.opr), *src, *filter));
    MGS_TRY(check_addend(c, 2, "bias", out));
    MGS_TRY(check_addend(c, 3, "z", out));
    return one(dtype, out);
}

Inferred infer_backward_data(const InferContext& c) {
    const auto dtype = configured_or(c.opr, conv_dtype(dtype_of(c, 0), dtype_of(c, 1)));
    if (c.inputs.size() == 3) return one(dtype, maybe(shape_of(c, 2)));
    const Shape* filter = shape_of(c, 0);
    const Shape* diff = shape_of(c, 1);
    if (!filter || !diff) return one(dtype);
    MGS_ASSIGN(const Shape out, conv_source(c.opr, conv_params(c.opr), *filter, *diff));
    return one(dtype, out);
}

/// The filter has a leading batch axis; the rest is an ordinary filter.
Inferred infer_batch_conv_bias(const InferContext& c) {
    const auto dtype = configured_or(c.opr, conv_dtype(dtype_of(c, 0), dtype_of(c, 1)));
    const Shape* src = shape_of(c, 0);
    const Shape* filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype);
    if (filter->ndim() < 2 || src->ndim() < 1 || (*filter)[0] != (*src)[0])
        return misfit(c.opr, "a filter of shape " + filter->text() + " does not have one entry for each sample of " + src->text() + ".");
    Shape single = *filter;
    single.erase(0);
    MGS_ASSIGN(const Shape out, conv_output(c.opr, conv_params(c.opr), *src, single));
    MGS_TRY(check_addend(c, 2, "bias", out));
    MGS_TRY(check_addend(c, 3, "z", out));
    return one(dtype, out);
}

/// Axes of a 3-D convolution: NCDHW or NDHWC; the filter is OC,IC,FD,FH,FW (grouped: a leading G), in NDHWC with IC last.
struct Volume {
    bool channels_last = false;
    std::size_t group_axes = 0;
    Window windows[3];

    [[nodiscard]] std::size_t channel_axis() const { return channels_last ? 4 : 1; }
    [[nodiscard]] std::size_t spatial_axis() const { return channels_last ? 1 : 2; }
    [[nodiscard]] std::int64_t groups(const Shape& filter) const { return group_axes ? filter[0] : 1; }
    [[nodiscard]] std::int64_t oc(const Shape& filter) const { return saturated_mul(groups(filter), filter[group_axes]); }
    [[nodiscard]] std::int64_t ic(const Shape& filter) const {
        return saturated_mul(groups(filter), filter[group_axes + channel_axis()]);
    }
};

Expected<Volume> volume_of(const Opr& opr, const Shape& data, const Shape& filter) {
    const Param& p = opr.param();
    Volume v;
    v.channels_last = p.integer("format") == 1;
    v.group_axes = p.integer("sparse") == 1 ? 1 : 0;
    if (data.ndim() != 5 || filter.ndim() != 5 + v.group_axes)
        return misfit(opr, "data of shape " + data.text() + " and a filter of shape " + filter.text() + " do not fit together.");
    const char* const names[3] = {"d", "h", "w"};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string suffix = std::string("_") + names[i];
        v.windows[i] = {p.integer("pad" + suffix), filter[v.group_axes + v.spatial_axis() + i], p.integer("stride" + suffix),
                        p.integer("dilate" + suffix)};
    }
    return v;
}

Inferred infer_convolution3d(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    const Shape* filter = shape_of(c, 1);
    if (!src || !filter) return one(dtype_of(c, 0));
    MGS_ASSIGN(const Volume v, volume_of(c.opr, *src, *filter));
    if ((*src)[v.channel_axis()] != v.ic(*filter))
        return misfit(c.opr, "the filter of shape " + filter->text() + " takes " + std::to_string(v.ic(*filter)) +
                                 " channels, but the source of shape " + src->text() + " has " +
                                 std::to_string((*src)[v.channel_axis()]) + ".");
    Shape out = *src;
    out[v.channel_axis()] = v.oc(*filter);
    for (std::size_t i = 0; i < 3; ++i) {
        MGS_ASSIGN(out[v.spatial_axis() + i], window_positions(c.opr, (*src)[v.spatial_axis() + i], v.windows[i]));
    }
    return one(dtype_of(c, 0), out);
}

Inferred infer_convolution3d_backward_data(const InferContext& c) {
    const auto dtype = dtype_of(c, 0);
    if (c.inputs.size() == 3) return one(dtype, maybe(shape_of(c, 2)));
    const Shape* filter = shape_of(c, 0);
    const Shape* diff = shape_of(c, 1);
    if (!filter || !diff) return one(dtype);
    MGS_ASSIGN(const Volume v, volume_of(c.opr, *diff, *filter));
    if ((*diff)[v.channel_axis()] != v.oc(*filter))
        return misfit(c.opr, "the filter of shape " + filter->text() + " gives " + std::to_string(v.oc(*filter)) +
                                 " channels, but diff of shape " + diff->text() + " has " + std::to_string((*diff)[v.channel_axis()]) + ".");
    Shape out = *diff;
    out[v.channel_axis()] = v.ic(*filter);
    for (std::size_t i = 0; i < 3; ++i) {
        MGS_ASSIGN(out[v.spatial_axis() + i], window_source(c.opr, (*diff)[v.spatial_axis() + i], v.windows[i]));
    }
    return one(dtype, out);
}

} // namespace

void add_convolution(CatalogueBuilder& b) {
    b.category(OprCategory::convolution);
    b.add({.type = "Convolution", .v1 = "ConvolutionV2", .v2 = "Convolution", .params = {"Convolution", "ExecutionPolicy?"},
           .inputs = {"src", "filter"}, .outputs = {"dst"}, .profile = "ConvolutionForward",
           .summary = "2-D convolution, dense or grouped", .infer = infer_convolution, .cost = cost_convolution});
    b.add({.type = "ConvolutionBackwardData", .v1 = "ConvolutionBackwardDataV2", .v2 = "ConvolutionBackwardData",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"filter", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Transposed 2-D convolution: the gradient of a convolution for its source", .use = src_for_shape_at<2>, .infer = infer_backward_data, .cost = cost_conv_backward_data});
    b.add({.type = "ConvolutionBackwardFilter", .v1 = "ConvolutionBackwardFilterV2", .v2 = "ConvolutionBackwardFilter",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of a 2-D convolution for its filter", .use = src_for_shape_at<2>, .infer = infer_like<2>, .cost = cost_conv_backward_filter});
    b.add({.type = "ConvBiasForward", .v1 = "ConvBiasForwardV4", .v2 = "ConvBiasForward", .params = {"ConvBias", "ExecutionPolicy?"},
           .inputs = {"src", "filter", "bias", "z"}, .optional = 2, .outputs = {"dst"},
           .summary = "2-D convolution with bias, addend and nonlinearity in one step", .infer = infer_convolution, .cost = cost_conv_bias});
    b.add({.type = "BatchConvBiasForward", .v1 = "BatchConvBiasForwardV1", .v2 = "BatchConvBiasForward",
           .params = {"BatchConvBias", "ExecutionPolicy?"}, .inputs = {"src", "filter", "bias", "z"}, .optional = 2, .outputs = {"dst"},
           .summary = "ConvBias with a filter of its own for every sample of the batch", .infer = infer_batch_conv_bias, .cost = cost_batch_conv_bias});
    b.add({.type = "Convolution3D", .v2 = "Convolution3D", .params = {"Convolution3D", "ExecutionPolicy?"}, .inputs = {"src", "filter"},
           .outputs = {"dst"}, .profile = "Convolution3DForward", .summary = "3-D convolution", .infer = infer_convolution3d, .cost = cost_convolution3d});
    b.add({.type = "Convolution3DBackwardData", .v2 = "Convolution3DBackwardData", .params = {"Convolution3D", "ExecutionPolicy?"},
           .inputs = {"filter", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Transposed 3-D convolution: the gradient of a convolution for its source", .use = src_for_shape_at<2>, .infer = infer_convolution3d_backward_data, .cost = cost_convolution3d_backward_data});
    b.add({.type = "Convolution3DBackwardFilter", .v2 = "Convolution3DBackwardFilter", .params = {"Convolution3D", "ExecutionPolicy?"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of a 3-D convolution for its filter",
           .use = src_for_shape_at<2>, .infer = infer_like<2>, .cost = cost_convolution3d_backward_filter});
}

} // namespace megascope
