#pragma once

#include <string_view>
#include <unordered_map>

#include "exec/kernel.h"

namespace megascope {

struct ReferenceKernel {
    PlainKernel run = nullptr;
    /// The kernel asks for memory itself because only it knows the output shapes (CondTake, NonZero, …).
    bool data_dependent = false;
};
/// Operator class name → its plain implementation.
using ReferenceKernels = std::unordered_map<std::string_view, ReferenceKernel>;

/// All reference kernels; immutable, any thread.
[[nodiscard]] const ReferenceKernels& reference_kernels();

// One function per family adds its kernels; each lives in the file of that family and is listed in kernel_table.cpp.
void add_convolution_kernels(ReferenceKernels& kernels);
void add_conv_bias_kernels(ReferenceKernels& kernels);
void add_conv3d_kernels(ReferenceKernels& kernels);
void add_pooling_kernels(ReferenceKernels& kernels);
void add_matmul_kernels(ReferenceKernels& kernels);
void add_norm_kernels(ReferenceKernels& kernels);
void add_batch_norm_kernels(ReferenceKernels& kernels);
void add_softmax_kernels(ReferenceKernels& kernels);
void add_rnn_kernels(ReferenceKernels& kernels);
void add_attention_kernels(ReferenceKernels& kernels);
void add_relayout_kernels(ReferenceKernels& kernels);
void add_local_convolution_kernels(ReferenceKernels& kernels);
void add_deformable_kernels(ReferenceKernels& kernels);
void add_window_kernels(ReferenceKernels& kernels);
void add_elemwise_kernels(ReferenceKernels& kernels);
void add_typecvt_kernels(ReferenceKernels& kernels);
void add_reduce_kernels(ReferenceKernels& kernels);
void add_shape_kernels(ReferenceKernels& kernels);
void add_creation_kernels(ReferenceKernels& kernels);
void add_indexing_kernels(ReferenceKernels& kernels);
void add_elemwise_multi_type_kernels(ReferenceKernels& kernels);
void add_quantization_kernels(ReferenceKernels& kernels);
void add_sorting_kernels(ReferenceKernels& kernels);
void add_selection_kernels(ReferenceKernels& kernels);
void add_arrangement_kernels(ReferenceKernels& kernels);
void add_random_kernels(ReferenceKernels& kernels);
void add_linear_algebra_kernels(ReferenceKernels& kernels);
void add_update_kernels(ReferenceKernels& kernels);
void add_conditional_kernels(ReferenceKernels& kernels);
void add_warp_backward_kernels(ReferenceKernels& kernels);
void add_resize_kernels(ReferenceKernels& kernels);
void add_warp_kernels(ReferenceKernels& kernels);
void add_roi_kernels(ReferenceKernels& kernels);
void add_cvt_color_kernels(ReferenceKernels& kernels);
void add_image_filter_kernels(ReferenceKernels& kernels);

} // namespace megascope
