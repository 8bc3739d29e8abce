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
        add_elemwise_kernels(all);
        add_typecvt_kernels(all);
        add_reduce_kernels(all);
        add_shape_kernels(all);
        add_creation_kernels(all);
        add_indexing_kernels(all);
        return all;
    }();
    return kernels;
}

} // namespace megascope
