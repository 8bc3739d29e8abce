#include <algorithm>

#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// U, S and Vt, or S alone.
Expected<std::size_t> count_svd(const Opr& opr) { return opr.param().boolean("compute_uv") ? 3 : 1; }

/// float as A; int8 and int16 → int32; quantized → the wider signed kind with the product of the scales.
std::optional<DType> product_dtype(const InferContext& c) {
    if (c.opr.output_dtype) return c.opr.output_dtype;
    const auto a = dtype_of(c, 0), b = dtype_of(c, 1);
    if (!a || !b) return std::nullopt;
    if (a->is_float()) return a;
    switch (a->id) {
    case DTypeId::int8:
    case DTypeId::int16: return DType(DTypeId::int32);
    case DTypeId::qint8:
    case DTypeId::quint8:
    case DTypeId::quint4: return DType(DTypeId::qint32, a->scale * b->scale);
    case DTypeId::qint4: return DType(DTypeId::qint16, a->scale * b->scale);
    default: return std::nullopt;
    }
}

tl::unexpected<Error> no_product(const InferContext& c) {
    return misfit(c.opr, "matrices of shapes " + shape_of(c, 0)->text() + " and " + shape_of(c, 1)->text() + " cannot be multiplied.");
}

/// Row and column of the matrix in axes 0 and 1, or 1 and 0 when it is used transposed.
struct Sides {
    std::int64_t outer_a, inner_a, inner_b, outer_b;
};
Sides sides(const Opr& opr, const Shape& a, const Shape& b, std::size_t a_axis, std::size_t b_axis) {
    const bool ta = opr.param().boolean("transposeA"), tb = opr.param().boolean("transposeB");
    return {a[a_axis + ta], a[a_axis + !ta], b[b_axis + tb], b[b_axis + !tb]};
}

Inferred infer_matrix_mul(const InferContext& c) {
    const auto dtype = product_dtype(c);
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (!a || !b) return one(dtype);
    const std::string format = c.opr.param().enum_name("format");
    if (format == "N32K4_DOT") { // A 1×K, B N/32,K/4,32,4
        if (a->ndim() != 2 || b->ndim() != 4 || (*a)[0] != 1 || (*a)[1] != saturated_mul((*b)[1], 4)) return no_product(c);
        return one(dtype, Shape{1, saturated_mul((*b)[0], (*b)[2])});
    }
    const bool packed = format != "DEFAULT"; // A M/p,K/p,p,p; B K/p,N,p; C M/p,N,p
    if (a->ndim() != (packed ? 4U : 2U) || b->ndim() != (packed ? 3U : 2U)) return no_product(c);
    const Sides s = sides(c.opr, *a, *b, 0, 0);
    if (s.inner_a != s.inner_b) return no_product(c);
    Shape out{s.outer_a, s.outer_b};
    if (packed) out.push_back((*b)[2]);
    return one(dtype, out);
}

Inferred infer_batched_matrix_mul(const InferContext& c) {
    const auto dtype = product_dtype(c);
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (!a || !b) return one(dtype);
    const std::size_t n = a->ndim();
    if (n < 3 || b->ndim() != n) return no_product(c);
    for (std::size_t i = 0; i + 2 < n; ++i)
        if ((*a)[i] != (*b)[i]) return no_product(c);
    const Sides s = sides(c.opr, *a, *b, n - 2, n - 2);
    if (s.inner_a != s.inner_b) return no_product(c);
    Shape out = *a;
    out[n - 2] = s.outer_a;
    out[n - 1] = s.outer_b;
    return one(dtype, out);
}

Inferred infer_dot(const InferContext& c) {
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (a && b && (a->ndim() != 1 || b->ndim() != 1 || ((*a)[0] != (*b)[0] && (*a)[0] != 1 && (*b)[0] != 1))) return no_product(c);
    return one(product_dtype(c), Shape{1});
}

Inferred infer_inverse(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (src && (src->ndim() < 2 || (*src)[src->ndim() - 1] != (*src)[src->ndim() - 2]))
        return misfit(c.opr, "matrices of shape " + src->text() + " are not square.");
    return one(dtype_of(c, 0), maybe(src));
}

Inferred infer_svd(const InferContext& c) {
    const bool all = c.opr.param().boolean("compute_uv");
    const Shape* src = shape_of(c, 0);
    if (!src) return std::vector<VarDesc>(all ? 3 : 1, describe(DTypeId::float32));
    const std::size_t n = src->ndim();
    if (n < 2) return misfit(c.opr, "a matrix needs 2 axes, but the shape is " + src->text() + ".");
    const std::int64_t rows = (*src)[n - 2], columns = (*src)[n - 1], rank = std::min(rows, columns);
    const bool full = c.opr.param().boolean("full_matrices");
    Shape u = *src, s = *src, vt = *src;
    u[n - 1] = full ? rows : rank;
    s.erase(n - 1);
    s[n - 2] = rank;
    vt[n - 2] = full ? columns : rank;
    u[n - 2] = rows;
    if (!all) return one(DTypeId::float32, s);
    return std::vector{describe(DTypeId::float32, u), describe(DTypeId::float32, s), describe(DTypeId::float32, vt)};
}

/// The vector axis (3 elements) of A and B may stand at different places, and at a third one in the result.
Inferred infer_cross(const InferContext& c) {
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (!a || !b) return one(dtype_of(c, 0));
    const Param& p = c.opr.param();
    const auto axis_a = resolve_axis(p.integer("axisa"), a->ndim()), axis_b = resolve_axis(p.integer("axisb"), b->ndim()),
               axis_c = resolve_axis(p.integer("axisc"), a->ndim());
    if (!axis_a || !axis_b || !axis_c || (*a)[*axis_a] != 3 || (*b)[*axis_b] != 3)
        return misfit(c.opr, "shapes " + a->text() + " and " + b->text() + " have no axes of 3 elements where the params say.");
    Shape rest_a = *a, rest_b = *b;
    rest_a.erase(*axis_a);
    rest_b.erase(*axis_b);
    if (!(rest_a == rest_b)) return misfit(c.opr, "shapes " + a->text() + " and " + b->text() + " differ outside the vector axis.");
    rest_a.insert(*axis_c, 3);
    return one(dtype_of(c, 0), rest_a);
}

/// MegEngine counts plain 2-D products only.
Cost cost_matrix_mul(const CostContext& c) {
    if (!cost_shapes_known(c, {0, 1})) return {};
    const Shape &a = input_shape(c, 0), &b = input_shape(c, 1);
    if (a.ndim() == 2 && b.ndim() == 2) {
        const Sides s = sides(c.opr, a, b, 0, 0);
        const double figure = 2 * static_cast<double>(s.outer_a) * static_cast<double>(s.inner_a) * static_cast<double>(s.outer_b);
        return {figure, figure, std::nullopt};
    }
    const double rows = c.opr.param().enum_name("format") == "N32K4_DOT" ? 1 : static_cast<double>(output_shape(c)[0]) * static_cast<double>(output_shape(c)[2]);
    return rows > 0 ? own_flops(2 * output_elements(c) * input_elements(c, 0) / rows) : Cost();
}

Cost cost_batched_matrix_mul(const CostContext& c) {
    if (!cost_shapes_known(c, {0, 1})) return {};
    const Shape& a = input_shape(c, 0);
    if (a.ndim() < 3) return {};
    const Sides s = sides(c.opr, a, input_shape(c, 1), a.ndim() - 2, a.ndim() - 2);
    return own_flops(2 * output_elements(c) * static_cast<double>(s.inner_a));
}

} // namespace

void add_matmul(CatalogueBuilder& b) {
    b.category(OprCategory::matmul);
    b.add({.type = "MatrixMul", .v1 = "MatrixMulV2", .params = {"MatrixMul"}, .inputs = {"A", "B"}, .outputs = {"C"},
           .summary = "Matrix product, either side transposed on demand", .infer = infer_matrix_mul, .cost = cost_matrix_mul});
    b.add({.type = "BatchedMatrixMul", .v1 = "BatchedMatrixMulV2", .params = {"MatrixMul"}, .inputs = {"A", "B"}, .outputs = {"C"},
           .summary = "Matrix product for every entry of the leading axes", .infer = infer_batched_matrix_mul, .cost = cost_batched_matrix_mul});
    b.add({.type = "Dot", .params = {"Empty"}, .inputs = {"a", "b"}, .outputs = {"c"}, .summary = "Inner product of two vectors", .infer = infer_dot, .cost = cost_per_input<2>});
    b.add({.type = "MatrixInverse", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Inverse of square matrices", .infer = infer_inverse});
    b.add({.type = "SVD", .params = {"SVD"}, .inputs = {"src"}, .outputs = {"U", "S", "Vt"},
           .summary = "Singular value decomposition; singular values alone on demand", .count = count_svd, .infer = infer_svd});
    b.add({.type = "Cross", .params = {"Cross"}, .inputs = {"A", "B"}, .outputs = {"C"}, .summary = "Cross product of 3-vectors", .infer = infer_cross, .cost = cost_per_output<3>});
}

} // namespace megascope
