#include <algorithm>
#include <cstdlib>

#include "opr/catalogue_builder.h"
#include "opr/fold.h"
#include "opr/infer_util.h"
#include "tensor/element.h"

namespace megascope {

namespace {

Inferred infer_alloc(const InferContext& c) {
    MGS_ASSIGN(const auto shape, shape_value(c, 0));
    return one(c.opr.param().dtype("dtype"), shape);
}

/// start + i·(stop − start)/(n − 1), or /n without the end point.
Inferred infer_linspace(const InferContext& c) {
    VarDesc out = describe(DTypeId::float32);
    MGS_ASSIGN(const auto count, integers_of(c, 2, 1));
    if (!count) return std::vector{std::move(out)};
    if (count->size() != 1 || count->front() < 0) return misfit(c.opr, "the number of elements is not valid.");
    out.shape = Shape{count->front()};
    const std::int64_t n = count->front();
    if (values_known(c) && value_of(c, 0).elements() == 1 && value_of(c, 1).elements() == 1 && n <= static_cast<std::int64_t>(fold_limit)) {
        const double start = real_at(value_of(c, 0).ref(), 0), stop = real_at(value_of(c, 1).ref(), 0);
        const std::int64_t steps = c.opr.param().boolean("endpoint") ? std::max<std::int64_t>(n - 1, 1) : std::max<std::int64_t>(n, 1);
        std::vector<double> values;
        for (std::int64_t i = 0; i < n; ++i) values.push_back(start + static_cast<double>(i) * ((stop - start) / static_cast<double>(steps)));
        out.value = real_value(*out.dtype, *out.shape, values);
    }
    return std::vector{std::move(out)};
}

Inferred infer_eye(const InferContext& c) {
    MGS_ASSIGN(auto shape, shape_value(c, 0));
    if (shape && shape->ndim() > 2) return misfit(c.opr, "a matrix has 2 axes, but the target shape is " + shape->text() + ".");
    if (shape && shape->ndim() == 1) shape->push_back((*shape)[0]);
    return one(c.opr.param().dtype("dtype"), shape);
}

Inferred infer_diag(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype_of(c, 0));
    const std::int64_t k = c.opr.param().integer("k");
    if (src->ndim() == 1) {
        const std::int64_t n = saturated_add((*src)[0], std::abs(k));
        return one(dtype_of(c, 0), Shape{n, n});
    }
    MGS_TRY(want_rank(c, 0, 2, "src"));
    const std::int64_t length = k >= 0 ? std::min((*src)[0], (*src)[1] - k) : std::min((*src)[0] + k, (*src)[1]);
    if (length < 1) return misfit(c.opr, "a matrix of shape " + src->text() + " has no diagonal " + std::to_string(k) + ".");
    return one(dtype_of(c, 0), Shape{length});
}

Inferred infer_diag_backward(const InferContext& c) {
    MGS_ASSIGN(const auto shape, shape_value(c, 0));
    return one(dtype_of(c, 1), shape);
}

} // namespace

void add_creation(CatalogueBuilder& b) {
    b.category(OprCategory::data);
    b.add({.type = "Alloc", .params = {"param.DType"}, .inputs = {"shape"}, .outputs = {"out"}, .summary = "Uninitialised tensor of a given shape",
           .use = all_on_host, .infer = infer_alloc});
    b.add({.type = "Linspace", .params = {"Linspace"}, .inputs = {"start", "stop", "num"}, .outputs = {"dst"},
           .summary = "Evenly spaced numbers", .use = all_on_host, .infer = infer_linspace});
    b.add({.type = "Eye", .params = {"Eye"}, .inputs = {"shape"}, .outputs = {"dst"}, .summary = "Matrix with ones on a diagonal",
           .use = all_on_host, .infer = infer_eye});
    b.add({.type = "Diag", .params = {"Diag"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Diagonal of a matrix, or the matrix with a given diagonal", .infer = infer_diag});
    b.add({.type = "DiagBackward", .params = {"Diag"}, .inputs = {"shape", "diff"}, .outputs = {"grad"}, .summary = "Gradient of Diag",
           .use = host_value_at<0>, .infer = infer_diag_backward});
}

} // namespace megascope
