// MatrixMul (plain and packed formats), BatchedMatrixMul and Dot.

#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/matmul_core.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

/// How the three matrices lie: rows "R" and columns "C"; see axis_layout.h.
struct Layouts {
    std::string_view a = "RC";
    std::string_view b = "RC";
    std::string_view c = "RC";
};
constexpr std::string_view matrix_order = "RC";

Layouts layouts(const Param& param) {
    const std::string format = param.enum_name("format");
    if (format == "MK4" || format == "MK8") return {"RCcr", "RCr", "RCr"};
    if (format == "MK4_DOT") return {"RCrc", "RCr", "RCr"};
    if (format == "N32K4_DOT") return {"RC", "CRcr", "RC"};
    return {};
}

tl::unexpected<Error> mismatch(const Shape& a, const Shape& b, const Shape& c) {
    return fail(ErrorCode::invalid_argument, "A matrix product of " + a.text() + " and " + b.text() + " cannot give " + c.text() + ".");
}

struct Matrix {
    std::vector<double> values;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

Expected<Matrix> plain_matrix(const TensorRef& tensor, std::string_view layout, bool transposed) {
    MGS_ASSIGN(const Shape shape, plain_shape(tensor.shape, layout, matrix_order));
    Matrix m{unpack(to_numbers(tensor), tensor.shape, layout, matrix_order), shape[0], shape[1]};
    if (transposed) {
        m.values = transpose(m.values, m.rows, m.columns);
        std::swap(m.rows, m.columns);
    }
    return m;
}

Expected<void> matrix_mul(const KernelArgs& args) {
    const TensorRef& a = args.inputs[0];
    const TensorRef& b = args.inputs[1];
    const MutTensorRef& c = args.outputs[0];
    const Param& param = args.opr.param();
    const Layouts layout = layouts(param);
    MGS_ASSIGN(const Matrix left, plain_matrix(a, layout.a, param.boolean("transposeA")));
    MGS_ASSIGN(const Matrix right, plain_matrix(b, layout.b, param.boolean("transposeB")));
    MGS_ASSIGN(const Shape result, plain_shape(c.shape, layout.c, matrix_order));
    if (left.columns != right.rows || result != Shape{left.rows, right.columns}) return mismatch(a.shape, b.shape, c.shape);
    const auto sums = multiply(left.values, right.values, left.rows, left.columns, right.columns);
    from_numbers(pack(rescale_sums(sums, product_scale(a.dtype, b.dtype), c.dtype), result, matrix_order, c.shape, layout.c), c);
    return {};
}

Expected<void> batched_matrix_mul(const KernelArgs& args) {
    const TensorRef& a = args.inputs[0];
    const TensorRef& b = args.inputs[1];
    const MutTensorRef& c = args.outputs[0];
    const Param& param = args.opr.param();
    const std::size_t ndim = a.shape.ndim();
    if (ndim < 2 || b.shape.ndim() != ndim || c.shape.ndim() != ndim) return mismatch(a.shape, b.shape, c.shape);
    const bool transpose_a = param.boolean("transposeA");
    const bool transpose_b = param.boolean("transposeB");
    const std::int64_t m = a.shape[ndim - (transpose_a ? 1 : 2)];
    const std::int64_t k = a.shape[ndim - (transpose_a ? 2 : 1)];
    const std::int64_t n = b.shape[ndim - (transpose_b ? 2 : 1)];
    bool fits = b.shape[ndim - (transpose_b ? 1 : 2)] == k && c.shape[ndim - 2] == m && c.shape[ndim - 1] == n;
    std::size_t batch = 1;
    for (std::size_t axis = 0; axis + 2 < ndim; ++axis) {
        fits = fits && a.shape[axis] == b.shape[axis] && a.shape[axis] == c.shape[axis];
        batch *= static_cast<std::size_t>(a.shape[axis]);
    }
    if (!fits) return mismatch(a.shape, b.shape, c.shape);
    const auto all_a = to_numbers(a);
    const auto all_b = to_numbers(b);
    const auto a_size = static_cast<std::size_t>(m * k);
    const auto b_size = static_cast<std::size_t>(k * n);
    std::vector<double> sums;
    sums.reserve(c.elements());
    for (std::size_t i = 0; i < batch; ++i) {
        const auto one_a = std::span(all_a).subspan(i * a_size, a_size);
        const auto one_b = std::span(all_b).subspan(i * b_size, b_size);
        const auto plain_a = transpose_a ? transpose(one_a, k, m) : std::vector<double>(one_a.begin(), one_a.end());
        const auto plain_b = transpose_b ? transpose(one_b, n, k) : std::vector<double>(one_b.begin(), one_b.end());
        const auto product = multiply(plain_a, plain_b, m, k, n);
        sums.insert(sums.end(), product.begin(), product.end());
    }
    from_numbers(rescale_sums(sums, product_scale(a.dtype, b.dtype), c.dtype), c);
    return {};
}

Expected<void> dot(const KernelArgs& args) {
    const TensorRef& a = args.inputs[0];
    const TensorRef& b = args.inputs[1];
    const MutTensorRef& c = args.outputs[0];
    const std::size_t count = std::max(a.elements(), b.elements());
    if ((a.elements() != count && a.elements() != 1) || (b.elements() != count && b.elements() != 1) || c.elements() != 1)
        return mismatch(a.shape, b.shape, c.shape);
    const auto left = to_numbers(a);
    const auto right = to_numbers(b);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += left[left.size() == 1 ? 0 : i] * right[right.size() == 1 ? 0 : i];
    from_numbers(rescale_sums(std::span(&sum, 1), product_scale(a.dtype, b.dtype), c.dtype), c);
    return {};
}

} // namespace

void add_matmul_kernels(ReferenceKernels& kernels) {
    kernels["MatrixMul"] = {matrix_mul};
    kernels["BatchedMatrixMul"] = {batched_matrix_mul};
    kernels["Dot"] = {dot};
}

} // namespace megascope
