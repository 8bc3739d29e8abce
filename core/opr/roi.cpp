#include "opr/catalogue_builder.h"

namespace megascope {

void add_roi(CatalogueBuilder& b) {
    b.category(OprCategory::pooling);
    b.add({.type = "ROIPooling", .params = {"ROIPooling"}, .inputs = {"src", "rois", "dst_shape"}, .outputs = {"dst", "index"},
           .profile = "ROIPoolingForward", .summary = "Pooling of regions of interest to a fixed size", .use = last_on_host});
    b.add({.type = "ROIPoolingBackward", .params = {"ROIPooling"}, .inputs = {"diff", "src", "rois", "index"}, .outputs = {"grad"},
           .summary = "Gradient of ROIPooling"});
    b.add({.type = "ROIAlign", .v1 = "ROIAlignV1", .params = {"ROIAlign"}, .inputs = {"src", "rois"}, .outputs = {"dst", "index"},
           .profile = "ROIAlignForward", .summary = "Pooling of regions of interest at exact (interpolated) positions"});
    b.add({.type = "ROIAlignBackward", .v1 = "ROIAlignBackwardV1", .params = {"ROIAlign"}, .inputs = {"diff", "src", "rois", "index"},
           .outputs = {"grad"}, .summary = "Gradient of ROIAlign"});
    b.add({.type = "DeformablePSROIPoolingForward", .params = {"DeformablePSROIPooling"}, .inputs = {"data", "rois", "trans"},
           .outputs = {"out", "count"}, .summary = "Average over regions of interest whose bins are moved by learned offsets"});
    b.add({.type = "DeformablePSROIPoolingBackward", .params = {"DeformablePSROIPooling"},
           .inputs = {"data", "rois", "trans", "out diff", "out count"}, .outputs = {"data diff", "trans diff"},
           .summary = "Gradients of the deformable region pooling"});
}

} // namespace megascope
