#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

/// U, S and Vt, or S alone.
Expected<std::size_t> count_svd(const Opr& opr) { return opr.param().boolean("compute_uv") ? 3 : 1; }

} // namespace

void add_matmul(CatalogueBuilder& b) {
    b.category(OprCategory::matmul);
    b.add({.type = "MatrixMul", .v1 = "MatrixMulV2", .params = {"MatrixMul"}, .inputs = {"A", "B"}, .outputs = {"C"},
           .summary = "Matrix product, either side transposed on demand"});
    b.add({.type = "BatchedMatrixMul", .v1 = "BatchedMatrixMulV2", .params = {"MatrixMul"}, .inputs = {"A", "B"}, .outputs = {"C"},
           .summary = "Matrix product for every entry of the leading axes"});
    b.add({.type = "Dot", .params = {"Empty"}, .inputs = {"a", "b"}, .outputs = {"c"}, .summary = "Inner product of two vectors"});
    b.add({.type = "MatrixInverse", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Inverse of square matrices"});
    b.add({.type = "SVD", .params = {"SVD"}, .inputs = {"src"}, .outputs = {"U", "S", "Vt"},
           .summary = "Singular value decomposition; singular values alone on demand", .count = count_svd});
    b.add({.type = "Cross", .params = {"Cross"}, .inputs = {"A", "B"}, .outputs = {"C"}, .summary = "Cross product of 3-vectors"});
}

} // namespace megascope
