#pragma once

#include "exec/cpu/kernel.h"

namespace megascope {

// One function per family; each refuses what it cannot build. All may be called from any thread.

[[nodiscard]] std::optional<CpuKernelChoice> build_convolution(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_integer_convolution(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_integer_deconvolution(const CpuContext& context, const CpuGroupView& view);
/// Convolutions of Quantized8Asymm in which every channel has a filter of its own.
[[nodiscard]] std::optional<CpuKernelChoice> build_integer_depthwise(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_matmul(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_pooling(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_elemwise(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_reduce(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_arrange(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_batch_norm(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_integer_matmul(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_norm(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_pooling8(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_pooling_gradient(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_resampling(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_recurrent(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_recurrent_cell(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_attention(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_convolution3d(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_roi_align(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_select(const CpuContext& context, const CpuGroupView& view);
/// Operators on float16 and bfloat16 by the float32 kernels of the other families: computed in float, rounded once.
[[nodiscard]] std::optional<CpuKernelChoice> build_half(const CpuContext& context, const CpuGroupView& view);
[[nodiscard]] std::optional<CpuKernelChoice> build_filter_gradient(const CpuContext& context, const CpuGroupView& view);
/// The plain kernel of a single operator, which reads and writes plain layouts. Nothing when there is none.
[[nodiscard]] std::optional<CpuKernelChoice> build_reference(const CpuContext& context, const CpuGroupView& view);

/// The best kernel of this backend for a group; nothing when only the plain loops can run it.
[[nodiscard]] std::optional<CpuKernelChoice> build_fast(const CpuContext& context, const CpuGroupView& view);

/// Moves a value of known shape from one layout to another. `from` and `to` differ.
[[nodiscard]] std::optional<CpuKernelChoice> build_move(const CpuContext& context, const DType& dtype, const Shape& shape,
                                                        const Layout& from, const Layout& to);

} // namespace megascope
