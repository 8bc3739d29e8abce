#include <utility>

#include "opr/catalogue_builder.h"
#include "opr/image_layout.h"

namespace megascope {

namespace {

/// `src` with its image size replaced by a (h, w) value, batch by `n` when it is not negative, in the destination layout.
Expected<std::optional<Shape>> resized(const InferContext& c, std::size_t size_input, std::int64_t n) {
    std::optional<Shape> out;
    const Shape* src = shape_of(c, 0);
    MGS_ASSIGN(const auto target, shape_value(c, size_input));
    if (!src || !target) return out;
    if (target->ndim() != 2) return misfit(c.opr, "the output size must have 2 numbers, not " + std::to_string(target->ndim()) + ".");
    const auto format = static_cast<ImageFormat>(c.opr.param().integer("format"));
    MGS_ASSIGN(const ImageLayout in, image_layout_of(c.opr, format, *src, "src"));
    out = destination_layout(format)->shape(n < 0 ? (*src)[in.n] : n, in.channels(*src), (*target)[0], (*target)[1]);
    return out;
}

Inferred infer_resize(const InferContext& c) {
    MGS_ASSIGN(const auto shape, resized(c, 1, -1));
    return one(dtype_of(c, 0), shape);
}

/// Volumes are NCDHW or NDHWC; the size has three numbers.
Inferred infer_resize3d(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    MGS_ASSIGN(const auto target, shape_value(c, 1));
    if (!src || !target) return one(dtype_of(c, 0));
    MGS_TRY(want_rank(c, 0, 5, "src"));
    if (target->ndim() != 3) return misfit(c.opr, "the output size must have 3 numbers, not " + std::to_string(target->ndim()) + ".");
    const std::size_t first = c.opr.param().enum_name("format") == "NDHWC" ? 1 : 2;
    Shape out = *src;
    for (std::size_t i = 0; i < 3; ++i) out[first + i] = (*target)[i];
    return one(dtype_of(c, 0), out);
}

/// Matrices of `rows`×3, one for each output image.
Expected<void> check_matrices(const InferContext& c, std::size_t input, std::int64_t rows) {
    const Shape* mat = shape_of(c, input);
    if (mat && (mat->ndim() != 3 || (*mat)[1] != rows || (*mat)[2] != 3))
        return misfit(c.opr, "matrices must have the shape (n, " + std::to_string(rows) + ", 3), not " + mat->text() + ".");
    return {};
}

/// Inputs src…, mat, [mat_idx], out_shape: the arity is resolved from the end. Several sources are images of batch 1.
Inferred infer_warp_perspective(const InferContext& c) {
    const auto dtype = c.opr.output_dtype ? c.opr.output_dtype : dtype_of(c, 0);
    const std::size_t last = c.inputs.size() - 1;
    const Shape* before_last = shape_of(c, last - 1);
    if (!before_last) return one(dtype);
    const bool has_index = before_last->ndim() != 3;
    const std::size_t mat_at = has_index ? last - 2 : last - 1;
    if (mat_at == 0) return misfit(c.opr, "it has no source beside its matrices.");
    MGS_TRY(check_matrices(c, mat_at, 3));
    const Shape *src = shape_of(c, 0), *mat = shape_of(c, mat_at);
    if (!src || !mat) return one(dtype);
    if (has_index && !(*before_last == Shape{(*mat)[0]}))
        return misfit(c.opr, "mat_idx of shape " + before_last->text() + " does not fit " + std::to_string((*mat)[0]) + " matrices.");
    if (!has_index && mat_at == 1 && src->ndim() > 0 && c.opr.param().enum_name("format") != "CHWN4" && (*src)[0] != (*mat)[0])
        return misfit(c.opr, std::to_string((*mat)[0]) + " matrices do not fit " + std::to_string((*src)[0]) + " images.");
    for (std::size_t i = 1; i < mat_at; ++i)
        if (const Shape* other = shape_of(c, i); other && !(*other == *src))
            return misfit(c.opr, "its sources have the shapes " + src->text() + " and " + other->text() + ".");
    MGS_ASSIGN(const auto shape, resized(c, last, (*mat)[0]));
    return one(dtype, shape);
}

Inferred infer_warp_affine(const InferContext& c) {
    MGS_TRY(check_matrices(c, 1, 2));
    const Shape *src = shape_of(c, 0), *mat = shape_of(c, 1);
    if (src && mat && src->ndim() > 0 && (*src)[0] != (*mat)[0])
        return misfit(c.opr, std::to_string((*mat)[0]) + " matrices do not fit " + std::to_string((*src)[0]) + " images.");
    MGS_ASSIGN(const auto shape, resized(c, 2, -1));
    return one(dtype_of(c, 0), shape);
}

Inferred infer_last_shape(const InferContext& c) {
    const std::size_t last = c.inputs.size() - 1;
    return one(dtype_of(c, last - 1), maybe(shape_of(c, last)));
}

/// map_xy is (n, h, w, 2).
Inferred infer_remap(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *map = shape_of(c, 1);
    if (!src || !map) return one(dtype_of(c, 0));
    MGS_ASSIGN(const ImageLayout layout, image_layout_of(c.opr, static_cast<ImageFormat>(c.opr.param().integer("format")), *src, "src"));
    if (map->ndim() != 4 || (*map)[3] != 2 || (*map)[0] != (*src)[layout.n])
        return misfit(c.opr, "a map of shape " + map->text() + " does not fit images of shape " + src->text() + ".");
    Shape out = *src;
    out[layout.h] = (*map)[1];
    out[layout.w] = (*map)[2];
    return one(dtype_of(c, 0), out);
}

Inferred infer_image(const InferContext& c) {
    MGS_TRY(want_rank(c, 0, 4, "src"));
    return one(dtype_of(c, 0), maybe(shape_of(c, 0)));
}

Inferred infer_rotate(const InferContext& c) {
    MGS_ASSIGN(auto out, infer_image(c));
    if (out[0].shape) std::swap((*out[0].shape)[1], (*out[0].shape)[2]);
    return out;
}

/// Channels that the mode reads and writes; the planar modes read one channel of 3h/2 rows and write h rows.
Inferred infer_cvt_color(const InferContext& c) {
    MGS_ASSIGN(auto out, infer_image(c));
    if (!out[0].shape) return out;
    Shape& shape = *out[0].shape;
    const std::string mode = c.opr.param().enum_name("mode");
    const bool planar = mode.ends_with("NV21") || mode.ends_with("NV12") || mode.ends_with("YV12") || mode.ends_with("YU12") ||
                        mode.starts_with("YCrCb");
    const std::int64_t reads = planar || mode.starts_with("GRAY") ? 1 : mode.starts_with("RGBA") ? 4 : 3;
    const std::int64_t rows = !planar ? 1 : mode.ends_with("YV12") || mode.ends_with("YU12") ? 6 : 3;
    if (shape[3] != reads || shape[1] % rows != 0 || (planar && shape[2] % 2 != 0))
        return misfit(c.opr, "an image of shape " + shape.text() + " is not what " + mode + " reads.");
    if (planar) shape[1] = shape[1] / 3 * 2;
    shape[3] = mode.find("2GRAY") != std::string::npos ? 1 : 3;
    return out;
}

/// Blocks become positions, frequencies channels.
Inferred infer_dct(const InferContext& c) {
    const DType dtype = c.opr.output_dtype.value_or(DType(DTypeId::float32));
    const Shape* src = shape_of(c, 0);
    if (!src || !shapes_known(c)) return one(dtype);
    MGS_TRY(want_rank(c, 0, 4, "src"));
    const std::int64_t block = c.opr.param().integer("dct_block_size");
    if (block < 1 || (*src)[2] % block != 0 || (*src)[3] % block != 0)
        return misfit(c.opr, "an image of shape " + src->text() + " cannot be cut into blocks of " + std::to_string(block) + ".");
    std::int64_t channels = saturated_mul((*src)[1], saturated_mul(block, block));
    if (c.inputs.size() == 3) {
        MGS_TRY(want_rank(c, 1, 1, "mask_offset"));
        MGS_TRY(want_rank(c, 2, 1, "mask_val"));
        if ((*shape_of(c, 1))[0] >= 2) channels = (*shape_of(c, 2))[0];
    }
    if (c.opr.param().enum_name("format") == "NCHW4") {
        if (channels % 4 != 0) return misfit(c.opr, std::to_string(channels) + " channels cannot be packed by 4.");
        return one(dtype, Shape{(*src)[0], channels / 4, (*src)[2] / block, (*src)[3] / block, 4});
    }
    return one(dtype, Shape{(*src)[0], channels, (*src)[2] / block, (*src)[3] / block});
}

Inferred infer_flow(const InferContext&) { return one(DTypeId::int16); }

} // namespace

void add_image(CatalogueBuilder& b) {
    b.category(OprCategory::image);
    b.add({.type = "Resize", .v1 = "ResizeV2", .params = {"Resize"}, .inputs = {"src", "out_shape"}, .outputs = {"dst"},
           .profile = "ResizeForward", .summary = "Scales images to a given size", .use = last_on_host, .infer = infer_resize});
    b.add({.type = "ResizeBackward", .params = {"Resize"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Resize", .use = last_for_shape, .infer = infer_like<1>});
    b.add({.type = "Resize3D", .params = {"Resize3D"}, .inputs = {"src", "out_shape"}, .outputs = {"dst"}, .profile = "Resize3DForward",
           .summary = "Scales volumes to a given size", .use = last_on_host, .infer = infer_resize3d});
    b.add({.type = "WarpPerspective", .v1 = "WarpPerspectiveV2", .params = {"WarpPerspective"},
           .inputs = {"src", "mat", "mat_idx or out_shape"}, .repeated = "src, mat, mat_idx, out_shape", .outputs = {"dst"},
           .profile = "WarpPerspectiveForward", .summary = "Perspective transformation of images by 3×3 matrices", .use = last_on_host, .infer = infer_warp_perspective});
    b.add({.type = "WarpPerspectiveBackwardData", .v1 = "WarpPerspectiveBackwardDataV2", .params = {"WarpPerspective"},
           .inputs = {"mat", "mat_idx", "diff", "src for shape"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of WarpPerspective for its source", .use = last_for_shape, .infer = infer_last_shape});
    b.add({.type = "WarpPerspectiveBackwardMat", .v1 = "WarpPerspectiveBackwardMatV2", .params = {"WarpPerspective"},
           .inputs = {"src", "mat", "mat_idx", "diff"}, .optional = 1, .outputs = {"grad"},
           .summary = "Gradient of WarpPerspective for its matrices", .infer = infer_like<1>});
    b.add({.type = "WarpAffine", .v1 = "WarpAffineV2", .params = {"WarpAffine"}, .inputs = {"src", "mat", "out_shape"}, .outputs = {"dst"},
           .profile = "WarpAffineForward", .summary = "Affine transformation of images by 2×3 matrices", .use = last_on_host, .infer = infer_warp_affine});
    b.add({.type = "Remap", .v1 = "RemapV1", .params = {"Remap"}, .inputs = {"src", "map_xy"}, .outputs = {"dst"},
           .profile = "RemapForward", .summary = "Reads images at the positions that a map gives", .infer = infer_remap});
    b.add({.type = "RemapBackwardData", .v1 = "RemapBackwardDataV1", .params = {"Remap"}, .inputs = {"map_xy", "diff", "src for shape"},
           .outputs = {"grad"}, .summary = "Gradient of Remap for its source", .use = last_for_shape, .infer = infer_like<2>});
    b.add({.type = "RemapBackwardMat", .v1 = "RemapBackwardMatV1", .params = {"Remap"}, .inputs = {"src", "map_xy", "diff"},
           .outputs = {"grad"}, .summary = "Gradient of Remap for its map", .infer = infer_like<1>});
    b.add({.type = "Flip", .params = {"Flip"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "FlipForward",
           .summary = "Mirrors images", .infer = infer_image});
    b.add({.type = "Rotate", .params = {"Rotate"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "RotateForward",
           .summary = "Turns images by 90 degrees", .infer = infer_rotate});
    b.add({.type = "CvtColor", .params = {"CvtColor"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "CvtColorForward",
           .summary = "Converts between colour spaces", .infer = infer_cvt_color});
    b.add({.type = "GaussianBlur", .params = {"GaussianBlur"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "GaussianBlurForward",
           .summary = "Gaussian blur of images", .infer = infer_image});
    b.add({.type = "DctChannelSelect", .v1 = "DctChannelSelectV1", .params = {"DctChannelSelect"},
           .inputs = {"src", "mask_offset", "mask_val"}, .optional = 2, .outputs = {"dst"}, .profile = "DctChannelSelectForward",
           .summary = "Block-wise cosine transform that keeps chosen frequencies as channels", .infer = infer_dct});
    b.add({.type = "NvOf", .params = {"NvOf"}, .inputs = {"src"}, .outputs = {"flow"}, .summary = "Optical flow by the graphics card", .infer = infer_flow});
}

} // namespace megascope
