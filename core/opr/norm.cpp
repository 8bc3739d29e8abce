#include "opr/catalogue_builder.h"

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

} // namespace

void add_norm(CatalogueBuilder& b) {
    b.category(OprCategory::normalisation);
    b.add({.type = "BatchNorm", .v1 = "BatchNormV1", .params = {"BN"}, .inputs = {"x", "scale", "bias", "running_mean", "running_var"},
           .optional = 2, .outputs = {"running_mean", "running_var", "save_mean", "save_inv_variance", "reserve", "y"},
           .profile = "BatchNormForward", .summary = "Normalisation over the batch, by its own or by running statistics",
           .count = count_batch_norm});
    b.add({.type = "BatchNormBackward", .v1 = "BatchNormBackwardV1", .params = {"BN"},
           .inputs = {"x", "dy", "save_mean", "save_inv_variance", "scale", "reserve"}, .outputs = {"dscale", "dbias", "dx"},
           .summary = "Gradients of BatchNorm"});
    b.add({.type = "LayerNorm", .params = {"LayerNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "rstd"}, .profile = "LayerNormForward", .summary = "Normalisation over the last axes"});
    b.add({.type = "LayerNormBackward", .params = {"LayerNorm"}, .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1,
           .outputs = {"ddata", "dweight", "dbias"}, .summary = "Gradients of LayerNorm", .count = count_norm_backward});
    b.add({.type = "GroupNorm", .v2 = "GroupNorm", .params = {"GroupNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "variance"}, .profile = "GroupNormForward",
           .summary = "Normalisation per sample and group of channels"});
    b.add({.type = "GroupNormBackward", .v2 = "GroupNormBackward", .params = {"GroupNorm"},
           .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1, .outputs = {"ddata", "dweight", "dbias"},
           .summary = "Gradients of GroupNorm", .count = count_norm_backward});
    b.add({.type = "InstanceNorm", .v2 = "InstanceNorm", .params = {"GroupNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "variance"}, .profile = "InstanceNormForward",
           .summary = "Normalisation per sample and channel"});
    b.add({.type = "InstanceNormBackward", .v2 = "InstanceNormBackward", .params = {"GroupNorm"},
           .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1, .outputs = {"ddata", "dweight", "dbias"},
           .summary = "Gradients of InstanceNorm", .count = count_norm_backward});
    b.add({.type = "GeneralNorm", .params = {"GeneralNorm"}, .inputs = {"data", "weight", "bias"}, .optional = 2,
           .outputs = {"dst", "mean", "rstd"}, .profile = "GeneralNormForward", .summary = "Normalisation over a range of axes"});
    b.add({.type = "GeneralNormBackward", .params = {"GeneralNorm"}, .inputs = {"diff", "data", "weight", "mean", "rstd"}, .optional = 1,
           .outputs = {"ddata", "dweight", "dbias"}, .summary = "Gradients of GeneralNorm", .count = count_norm_backward});
    b.add({.type = "LRN", .params = {"LRN"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "LRNForward",
           .summary = "Local response normalisation across channels"});
    b.add({.type = "LRNBackward", .params = {"LRN"}, .inputs = {"src", "dst", "diff"}, .outputs = {"grad"}, .summary = "Gradient of LRN"});
    b.add({.type = "Softmax", .v2 = "Softmax", .params = {"Softmax"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "SoftmaxForward",
           .summary = "Softmax along an axis"});
    b.add({.type = "SoftmaxBackward", .params = {"Softmax"}, .inputs = {"y", "dy"}, .outputs = {"dx"}, .summary = "Gradient of Softmax"});
}

} // namespace megascope
