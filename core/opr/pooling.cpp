#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/image_layout.h"

namespace megascope {

namespace {

Inferred infer_pooling(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype_of(c, 0));
    const Param& p = c.opr.param();
    MGS_ASSIGN(const ImageLayout layout, image_layout_of(c.opr, static_cast<ImageFormat>(p.integer("format")), *src, "src"));
    Shape out = *src;
    MGS_ASSIGN(out[layout.h], window_positions(c.opr, (*src)[layout.h], {p.integer("pad_h"), p.integer("window_h"), p.integer("stride_h"), 1}));
    MGS_ASSIGN(out[layout.w], window_positions(c.opr, (*src)[layout.w], {p.integer("pad_w"), p.integer("window_w"), p.integer("stride_w"), 1}));
    return one(dtype_of(c, 0), out);
}

Inferred infer_adaptive_pooling(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    MGS_ASSIGN(const auto target, shape_value(c, 1));
    if (!src || !target) return one(dtype_of(c, 0));
    MGS_ASSIGN(const ImageLayout layout,
               image_layout_of(c.opr, static_cast<ImageFormat>(c.opr.param().integer("format")), *src, "src"));
    if (target->ndim() != 2) return misfit(c.opr, "the output size must have 2 numbers, not " + std::to_string(target->ndim()) + ".");
    Shape out = *src;
    out[layout.h] = (*target)[0];
    out[layout.w] = (*target)[1];
    for (const std::size_t axis : {layout.h, layout.w})
        if (out[axis] < 1 || out[axis] > (*src)[axis])
            return misfit(c.opr, "an output size of " + std::to_string(out[axis]) + " cannot be pooled from " + std::to_string((*src)[axis]) + ".");
    return one(dtype_of(c, 0), out);
}

double window_area(const Opr& opr) {
    return static_cast<double>(opr.param().integer("window_h")) * static_cast<double>(opr.param().integer("window_w"));
}

Cost cost_pooling(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    const double figure = output_elements(c) * window_area(c.opr);
    return {figure, figure, std::nullopt};
}

Cost cost_pooling_backward(const CostContext& c) {
    if (!cost_shapes_known(c, {0})) return {};
    const double figure = input_elements(c, 0) * window_area(c.opr);
    return {figure, figure, std::nullopt};
}

/// Windows of in − (out − 1) · floor(in / out) elements per axis.
Cost cost_adaptive_pooling(const CostContext& c) {
    if (!cost_shapes_known(c, {0})) return {};
    const auto layout = source_layout(static_cast<ImageFormat>(c.opr.param().integer("format")));
    const Shape &in = input_shape(c, 0), &out = output_shape(c);
    if (!layout || in.ndim() != layout->rank || out.ndim() != layout->rank || out[layout->h] < 1 || out[layout->w] < 1) return {};
    const auto window = [&](std::size_t axis) { return static_cast<double>(in[axis] - (out[axis] - 1) * (in[axis] / out[axis])); };
    return own_flops(output_elements(c) * window(layout->h) * window(layout->w));
}

} // namespace

void add_pooling(CatalogueBuilder& b) {
    b.category(OprCategory::pooling);
    b.add({.type = "Pooling", .v1 = "PoolingV1", .params = {"Pooling"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "PoolingForward",
           .summary = "Maximum or average over a moving window", .infer = infer_pooling, .cost = cost_pooling});
    b.add({.type = "PoolingBackward", .v1 = "PoolingBackwardV1", .params = {"Pooling"}, .inputs = {"src", "dst", "diff"},
           .outputs = {"grad"}, .summary = "Gradient of Pooling", .infer = infer_like<0>, .cost = cost_pooling_backward});
    b.add({.type = "AdaptivePooling", .v1 = "AdaptivePoolingV1", .params = {"AdaptivePooling"}, .inputs = {"src", "out_shape"},
           .outputs = {"dst"}, .profile = "AdaptivePoolingForward", .summary = "Pooling to a given output size", .use = last_on_host, .infer = infer_adaptive_pooling, .cost = cost_adaptive_pooling});
    b.add({.type = "AdaptivePoolingBackward", .v1 = "AdaptivePoolingBackwardV1", .params = {"AdaptivePooling"},
           .inputs = {"src", "out_shape", "dst", "diff"}, .outputs = {"grad"}, .summary = "Gradient of AdaptivePooling",
           .use = host_value_at<1>, .infer = infer_like<0>});
}

} // namespace megascope
