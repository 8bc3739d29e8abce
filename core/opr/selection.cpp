#include <algorithm>
#include <cstdlib>

#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

Expected<std::size_t> count_top_k(const Opr& opr) { return opr.param().enum_name("mode") == "KTH_ONLY" ? 1 : 2; }

Inferred infer_cond_take(const InferContext& c) {
    const Shape *data = shape_of(c, 0), *mask = shape_of(c, 1);
    if (data && mask && !(*data == *mask))
        return misfit(c.opr, "a mask of shape " + mask->text() + " does not fit data of shape " + data->text() + ".");
    return std::vector{describe(dtype_of(c, 0)), describe(DTypeId::int32)};
}

Inferred infer_non_zero(const InferContext&) { return one(DTypeId::int32); }

Inferred infer_top_k(const InferContext& c) {
    const bool kth_only = c.opr.param().enum_name("mode") == "KTH_ONLY";
    std::vector<VarDesc> out{describe(dtype_of(c, 0))};
    if (!kth_only) out.push_back(describe(DTypeId::int32));
    const Shape* data = shape_of(c, 0);
    if (!data) return out;
    MGS_TRY(want_rank(c, 0, 2, "data"));
    MGS_ASSIGN(const auto k, integers_of(c, 1, 1));
    if (k && (k->size() != 1 || k->front() == 0)) return misfit(c.opr, "k must be one number that is not 0.");
    if (kth_only) {
        out[0].shape = Shape{(*data)[0]};
    } else if (k) {
        out[0].shape = out[1].shape = Shape{(*data)[0], std::min(std::abs(k->front()), (*data)[1])}; // at most the whole row
    }
    return out;
}

Inferred infer_argsort(const InferContext& c) {
    MGS_TRY(want_rank(c, 0, 2, "src"));
    const auto shape = maybe(shape_of(c, 0));
    return std::vector{describe(dtype_of(c, 0), shape), describe(DTypeId::int32, shape)};
}

Inferred infer_nms_keep(const InferContext& c) {
    const Shape* boxes = shape_of(c, 0);
    std::optional<Shape> indices, sizes;
    if (boxes) {
        if (boxes->ndim() != 3 || (*boxes)[2] != 4) return misfit(c.opr, "boxes need a shape of (batch, boxes, 4), not " + boxes->text() + ".");
        indices = Shape{(*boxes)[0], c.opr.param().integer("max_output")};
        sizes = Shape{(*boxes)[0]};
    }
    return std::vector{describe(DTypeId::int32, indices), describe(DTypeId::int32, sizes)};
}

} // namespace

void add_selection(CatalogueBuilder& b) {
    b.category(OprCategory::indexing);
    b.add({.type = "CondTake", .params = {"CondTake"}, .inputs = {"data", "mask"}, .outputs = {"values", "offsets"},
           .summary = "The elements whose mask value fulfils a condition, with their positions", .infer = infer_cond_take});
    b.add({.type = "NonZero", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Coordinates of all non-zero elements", .infer = infer_non_zero});
    b.add({.type = "TopK", .params = {"TopK"}, .inputs = {"data", "k"}, .outputs = {"values", "indices"},
           .summary = "The k smallest (largest for negative k) elements of every row", .count = count_top_k, .use = last_on_host, .infer = infer_top_k});
    b.add({.type = "Argsort", .params = {"Argsort"}, .inputs = {"src"}, .outputs = {"sorted", "indices"}, .profile = "ArgsortForward",
           .summary = "Sorts every row and gives the order", .infer = infer_argsort});
    b.add({.type = "ArgsortBackward", .params = {"Empty"}, .inputs = {"diff", "indices", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Argsort and TopK", .use = last_for_shape, .infer = infer_like<2>});
    b.add({.type = "NMSKeep", .v1 = "NMSKeepMGB", .params = {"NMSKeep"}, .inputs = {"boxes"}, .outputs = {"indices", "sizes"},
           .summary = "Non-maximum suppression of boxes that are sorted by score", .infer = infer_nms_keep});
}

} // namespace megascope
