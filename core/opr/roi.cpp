#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// src (N,C,H,W) and rois (m,5) give (m,C,h,w).
Expected<Shape> pooled(const InferContext& c, std::int64_t h, std::int64_t w) {
    MGS_TRY(want_rank(c, 0, 4, "src"));
    MGS_TRY(want_rank(c, 1, 2, "rois"));
    const Shape &src = *shape_of(c, 0), &rois = *shape_of(c, 1);
    if (rois[1] != 5) return misfit(c.opr, "rois need 5 numbers per row, but their shape is " + rois.text() + ".");
    return Shape{rois[0], src[1], h, w};
}

Inferred with_index(const std::optional<Shape>& shape) {
    return std::vector{describe(DTypeId::float32, shape), describe(DTypeId::int32, shape)};
}

Inferred infer_roi_pooling(const InferContext& c) {
    MGS_ASSIGN(const auto target, shape_value(c, 2));
    if (!shape_of(c, 0) || !shape_of(c, 1) || !target) return with_index(std::nullopt);
    if (target->ndim() != 2) return misfit(c.opr, "the output size must have 2 numbers, not " + std::to_string(target->ndim()) + ".");
    MGS_ASSIGN(const Shape out, pooled(c, (*target)[0], (*target)[1]));
    return with_index(out);
}

Inferred infer_roi_align(const InferContext& c) {
    if (!shape_of(c, 0) || !shape_of(c, 1)) return with_index(std::nullopt);
    MGS_ASSIGN(const Shape out, pooled(c, c.opr.param().integer("pooled_height"), c.opr.param().integer("pooled_width")));
    return with_index(out);
}

Inferred infer_deformable(const InferContext& c) {
    if (!shape_of(c, 0) || !shape_of(c, 1)) return std::vector<VarDesc>(2, describe(dtype_of(c, 0)));
    const Param& p = c.opr.param();
    MGS_ASSIGN(const Shape out, pooled(c, p.integer("pooled_h"), p.integer("pooled_w")));
    if (!p.boolean("no_trans")) {
        MGS_TRY(want_rank(c, 2, 4, "trans"));
        const Shape* trans = shape_of(c, 2);
        if (trans && ((*trans)[1] != 2 || (*trans)[2] != out[2] || (*trans)[3] != out[3]))
            return misfit(c.opr, "offsets of shape " + trans->text() + " do not fit bins of " + std::to_string(out[2]) + "×" + std::to_string(out[3]) + ".");
    }
    return std::vector<VarDesc>(2, describe(dtype_of(c, 0), out));
}

} // namespace

void add_roi(CatalogueBuilder& b) {
    b.category(OprCategory::pooling);
    b.add({.type = "ROIPooling", .params = {"ROIPooling"}, .inputs = {"src", "rois", "dst_shape"}, .outputs = {"dst", "index"},
           .profile = "ROIPoolingForward", .summary = "Pooling of regions of interest to a fixed size", .use = last_on_host, .infer = infer_roi_pooling});
    b.add({.type = "ROIPoolingBackward", .params = {"ROIPooling"}, .inputs = {"diff", "src", "rois", "index"}, .outputs = {"grad"},
           .summary = "Gradient of ROIPooling", .infer = infer_like<1>});
    b.add({.type = "ROIAlign", .v1 = "ROIAlignV1", .params = {"ROIAlign"}, .inputs = {"src", "rois"}, .outputs = {"dst", "index"},
           .profile = "ROIAlignForward", .summary = "Pooling of regions of interest at exact (interpolated) positions", .infer = infer_roi_align});
    b.add({.type = "ROIAlignBackward", .v1 = "ROIAlignBackwardV1", .params = {"ROIAlign"}, .inputs = {"diff", "src", "rois", "index"},
           .outputs = {"grad"}, .summary = "Gradient of ROIAlign", .infer = infer_like<1>});
    b.add({.type = "DeformablePSROIPoolingForward", .params = {"DeformablePSROIPooling"}, .inputs = {"data", "rois", "trans"},
           .outputs = {"out", "count"}, .summary = "Average over regions of interest whose bins are moved by learned offsets", .infer = infer_deformable});
    b.add({.type = "DeformablePSROIPoolingBackward", .params = {"DeformablePSROIPooling"},
           .inputs = {"data", "rois", "trans", "out diff", "out count"}, .outputs = {"data diff", "trans diff"},
           .summary = "Gradients of the deformable region pooling", .infer = (infer_like<0, 2>)});
}

} // namespace megascope
