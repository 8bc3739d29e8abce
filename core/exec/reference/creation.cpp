#include <algorithm>
#include <cstring>

#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

void clear_bytes(const MutTensorRef& t) {
    if (t.bytes() != 0) std::memset(t.data, 0, t.bytes());
}

/// The library leaves the memory as it is; zeros make runs repeatable.
Expected<void> alloc(const KernelArgs& args) {
    clear_bytes(args.outputs[0]);
    return {};
}

Expected<void> linspace(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    if (args.inputs[0].elements() != 1 || args.inputs[1].elements() != 1)
        return fail(ErrorCode::invalid_argument, "Linspace takes single numbers as start and stop.");
    const double start = real_at(args.inputs[0], 0);
    const double stop = real_at(args.inputs[1], 0);
    const auto n = static_cast<std::int64_t>(dst.elements());
    const std::int64_t intervals = args.opr.param().boolean("endpoint") ? std::max<std::int64_t>(n - 1, 1) : n;
    for (std::int64_t i = 0; i < n; ++i)
        store_real(dst, static_cast<std::size_t>(i), start + static_cast<double>(i) * (stop - start) / static_cast<double>(intervals));
    return {};
}

Expected<void> eye(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    if (dst.shape.ndim() != 2) return fail(ErrorCode::invalid_argument, "Eye gives a matrix, not shape " + dst.shape.text() + ".");
    const std::int64_t k = args.opr.param().integer("k");
    clear_bytes(dst);
    for (std::int64_t row = 0; row < dst.shape[0]; ++row)
        if (const std::int64_t column = row + k; column >= 0 && column < dst.shape[1])
            store_real(dst, static_cast<std::size_t>(row * dst.shape[1] + column), 1);
    return {};
}

/// View of the k-th diagonal of a matrix; `length` elements.
struct Diagonal {
    StridedView view;
    std::int64_t length = 0;
};
Diagonal diagonal(const Shape& matrix, std::int64_t k) {
    const std::int64_t row = std::max<std::int64_t>(-k, 0);
    const std::int64_t column = std::max<std::int64_t>(k, 0);
    Diagonal d;
    d.length = std::max<std::int64_t>(0, std::min(matrix[0] - row, matrix[1] - column));
    d.view.offset = row * matrix[1] + column;
    d.view.strides[0] = matrix[1] + 1;
    return d;
}

Expected<void> copy_diagonal(const TensorRef& src, const MutTensorRef& dst, std::int64_t k) {
    const bool builds = src.shape.ndim() == 1 && dst.shape.ndim() == 2;
    if (!builds && !(src.shape.ndim() == 2 && dst.shape.ndim() == 1))
        return fail(ErrorCode::invalid_argument, "Diag cannot turn shape " + src.shape.text() + " into " + dst.shape.text() + ".");
    if (src.dtype.id != dst.dtype.id)
        return fail(ErrorCode::invalid_argument, "Diag cannot turn " + src.dtype.text() + " into " + dst.dtype.text() + ".");
    const Diagonal d = diagonal(builds ? dst.shape : src.shape, k);
    const Shape& vector = builds ? src.shape : dst.shape;
    if (d.length != vector[0])
        return fail(ErrorCode::invalid_argument, "Diag cannot turn shape " + src.shape.text() + " into " + dst.shape.text() + ".");
    if (builds) clear_bytes(dst);
    copy_elements(src, builds ? contiguous(vector) : d.view, dst, builds ? d.view : contiguous(vector), vector);
    return {};
}

Expected<void> diag(const KernelArgs& args) {
    return copy_diagonal(args.inputs[0], args.outputs[0], args.opr.param().integer("k"));
}
/// Inputs: the shape of Diag's source, the gradient of its result.
Expected<void> diag_backward(const KernelArgs& args) {
    return copy_diagonal(args.inputs[1], args.outputs[0], args.opr.param().integer("k"));
}

/// The mask covers the leading axes.
Expected<void> masked_fill(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& mask = args.inputs[1];
    const MutTensorRef& dst = args.outputs[0];
    bool fits = mask.shape.ndim() <= src.shape.ndim() && src.shape == dst.shape;
    for (std::size_t i = 0; fits && i < mask.shape.ndim(); ++i) fits = mask.shape[i] == src.shape[i];
    if (!fits)
        return fail(ErrorCode::invalid_argument,
                    "MaskedFill: a mask of shape " + mask.shape.text() + " does not cover " + src.shape.text() + ".");
    const double value = args.opr.param().real("value");
    copy_in_order(src, dst);
    const std::size_t masks = mask.elements();
    const std::size_t run = masks == 0 ? 0 : src.elements() / masks;
    for (std::size_t m = 0; m < masks; ++m) {
        if (stored_at(mask, m) == 0) continue;
        for (std::size_t i = 0; i < run; ++i) store_real(dst, m * run + i, value);
    }
    return {};
}

} // namespace

void add_creation_kernels(ReferenceKernels& kernels) {
    kernels["Alloc"] = {alloc};
    kernels["Linspace"] = {linspace};
    kernels["Eye"] = {eye};
    kernels["Diag"] = {diag};
    kernels["DiagBackward"] = {diag_backward};
    kernels["MaskedFill"] = {masked_fill};
}

} // namespace megascope
