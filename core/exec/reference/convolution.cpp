// Convolution, ConvolutionBackwardData (deconvolution) and ConvolutionBackwardFilter in all formats and dtypes.

#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

Expected<void> convolution(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& filter = args.inputs[1];
    const MutTensorRef& dst = args.outputs[0];
    MGS_ASSIGN(const ConvProblem p, conv_problem(conv_settings(args.opr.param()), src.shape, filter.shape, dst.shape));
    const ConvGeometry& g = p.geometry;
    const auto sums = convolve(g, plain_image(src, p.layout.src, g.groups * g.icpg), plain_filter(filter, p));
    store_image(rescale_sums(sums, product_scale(src.dtype, filter.dtype), dst.dtype), g.groups * g.ocpg, dst, p.layout.dst);
    return {};
}

// Here the operator's result is what the convolution would read, and `diff` what it would give.
Expected<void> backward_data(const KernelArgs& args) {
    const TensorRef& filter = args.inputs[0];
    const TensorRef& diff = args.inputs[1];
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const ConvProblem p, conv_problem(conv_settings(args.opr.param()), grad.shape, filter.shape, diff.shape));
    const ConvGeometry& g = p.geometry;
    const auto sums = convolve_backward_data(g, plain_filter(filter, p), plain_image(diff, p.layout.dst, g.groups * g.ocpg));
    store_image(rescale_sums(sums, product_scale(filter.dtype, diff.dtype), grad.dtype), g.groups * g.icpg, grad, p.layout.src);
    return {};
}

Expected<void> backward_filter(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& diff = args.inputs[1];
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const ConvProblem p, conv_problem(conv_settings(args.opr.param()), src.shape, grad.shape, diff.shape));
    const ConvGeometry& g = p.geometry;
    const auto sums = convolve_backward_filter(g, plain_image(src, p.layout.src, g.groups * g.icpg),
                                               plain_image(diff, p.layout.dst, g.groups * g.ocpg));
    const auto numbers = rescale_sums(sums, product_scale(src.dtype, diff.dtype), grad.dtype);
    from_numbers(pack(numbers, p.filter, filter_order, grad.shape, p.layout.filter), grad);
    return {};
}

} // namespace

void add_convolution_kernels(ReferenceKernels& kernels) {
    kernels["Convolution"] = {convolution};
    kernels["ConvolutionBackwardData"] = {backward_data};
    kernels["ConvolutionBackwardFilter"] = {backward_filter};
}

} // namespace megascope
