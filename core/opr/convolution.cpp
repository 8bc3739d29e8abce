#include "opr/catalogue_builder.h"

namespace megascope {

void add_convolution(CatalogueBuilder& b) {
    b.category(OprCategory::convolution);
    b.add({.type = "Convolution", .v1 = "ConvolutionV2", .v2 = "Convolution", .params = {"Convolution", "ExecutionPolicy?"},
           .inputs = {"src", "filter"}, .outputs = {"dst"}, .profile = "ConvolutionForward",
           .summary = "2-D convolution, dense or grouped"});
    b.add({.type = "ConvolutionBackwardData", .v1 = "ConvolutionBackwardDataV2", .v2 = "ConvolutionBackwardData",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"filter", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Transposed 2-D convolution: the gradient of a convolution for its source", .use = src_for_shape_at<2>});
    b.add({.type = "ConvolutionBackwardFilter", .v1 = "ConvolutionBackwardFilterV2", .v2 = "ConvolutionBackwardFilter",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of a 2-D convolution for its filter", .use = src_for_shape_at<2>});
    b.add({.type = "ConvBiasForward", .v1 = "ConvBiasForwardV4", .v2 = "ConvBiasForward", .params = {"ConvBias", "ExecutionPolicy?"},
           .inputs = {"src", "filter", "bias", "z"}, .optional = 2, .outputs = {"dst"},
           .summary = "2-D convolution with bias, addend and nonlinearity in one step"});
    b.add({.type = "BatchConvBiasForward", .v1 = "BatchConvBiasForwardV1", .v2 = "BatchConvBiasForward",
           .params = {"BatchConvBias", "ExecutionPolicy?"}, .inputs = {"src", "filter", "bias", "z"}, .optional = 2, .outputs = {"dst"},
           .summary = "ConvBias with a filter of its own for every sample of the batch"});
    b.add({.type = "Convolution3D", .v2 = "Convolution3D", .params = {"Convolution3D", "ExecutionPolicy?"}, .inputs = {"src", "filter"},
           .outputs = {"dst"}, .profile = "Convolution3DForward", .summary = "3-D convolution"});
    b.add({.type = "Convolution3DBackwardData", .v2 = "Convolution3DBackwardData", .params = {"Convolution3D", "ExecutionPolicy?"},
           .inputs = {"filter", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Transposed 3-D convolution: the gradient of a convolution for its source", .use = src_for_shape_at<2>});
    b.add({.type = "Convolution3DBackwardFilter", .v2 = "Convolution3DBackwardFilter", .params = {"Convolution3D", "ExecutionPolicy?"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of a 3-D convolution for its filter",
           .use = src_for_shape_at<2>});
}

} // namespace megascope
