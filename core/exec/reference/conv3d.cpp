// Convolution3D and its two gradients: NCDHW or NDHWC, float.

#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_core.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

constexpr std::string_view volume_order = "NCDHW";
constexpr std::string_view filter3d_order = "GOIDHW";

struct Problem {
    std::string_view image;
    std::string_view filter;
    Shape src;
    Shape weights;
    Shape dst;
    ConvGeometry geometry;
};

Expected<Problem> problem(const Param& param, const Shape& src, const Shape& filter, const Shape& dst) {
    Problem p;
    const bool channels_last = param.enum_name("format") == "NDHWC";
    const bool grouped = param.enum_name("sparse") == "GROUP";
    p.image = channels_last ? "NDHWC" : "NCDHW";
    p.filter = channels_last ? (grouped ? "GODHWI" : "ODHWI") : (grouped ? "GOIDHW" : "OIDHW");
    MGS_ASSIGN(p.src, plain_shape(src, p.image, volume_order));
    MGS_ASSIGN(p.weights, plain_shape(filter, p.filter, filter3d_order));
    MGS_ASSIGN(p.dst, plain_shape(dst, p.image, volume_order));
    ConvGeometry& g = p.geometry;
    g.batch = p.src[0];
    g.groups = p.weights[0];
    g.ocpg = p.weights[1];
    g.icpg = p.weights[2];
    g.flip = param.enum_name("mode") == "CONVOLUTION";
    constexpr std::array<std::string_view, 3> letters{"d", "h", "w"};
    bool agree = p.dst[0] == g.batch && p.src[1] == g.groups * g.icpg && p.dst[1] == g.groups * g.ocpg;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::string suffix = "_" + std::string(letters[a]);
        g.axes[a] = {p.src[a + 2], p.dst[a + 2], p.weights[a + 3], param.integer("stride" + suffix), param.integer("pad" + suffix),
                     param.integer("dilate" + suffix)};
    }
    MGS_TRY(check(g));
    for (const ConvAxis& axis : g.axes) agree = agree && axis.forward_size() == axis.out;
    if (!agree)
        return fail(ErrorCode::invalid_argument, "A 3-D convolution of " + src.text() + " with a filter " + filter.text() +
                                                     " cannot give " + dst.text() + ".");
    return p;
}

std::vector<double> volume(const TensorRef& tensor, const Problem& p) {
    return unpack(to_numbers(tensor), tensor.shape, p.image, volume_order);
}
std::vector<double> weights(const TensorRef& tensor, const Problem& p) {
    return unpack(to_numbers(tensor), tensor.shape, p.filter, filter3d_order);
}

Expected<void> convolution3d(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    MGS_ASSIGN(const Problem p, problem(args.opr.param(), args.inputs[0].shape, args.inputs[1].shape, dst.shape));
    const auto result = convolve(p.geometry, volume(args.inputs[0], p), weights(args.inputs[1], p));
    from_numbers(pack(result, p.dst, volume_order, dst.shape, p.image), dst);
    return {};
}

Expected<void> backward_data(const KernelArgs& args) {
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const Problem p, problem(args.opr.param(), grad.shape, args.inputs[0].shape, args.inputs[1].shape));
    const auto result = convolve_backward_data(p.geometry, weights(args.inputs[0], p), volume(args.inputs[1], p));
    from_numbers(pack(result, p.src, volume_order, grad.shape, p.image), grad);
    return {};
}

Expected<void> backward_filter(const KernelArgs& args) {
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const Problem p, problem(args.opr.param(), args.inputs[0].shape, grad.shape, args.inputs[1].shape));
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
