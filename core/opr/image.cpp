#include "opr/catalogue_builder.h"

namespace megascope {

void add_image(CatalogueBuilder& b) {
    b.category(OprCategory::image);
    b.add({.type = "Resize", .v1 = "ResizeV2", .params = {"Resize"}, .inputs = {"src", "out_shape"}, .outputs = {"dst"},
           .profile = "ResizeForward", .summary = "Scales images to a given size", .use = last_on_host});
    b.add({.type = "ResizeBackward", .params = {"Resize"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Resize", .use = last_for_shape});
    b.add({.type = "Resize3D", .params = {"Resize3D"}, .inputs = {"src", "out_shape"}, .outputs = {"dst"}, .profile = "Resize3DForward",
           .summary = "Scales volumes to a given size", .use = last_on_host});
    b.add({.type = "WarpPerspective", .v1 = "WarpPerspectiveV2", .params = {"WarpPerspective"},
           .inputs = {"src", "mat", "mat_idx or out_shape"}, .repeated = "src, mat, mat_idx, out_shape", .outputs = {"dst"},
           .profile = "WarpPerspectiveForward", .summary = "Perspective transformation of images by 3×3 matrices", .use = last_on_host});
    b.add({.type = "WarpPerspectiveBackwardData", .v1 = "WarpPerspectiveBackwardDataV2", .params = {"WarpPerspective"},
           .inputs = {"mat", "mat_idx", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of WarpPerspective for its source", .use = last_for_shape});
    b.add({.type = "WarpPerspectiveBackwardMat", .v1 = "WarpPerspectiveBackwardMatV2", .params = {"WarpPerspective"},
           .inputs = {"src", "mat", "mat_idx", "diff"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of WarpPerspective for its matrices"});
    b.add({.type = "WarpAffine", .v1 = "WarpAffineV2", .params = {"WarpAffine"}, .inputs = {"src", "mat", "out_shape"}, .outputs = {"dst"},
           .profile = "WarpAffineForward", .summary = "Affine transformation of images by 2×3 matrices", .use = last_on_host});
    b.add({.type = "Remap", .v1 = "RemapV1", .params = {"Remap"}, .inputs = {"src", "map_xy"}, .outputs = {"dst"},
           .profile = "RemapForward", .summary = "Reads images at the positions that a map gives"});
    b.add({.type = "RemapBackwardData", .v1 = "RemapBackwardDataV1", .params = {"Remap"}, .inputs = {"map_xy", "diff", "src for shape"},
           .outputs = {"grad"}, .summary = "Gradient of Remap for its source", .use = last_for_shape});
    b.add({.type = "RemapBackwardMat", .v1 = "RemapBackwardMatV1", .params = {"Remap"}, .inputs = {"src", "map_xy", "diff"},
           .outputs = {"grad"}, .summary = "Gradient of Remap for its map"});
    b.add({.type = "Flip", .params = {"Flip"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "FlipForward",
           .summary = "Mirrors images"});
    b.add({.type = "Rotate", .params = {"Rotate"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "RotateForward",
           .summary = "Turns images by 90 degrees"});
    b.add({.type = "CvtColor", .params = {"CvtColor"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "CvtColorForward",
           .summary = "Converts between colour spaces"});
    b.add({.type = "GaussianBlur", .params = {"GaussianBlur"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "GaussianBlurForward",
           .summary = "Gaussian blur of images"});
    b.add({.type = "DctChannelSelect", .v1 = "DctChannelSelectV1", .params = {"DctChannelSelect"},
           .inputs = {"src", "mask_offset", "mask_val"}, .optional = 2, .outputs = {"dst"}, .profile = "DctChannelSelectForward",
           .summary = "Block-wise cosine transform that keeps chosen frequencies as channels"});
    b.add({.type = "NvOf", .params = {"NvOf"}, .inputs = {"src"}, .outputs = {"flow"}, .summary = "Optical flow by the graphics card"});
}

} // namespace megascope
