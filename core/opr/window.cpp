#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

Inferred infer_images2neibs(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype_of(c, 0));
    MGS_TRY(want_rank(c, 0, 4, "src"));
    const Param& p = c.opr.param();
    Shape out{(*src)[0], (*src)[1], 0, 0, p.integer("window_h"), p.integer("window_w")};
    MGS_ASSIGN(out[2], window_positions(c.opr, (*src)[2], {p.integer("pad_h"), out[4], p.integer("stride_h"), p.integer("dilate_h")}));
    MGS_ASSIGN(out[3], window_positions(c.opr, (*src)[3], {p.integer("pad_w"), out[5], p.integer("stride_w"), p.integer("dilate_w")}));
    return one(dtype_of(c, 0), out);
}

Inferred infer_transpose(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype_of(c, 0));
    MGS_TRY(want_rank(c, 0, 6, "src"));
    const Param& p = c.opr.param();
    const Shape out{(*src)[0], (*src)[1], p.integer("out_h"), p.integer("out_w")};
    const Window h{p.integer("pad_h"), p.integer("window_h"), p.integer("stride_h"), p.integer("dilate_h")};
    const Window w{p.integer("pad_w"), p.integer("window_w"), p.integer("stride_w"), p.integer("dilate_w")};
    MGS_ASSIGN(const std::int64_t rows, window_positions(c.opr, out[2], h));
    MGS_ASSIGN(const std::int64_t columns, window_positions(c.opr, out[3], w));
    if (rows != (*src)[2] || columns != (*src)[3] || h.size != (*src)[4] || w.size != (*src)[5])
        return misfit(c.opr, "windows of shape " + src->text() + " do not come from an image of " + std::to_string(out[2]) + "×" +
                                 std::to_string(out[3]) + ".");
    return one(dtype_of(c, 0), out);
}

} // namespace

void add_window(CatalogueBuilder& b) {
    b.category(OprCategory::shape);
    b.add({.type = "Images2Neibs", .params = {"Images2Neibs"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "Images2NeibsForward",
           .summary = "Gathers the windows of a sliding window", .infer = infer_images2neibs});
    b.add({.type = "Images2NeibsBackward", .params = {"Images2Neibs"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Images2Neibs", .use = last_for_shape, .infer = infer_like<1>});
    b.add({.type = "SlidingWindowTranspose", .params = {"SlidingWindowTranspose"}, .inputs = {"src"}, .outputs = {"dst"},
           .profile = "SlidingWindowTransposeForward", .summary = "Adds windows back into an image: the adjoint of Images2Neibs", .infer = infer_transpose});
    b.add({.type = "SlidingWindowTransposeBackward", .params = {"SlidingWindowTranspose"}, .inputs = {"diff", "src for shape"},
           .outputs = {"grad"}, .summary = "Gradient of SlidingWindowTranspose", .use = last_for_shape, .infer = infer_like<1>});
}

} // namespace megascope
