// Convolution3D and its two gradients: NCDHW or NDHWC, float.

#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv3d_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

std::vector<double> volume(const TensorRef& tensor, const Conv3dProblem& p) {
    return unpack(to_numbers(tensor), tensor.shape, p.image, volume_order);
}
std::vector<double> weights(const TensorRef& tensor, const Conv3dProblem& p) {
    return unpack(to_numbers(tensor), tensor.shape, p.filter, filter3d_order);
}

Expected<void> convolution3d(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    MGS_ASSIGN(const Conv3dProblem p, conv3d_problem(args.opr.param(), args.inputs[0].shape, args.inputs[1].shape, dst.shape));
    const auto result = convolve(p.geometry, volume(args.inputs[0], p), weights(args.inputs[1], p));
    from_numbers(pack(result, p.dst, volume_order, dst.shape, p.image), dst);
    return {};
}

Expected<void> backward_data(const KernelArgs& args) {
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const Conv3dProblem p, conv3d_problem(args.opr.param(), grad.shape, args.inputs[0].shape, args.inputs[1].shape));
    const auto result = convolve_backward_data(p.geometry, weights(args.inputs[0], p), volume(args.inputs[1], p));
    from_numbers(pack(result, p.src, volume_order, grad.shape, p.image), grad);
    return {};
}

Expected<void> backward_filter(const KernelArgs& args) {
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const Conv3dProblem p, conv3d_problem(args.opr.param(), args.inputs[0].shape, grad.shape, args.inputs[1].shape));
    const auto result = convolve_backward_filter(p.geometry, volume(args.inputs[0], p), volume(args.inputs[1], p));
    from_numbers(pack(result, p.weights, filter3d_order, grad.shape, p.filter), grad);
    return {};
}

} // namespace

void add_conv3d_kernels(ReferenceKernels& kernels) {
    kernels["Convolution3D"] = {convolution3d};
    kernels["Convolution3DBackwardData"] = {backward_data};
    kernels["Convolution3DBackwardFilter"] = {backward_filter};
}

} // namespace megascope
