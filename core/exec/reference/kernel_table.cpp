#include "exec/reference/kernel_table.h"

namespace megascope {

const ReferenceKernels& reference_kernels() {
    static const ReferenceKernels kernels = [] {
        ReferenceKernels all;
        // One line per family.
        return all;
    }();
    return kernels;
}

} // namespace megascope
