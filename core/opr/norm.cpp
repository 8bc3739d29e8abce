#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// Running mean and variance are outputs only in training with given statistics (5 inputs).
Expected<std::size_t> count_batch_norm(const Opr& opr) {
    if (opr.inputs.size() != 3 && opr.inputs.size() != 5)
        return fail(ErrorCode::corrupt, "BatchNorm has " + std::to_string(opr.inputs.size()) + " inputs, but it takes 3 or 5.");
    return opr.inputs.size() == 3 || opr.param().enum_name("fwd_mode") == "INFERENCE" ? 4 : 6;
}

/// The gradients of weight and bias exist only in the affine form.
Expected<std::size_t> count_norm_backward(const Opr& opr) {
    if (opr.inputs.size() != 4 && opr.inputs.size() != 5)
        return fail(ErrorCode::corrupt, opr.type + " has " + std::to_string(opr.inputs.size()) + " inputs, but it takes 4 or 5.");
    return opr.inputs.size() == 4 ? 1 : 3;
}

/// All counted outputs in order; running statistics first, when they are counted.
Inferred infer_batch_norm(const InferContext& c) {
    MGS_ASSIGN(const std::size_t count, count_batch_norm(c.opr));
    const Shape *x = shape_of(c, 0), *scale = shape_of(c, 1);
    if (x && scale && (x->ndim() != 4 || scale->ndim() != 4 || broadcast(*x, *scale) != *x))
        return misfit(c.opr, "a scale of shape " + scale->text() + " does not fit x of shape " + x->text() + ".");
    for (std::size_t i = 2; i < c.inputs.size(); ++i)
        if (const Shape* s = shape_of(c, i); s && scale && !(*s == *scale))
            return misfit(c.opr, "statistics of shape " + s->text() + " do not fit a scale of shape " + scale->text() + ".");
    const VarDesc statistics = describe(dtype_of(c, 1), maybe(scale));
    std::vector<VarDesc> out(count - 2, statistics);
    out.push_back(describe(DTypeId::byte, Shape{0})); // only the GPU library keeps anything there
    out.push_back(describe(dtype_of(c, 0), maybe(x)));
    return out;
}

/// dst as data; two statistics in float32 of the shape `rest`.
Inferred with_statistics(const InferContext& c, const std::optional<Shape>& rest) {
    return std::vector{describe(dtype_of(c, 0), maybe(shape_of(c, 0))), describe(DTypeId::float32, rest), describe(DTypeId::float32, rest)};
}

Expected<void> check_affine(const InferContext& c, const Shape& wanted) {
    for (std::size_t i = 1; i < c.inputs.size(); ++i)
        if (const Shape* s = shape_of(c, i); s && s->checked_elements() != wanted.checked_elements())
            return misfit(c.opr, "weight or bias of shape " + s->text() + " does not fit a normalised shape of " + wanted.text() + ".");
    return {};
}

Inferred infer_layer_norm(const InferContext& c) {
    const Shape* data = shape_of(c, 0);
    if (!data) return with_statistics(c, std::nullopt);
    const std::uint64_t dims = c.opr.param().u64("normalized_dim");
    if (dims < 1 || dims >= data->ndim())
        return misfit(c.opr, "it normalises " + std::to_string(dims) + " axes, but its input has the shape " + data->text() + ".");
    const std::size_t kept = data->ndim() - static_cast<std::size_t>(dims);
    MGS_TRY(check_affine(c, Shape(data->dims().subspan(kept))));
    return with_statistics(c, Shape(data->dims().first(kept)));
}

Inferred infer_general_norm(const InferContext& c) {
    const Shape* data = shape_of(c, 0);
    if (!data) return with_statistics(c, std::nullopt);
    const std::uint64_t start = c.opr.param().u64("axis_start"), end = c.opr.param().u64("axis_end");
    if (start >= end || end > data->ndim())
        return misfit(c.opr, "it normalises the axes " + std::to_string(start) + " to " + std::to_string(end) + ", but its input has the shape " +
                                 data->text() + ".");
    Shape rest = *data;
    for (std::uint64_t i = start; i < end; ++i) rest.erase(static_cast<std::size_t>(start));
    MGS_TRY(check_affine(c, Shape(data->dims().subspan(start, end - start))));
    return with_statistics(c, rest);
}

/// Statistics per sample and group, or per sample and channel.
template <bool per_channel>
Inferred infer_group_norm(const InferContext& c) {
    const Shape* data = shape_of(c, 0);
    if (!data) return with_statistics(c, std::nullopt);
    MGS_TRY(want_rank(c, 0, 4, "data"));
    const std::int64_t groups = per_channel ? (*data)[1] : c.opr.param().integer("group");
    if (groups < 1 || (*data)[1] % groups != 0)
        return misfit(c.opr, std::to_string((*data)[1]) + " channels cannot be cut into " + std::to_string(groups) + " groups.");
    MGS_TRY(check_affine(c, Shape{(*data)[1]}));
    return with_statistics(c, Shape{(*data)[0], groups});
}

/// ddata; with weights also dweight and dbias.
Inferred infer_norm_backward(const InferContext& c) {
    MGS_ASSIGN(const std::size_t count, count_norm_backward(c.opr));
    std::vector<VarDesc> out{describe(dtype_of(c, 1), maybe(shape_of(c, 1)))};
    if (count == 3) out.insert(out.end(), 2, describe(dtype_of(c, 2), maybe(shape_of(c, 2))));
    return out;
}

Inferred infer_softmax(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    const std::int64_t axis = c.opr.param().integer("axis");
    if (src && !resolve_axis(axis, src->ndim()))
        return misfit(c.opr, "axis " + std::to_string(axis) + " is outside of the shape " + src->text() + ".");
    return one(dtype_of(c, 0), maybe(src));
}

Inferred infer_lrn(const InferContext& c) {
    MGS_TRY(want_rank(c, 0, 4, "src"));
    return one(dtype_of(c, 0), maybe(shape_of(c, 0)));
}

// Operations per element: mean 1, variance 3 (difference, square, sum), normalising 2, scale and bias 2.

Cost cost_batch_norm(const CostContext& c) {
    if (!c.inputs[0].shape) return {};
    const bool training = c.opr.param().enum_name("fwd_mode") == "TRAINING";
    return own_flops((training ? 8 : 4) * input_elements(c, 0));
}

Cost cost_norm(const CostContext& c) {
    if (!c.inputs[0].shape) return {};
    return own_flops((c.inputs.size() == 3 ? 8 : 6) * input_elements(c, 0));
}

/// Squares and sums over n channels, then scale, power and quotient.
Cost cost_lrn(const CostContext& c) {
    if (!c.inputs[0].shape) return {};
    return own_flops(input_elements(c, 0) * static_cast<double>(2 * c.opr.param().integer("n") + 4));
}

} // namespace

void add_norm(CatalogueBuilder& b) {
    b.category(OprCategory::normalisation);
    b.add({.type = "BatchNorm", .v1 = "BatchNormV1", .params = {"BN"}, .inputs = {"x", "scale", "bias", "running_mean", "running_var"},
           .optional = 2, .outputs = {"running_mean", "running_var", "save_mean", "save_inv_variance", "reserve", "y"},
           .profile = "BatchNormForward", .summary = "Normalisation over the batch, by its own or by running statistics",
           .count = count_batch_norm, .infer = infer_batch_norm, .cost = cost_batch_norm});
    b.add({.type = "BatchNormBackward", .v1 = "BatchNormBackwardV1", .params = {"BN"},
           .inputs = {"x", "dy", "save_mean", "save_inv_variance", "scale", "reserve"}, .outputs = {"dscale", "dbias", "dx"},
           .summary = "Gradients of BatchNorm", .infer = (infer_like<4, 4, 0>)});
    b.add({.type = "LayerNorm", .params = {"LayerNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "rstd"}, .profile = "LayerNormForward", .summary = "Normalisation over the last axes", .infer = infer_layer_norm, .cost = cost_norm});
    b.add({.type = "LayerNormBackward", .params = {"LayerNorm"}, .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1,
           .outputs = {"ddata", "dweight", "dbias"}, .summary = "Gradients of LayerNorm", .count = count_norm_backward, .infer = infer_norm_backward});
    b.add({.type = "GroupNorm", .v2 = "GroupNorm", .params = {"GroupNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "variance"}, .profile = "GroupNormForward",
           .summary = "Normalisation per sample and group of channels", .infer = infer_group_norm<false>, .cost = cost_norm});
    b.add({.type = "GroupNormBackward", .v2 = "GroupNormBackward", .params = {"GroupNorm"},
           .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1, .outputs = {"ddata", "dweight", "dbias"},
           .summary = "Gradients of GroupNorm", .count = count_norm_backward, .infer = infer_norm_backward});
    b.add({.type = "InstanceNorm", .v2 = "InstanceNorm", .params = {"GroupNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "variance"}, .profile = "InstanceNormForward",
           .summary = "Normalisation per sample and channel", .infer = infer_group_norm<true>, .cost = cost_norm});
    b.add({.type = "InstanceNormBackward", .v2 = "InstanceNormBackward", .params = {"GroupNorm"},
           .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1, .outputs = {"ddata", "dweight", "dbias"},
           .summary = "Gradients of InstanceNorm", .count = count_norm_backward, .infer = infer_norm_backward});
    b.add({.type = "GeneralNorm", .params = {"GeneralNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "rstd"}, .profile = "GeneralNormForward", .summary = "Normalisation over a range of axes", .infer = infer_general_norm, .cost = cost_norm});
    b.add({.type = "GeneralNormBackward", .params = {"GeneralNorm"}, .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1,
           .outputs = {"ddata", "dweight", "dbias"}, .summary = "Gradients of GeneralNorm", .count = count_norm_backward, .infer = infer_norm_backward});
    b.add({.type = "LRN", .params = {"LRN"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "LRNForward",
           .summary = "Local response normalisation across channels", .infer = infer_lrn, .cost = cost_lrn});
    b.add({.type = "LRNBackward", .params = {"LRN"}, .inputs = {"src", "dst", "diff"}, .outputs = {"grad"}, .summary = "Gradient of LRN", .infer = infer_like<0>});
    b.add({.type = "Softmax", .v2 = "Softmax", .params = {"Softmax"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "SoftmaxForward",
           .summary = "Softmax along an axis", .infer = infer_softmax, .cost = cost_per_output<5>});
    b.add({.type = "SoftmaxBackward", .params = {"Softmax"}, .inputs = {"y", "dy"}, .outputs = {"dx"}, .summary = "Gradient of Softmax", .infer = infer_like<0>});
}

} // namespace megascope
