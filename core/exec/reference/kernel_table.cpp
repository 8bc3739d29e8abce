#include "exec/reference/kernel_table.h"

namespace megascope {

const ReferenceKernels& reference_kernels() {
    static const ReferenceKernels kernels = [] {
        ReferenceKernels all;
        // One line per family.
        add_convolution_kernels(all);
        add_conv_bias_kernels(all);
        add_conv3d_kernels(all);
        add_pooling_kernels(all);
        add_matmul_kernels(all);
        add_norm_kernels(all);
        add_batch_norm_kernels(all);
        add_softmax_kernels(all);
        add_rnn_kernels(all);
        add_attention_kernels(all);
        add_relayout_kernels(all);
        add_local_convolution_kernels(all);
        add_deformable_kernels(all);
        add_window_kernels(all);
        add_elemwise_kernels(all);
        add_typecvt_kernels(all);
        add_reduce_kernels(all);
        add_shape_kernels(all);
        add_creation_kernels(all);
        add_indexing_kernels(all);
        add_elemwise_multi_type_kernels(all);
        add_quantization_kernels(all);
        add_sorting_kernels(all);
        add_selection_kernels(all);
        add_arrangement_kernels(all);
        add_random_kernels(all);
        add_linear_algebra_kernels(all);
        add_update_kernels(all);
        add_conditional_kernels(all);
        add_warp_backward_kernels(all);
        add_resize_kernels(all);
        add_warp_kernels(all);
        add_roi_kernels(all);
        add_cvt_color_kernels(all);
        add_image_filter_kernels(all);
        return all;
    }();
    return kernels;
}

} // namespace megascope
