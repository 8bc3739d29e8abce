#include "opr/catalogue_builder.h"

namespace megascope {

void add_local_convolution(CatalogueBuilder& b) {
    b.category(OprCategory::convolution);
    b.add({.type = "Local", .v1 = "LocalV2", .params = {"Convolution"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .profile = "LocalForward", .summary = "Convolution with another filter at every output position"});
    b.add({.type = "LocalBackwardData", .v1 = "LocalBackwardDataV2", .params = {"Convolution"},
           .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"}, .summary = "Gradient of Local for its source",
           .use = last_for_shape});
    b.add({.type = "LocalBackwardFilter", .v1 = "LocalBackwardFilterV2", .params = {"Convolution"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of Local for its filter",
           .use = last_for_shape});
    b.add({.type = "GroupLocal", .v1 = "GroupLocalV2", .params = {"Convolution"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .profile = "GroupLocalForward", .summary = "Local in groups of channels"});
    b.add({.type = "GroupLocalBackwardData", .v1 = "GroupLocalBackwardDataV2", .params = {"Convolution"},
           .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"}, .summary = "Gradient of GroupLocal for its source",
           .use = last_for_shape});
    b.add({.type = "GroupLocalBackwardFilter", .v1 = "GroupLocalBackwardFilterV2", .params = {"Convolution"},
           .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"}, .summary = "Gradient of GroupLocal for its filter",
           .use = last_for_shape});
    b.add({.type = "LocalShareForward", .v1 = "LocalShareForwardV1", .v2 = "LocalShareForward",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"src", "filter"}, .outputs = {"dst"},
           .summary = "Convolution with one filter per region of the output"});
    b.add({.type = "LocalShareBackwardData", .v1 = "LocalShareBackwardDataV1", .v2 = "LocalShareBackwardData",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"filter", "diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of LocalShare for its source", .use = last_for_shape});
    b.add({.type = "LocalShareBackwardFilter", .v1 = "LocalShareBackwardFilterV1", .v2 = "LocalShareBackwardFilter",
           .params = {"LocalShare", "ExecutionPolicy?"}, .inputs = {"src", "diff", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of LocalShare for its filter", .use = last_for_shape});
    b.add({.type = "DeformableConvForward", .v1 = "DeformableConvForwardV1", .v2 = "DeformableConvForward",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask"}, .outputs = {"dst"},
           .summary = "Convolution whose taps are moved by learned offsets and weighted by a mask"});
    b.add({.type = "DeformableConvBackwardData", .v1 = "DeformableConvBackwardDataV1", .v2 = "DeformableConvBackwardData",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask", "diff"},
           .outputs = {"im grad", "offset grad", "mask grad"}, .summary = "Gradients of a deformable convolution for image, offsets and mask"});
    b.add({.type = "DeformableConvBackwardFilter", .v1 = "DeformableConvBackwardFilterV1", .v2 = "DeformableConvBackwardFilter",
           .params = {"Convolution", "ExecutionPolicy?"}, .inputs = {"im", "filter", "offset", "mask", "diff"}, .outputs = {"filter grad"},
           .summary = "Gradient of a deformable convolution for its filter"});
    b.add({.type = "MaskConvolution", .v1 = "MaskConvolutionV2", .params = {"Convolution"}, .inputs = {"src", "filter", "mask"},
           .outputs = {"dst"}, .summary = "Convolution that leaves zero where the mask is zero"});
    b.add({.type = "MaskPropagate", .params = {"MaskPropagate"}, .inputs = {"mask"}, .outputs = {"mask"},
           .summary = "Moves a mask through the window of a convolution"});
    b.add({.type = "RegionRestrictedConvolution", .params = {"Convolution"}, .inputs = {"src", "filter", "region in", "region out"},
           .outputs = {"dst"}, .profile = "RegionRestrictedConvolutionForward",
           .summary = "Convolution in which only taps of the output's own region count"});
    b.add({.type = "RegionRestrictedConvolutionBackwardData", .params = {"Convolution"},
           .inputs = {"filter", "diff", "region in", "region out", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of a region restricted convolution for its source", .use = src_for_shape_at<4>});
    b.add({.type = "RegionRestrictedConvolutionBackwardFilter", .params = {"Convolution"},
           .inputs = {"src", "diff", "region in", "region out", "filter for shape"}, .outputs = {"grad"},
           .summary = "Gradient of a region restricted convolution for its filter", .use = src_for_shape_at<4>});
    b.add({.type = "CorrelationForward", .params = {"Correlation"}, .inputs = {"data1", "data2"}, .outputs = {"dst"},
           .summary = "Cost volume of two feature maps over displacements"});
    b.add({.type = "CorrelationBackwardData1", .params = {"Correlation"}, .inputs = {"diff", "data1", "data2"}, .outputs = {"grad1"},
           .summary = "Gradient of a correlation for its first input"});
    b.add({.type = "CorrelationBackwardData2", .params = {"Correlation"}, .inputs = {"diff", "data1", "data2"}, .outputs = {"grad2"},
           .summary = "Gradient of a correlation for its second input"});
}

} // namespace megascope
