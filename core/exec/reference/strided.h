#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace megascope {

using Strides = std::array<std::int64_t, Shape::max_ndim>;

/// Where the elements of an extent lie in a row-major tensor: element (i0, i1, …) at `offset` + Σ i * stride.
struct StridedView {
    std::int64_t offset = 0;
    Strides strides{};
};

/// The whole tensor as it lies.
[[nodiscard]] inline StridedView contiguous(const Shape& shape) { return {0, shape.strides()}; }

/// `from` seen under the shape `to` that it broadcasts to (aligned right; size 1 repeats by stride 0).
/// Precondition: `broadcast(from, to) == to`.
[[nodiscard]] Strides broadcast_strides(const Shape& from, const Shape& to);

/// Visits an extent as rows along one innermost axis, for several operands at once. Axes that all operands cross in one even
/// step are joined, so that equal shapes become a single row.
class RowWalk {
public:
    /// `views` are operands over the same extent.
    RowWalk(const Shape& extent, std::span<const StridedView> views);

    [[nodiscard]] std::int64_t row_length() const { return length_; }
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    /// Step of an operand inside a row.
    [[nodiscard]] std::int64_t step(std::size_t operand) const { return steps_[operand]; }
    /// First element of an operand in the present row.
    [[nodiscard]] std::int64_t start(std::size_t operand) const { return starts_[operand]; }
    /// Moves on to the next row.
    void next();

private:
    std::int64_t length_ = 1;
    std::int64_t rows_ = 1;
    std::vector<std::int64_t> outer_;                ///< sizes of the outer axes, innermost first
    std::vector<std::int64_t> position_;             ///< along `outer_`
    std::vector<std::vector<std::int64_t>> strides_; ///< per outer axis, per operand
    std::vector<std::int64_t> steps_;
    std::vector<std::int64_t> starts_;
};

/// Copies the elements of an extent as they are stored; both tensors have the same dtype. A source stride of 0 repeats.
void copy_elements(const TensorRef& src, const StridedView& from, const MutTensorRef& dst, const StridedView& to, const Shape& extent);
/// Copies all elements in row-major order: shapes may differ, the numbers of elements agree.
void copy_in_order(const TensorRef& src, const MutTensorRef& dst);

/// dst[i] = src[positions[i]], same dtype. Precondition: positions are valid, one per element of dst.
void gather_elements(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst);
/// dst[positions[i]] = src[i]; later ones win.
void scatter_elements(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst);
/// dst[positions[i]] += src[i], in the order of i and in the dtype's own arithmetic.
void scatter_add(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst);

} // namespace megascope
