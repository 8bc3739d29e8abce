// Convolutions whose filter depends on the position (Local, GroupLocal, LocalShare) or whose taps are restricted by a region
// map (RegionRestrictedConvolution), MaskConvolution and MaskPropagate. NCHW only.
// A visitor names every product src[i] * filter[j] that belongs to dst[k]; forward and both gradients are sums over it.

#include <algorithm>
#include <string>
#include <utility>

#include "exec/reference/conv_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"
#include "tensor/element.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

Expected<void> expect_elements(const TensorRef& tensor, Index expected, const char* what) {
    if (tensor.elements() == sz(expected)) return {};
    return fail(ErrorCode::invalid_argument, "The " + std::string(what) + " of shape " + tensor.shape.text() + " should have " +
                                                 std::to_string(expected) + " elements.");
}

/// Geometry from source, result and the channels and kernel sizes that the filter's shape gives.
Expected<ConvGeometry> image_geometry(const ConvSettings& settings, const Shape& src, const Shape& dst, Index groups, Index icpg, Index ocpg,
                                      Index kernel_h, Index kernel_w) {
    if (settings.format != ConvFormat::nchw)
        return fail(ErrorCode::unsupported, "Convolutions with a filter per position exist for format NCHW only.");
    ConvGeometry g;
    g.batch = src[0];
    g.groups = groups;
    g.icpg = icpg;
    g.ocpg = ocpg;
    g.flip = settings.flip;
    g.axes[1] = settings.height;
    g.axes[2] = settings.width;
    const bool ranks = src.ndim() == 4 && dst.ndim() == 4;
    if (ranks) {
        g.axes[1].in = src[2];
        g.axes[2].in = src[3];
        g.axes[1].out = dst[2];
        g.axes[2].out = dst[3];
        g.axes[1].kernel = kernel_h;
        g.axes[2].kernel = kernel_w;
        MGS_TRY(check(g));
    }
    if (!ranks || src[0] != dst[0] || src[1] != groups * icpg || dst[1] != groups * ocpg || g.axes[1].forward_size() != dst[2] ||
        g.axes[2].forward_size() != dst[3])
        return fail(ErrorCode::invalid_argument, "A filter of " + std::to_string(groups) + " groups of " + std::to_string(ocpg) + "×" + std::to_string(icpg) + "×" +
                                                     std::to_string(kernel_h) + "×" + std::to_string(kernel_w) + " cannot turn " + src.text() + " into " + dst.text() + ".");
    return g;
}

/// One product: elements of the plain tensors and the positions inside the planes.
struct Tap {
    Index n, group, oc, ic;   ///< oc and ic inside the group
    Index oh, ow, ih, iw;     ///< ih, iw lie inside the image
    Index kh, kw;             ///< of the filter, mirrored already
    std::size_t src, dst;
};

/// The filter elements that lie over the image when the result is at `out`: [first, end).
std::pair<Index, Index> taps_inside(const ConvAxis& axis, Index out) {
    const Index begin = out * axis.stride - axis.pad;
    const Index first = begin < 0 ? (-begin + axis.dilate - 1) / axis.dilate : 0;
    const Index end = begin >= axis.in ? 0 : (axis.in - 1 - begin) / axis.dilate + 1;
    return {first, std::min(end, axis.kernel)};
}

template <class Body>
void for_each_tap(const ConvGeometry& g, Body body) {
    const ConvAxis& h = g.axes[1];
    const ConvAxis& w = g.axes[2];
    Tap t{};
    for (t.n = 0; t.n < g.batch; ++t.n)
        for (t.group = 0; t.group < g.groups; ++t.group)
            for (t.oc = 0; t.oc < g.ocpg; ++t.oc)
                for (t.oh = 0; t.oh < h.out; ++t.oh)
                    for (t.ow = 0; t.ow < w.out; ++t.ow) {
                        t.dst = sz((((t.n * g.groups + t.group) * g.ocpg + t.oc) * h.out + t.oh) * w.out + t.ow);
                        const auto [first_h, end_h] = taps_inside(h, t.oh);
                        const auto [first_w, end_w] = taps_inside(w, t.ow);
                        for (t.ic = 0; t.ic < g.icpg; ++t.ic)
                            for (Index kh = first_h; kh < end_h; ++kh)
                                for (Index kw = first_w; kw < end_w; ++kw) {
                                    t.ih = t.oh * h.stride - h.pad + kh * h.dilate;
                                    t.iw = t.ow * w.stride - w.pad + kw * w.dilate;
                                    t.kh = g.flip ? h.kernel - 1 - kh : kh;
                                    t.kw = g.flip ? w.kernel - 1 - kw : kw;
                                    t.src = sz((((t.n * g.groups + t.group) * g.icpg + t.ic) * h.in + t.ih) * w.in + t.iw);
                                    body(t);
                                }
                    }
}

// Local: filter [G,] SGH, SGW, ICPG, FH, FW, OCPG; the output plane is cut into SGH × SGW equal regions (one per pixel for
// Local and GroupLocal).
struct LocalProblem {
    ConvGeometry geometry;
    Index regions_h = 1;
    Index regions_w = 1;

    [[nodiscard]] std::size_t filter(const Tap& t) const {
        const ConvGeometry& g = geometry;
        const Index region_h = t.oh / (g.axes[1].out / regions_h);
        const Index region_w = t.ow / (g.axes[2].out / regions_w);
        const Index place = ((t.group * regions_h + region_h) * regions_w + region_w) * g.icpg + t.ic;
        return sz(((place * g.axes[1].kernel + t.kh) * g.axes[2].kernel + t.kw) * g.ocpg + t.oc);
    }
};

Expected<LocalProblem> local_problem(const Opr& opr, const Shape& src, const Shape& filter, const Shape& dst) {
    const std::size_t grouped = filter.ndim() == 7 ? 1 : 0;
    if (filter.ndim() != 6 + grouped)
        return fail(ErrorCode::invalid_argument, "A filter per position has 6 axes, or 7 with groups, not the shape " + filter.text() + ".");
    const Param& param = opr.param();
    const Shape& f = filter;
    LocalProblem p;
    p.regions_h = f[grouped];
    p.regions_w = f[grouped + 1];
    ConvSettings settings = conv_settings(param);
    MGS_ASSIGN(p.geometry, image_geometry(settings, src, dst, grouped ? f[0] : 1, f[grouped + 2], f[grouped + 5], f[grouped + 3], f[grouped + 4]));
    if (p.regions_h < 1 || p.regions_w < 1 || dst[2] % p.regions_h != 0 || dst[3] % p.regions_w != 0)
        return fail(ErrorCode::invalid_argument, "An output of shape " + dst.text() + " cannot be cut into " + std::to_string(p.regions_h) + "×" + std::to_string(p.regions_w) + " regions.");
    return p;
}

Expected<void> local(const KernelArgs& args) {
    MGS_ASSIGN(const LocalProblem p, local_problem(args.opr, args.inputs[0].shape, args.inputs[1].shape, args.outputs[0].shape));
    const auto src = to_numbers(args.inputs[0]);
    const auto filter = to_numbers(args.inputs[1]);
    std::vector<double> dst(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) { dst[t.dst] += src[t.src] * filter[p.filter(t)]; });
    from_numbers(dst, args.outputs[0]);
    return {};
}
Expected<void> local_backward_data(const KernelArgs& args) {
    MGS_ASSIGN(const LocalProblem p, local_problem(args.opr, args.outputs[0].shape, args.inputs[0].shape, args.inputs[1].shape));
    const auto filter = to_numbers(args.inputs[0]);
    const auto diff = to_numbers(args.inputs[1]);
    std::vector<double> grad(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) { grad[t.src] += filter[p.filter(t)] * diff[t.dst]; });
    from_numbers(grad, args.outputs[0]);
    return {};
}
Expected<void> local_backward_filter(const KernelArgs& args) {
    MGS_ASSIGN(const LocalProblem p, local_problem(args.opr, args.inputs[0].shape, args.outputs[0].shape, args.inputs[1].shape));
    const auto src = to_numbers(args.inputs[0]);
    const auto diff = to_numbers(args.inputs[1]);
    std::vector<double> grad(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) { grad[p.filter(t)] += src[t.src] * diff[t.dst]; });
    from_numbers(grad, args.outputs[0]);
    return {};
}

// Region restricted: a tap counts only where region_in at the source pixel equals region_out at the output pixel.
struct RegionProblem {
    ConvGeometry geometry;
    std::vector<double> in;  ///< (N, H, W)
    std::vector<double> out; ///< (N, OH, OW)

    [[nodiscard]] bool counts(const Tap& t) const {
        const ConvGeometry& g = geometry;
        return in[sz((t.n * g.axes[1].in + t.ih) * g.axes[2].in + t.iw)] == out[sz((t.n * g.axes[1].out + t.oh) * g.axes[2].out + t.ow)];
    }
    [[nodiscard]] std::size_t filter(const Tap& t) const {
        const ConvGeometry& g = geometry;
        return sz((((t.group * g.ocpg + t.oc) * g.icpg + t.ic) * g.axes[1].kernel + t.kh) * g.axes[2].kernel + t.kw);
    }
};

Expected<RegionProblem> region_problem(const Param& param, const Shape& src, const Shape& filter, const Shape& dst, const TensorRef& region_in,
                                       const TensorRef& region_out) {
    RegionProblem p;
    const ConvSettings settings = conv_settings(param);
    const std::size_t grouped = settings.grouped ? 1 : 0;
    if (filter.ndim() != 4 + grouped)
        return fail(ErrorCode::invalid_argument, "The filter " + filter.text() + " does not have " + std::to_string(4 + grouped) + " axes.");
    MGS_ASSIGN(p.geometry, image_geometry(settings, src, dst, grouped ? filter[0] : 1, filter[grouped + 1], filter[grouped], filter[grouped + 2], filter[grouped + 3]));
    MGS_TRY(expect_elements(region_in, src[0] * src[2] * src[3], "input region map"));
    MGS_TRY(expect_elements(region_out, dst[0] * dst[2] * dst[3], "output region map"));
    p.in = to_numbers(region_in);
    p.out = to_numbers(region_out);
    return p;
}

Expected<void> region(const KernelArgs& args) {
    MGS_ASSIGN(const RegionProblem p, region_problem(args.opr.param(), args.inputs[0].shape, args.inputs[1].shape, args.outputs[0].shape, args.inputs[2], args.inputs[3]));
    const auto src = to_numbers(args.inputs[0]);
    const auto filter = to_numbers(args.inputs[1]);
    std::vector<double> dst(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) {
        if (p.counts(t)) dst[t.dst] += src[t.src] * filter[p.filter(t)];
    });
    from_numbers(dst, args.outputs[0]);
    return {};
}
Expected<void> region_backward_data(const KernelArgs& args) {
    MGS_ASSIGN(const RegionProblem p, region_problem(args.opr.param(), args.outputs[0].shape, args.inputs[0].shape, args.inputs[1].shape, args.inputs[2], args.inputs[3]));
    const auto filter = to_numbers(args.inputs[0]);
    const auto diff = to_numbers(args.inputs[1]);
    std::vector<double> grad(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) {
        if (p.counts(t)) grad[t.src] += filter[p.filter(t)] * diff[t.dst];
    });
    from_numbers(grad, args.outputs[0]);
    return {};
}
Expected<void> region_backward_filter(const KernelArgs& args) {
    MGS_ASSIGN(const RegionProblem p, region_problem(args.opr.param(), args.inputs[0].shape, args.outputs[0].shape, args.inputs[1].shape, args.inputs[2], args.inputs[3]));
    const auto src = to_numbers(args.inputs[0]);
    const auto diff = to_numbers(args.inputs[1]);
    std::vector<double> grad(args.outputs[0].elements());
    for_each_tap(p.geometry, [&](const Tap& t) {
        if (p.counts(t)) grad[p.filter(t)] += src[t.src] * diff[t.dst];
    });
    from_numbers(grad, args.outputs[0]);
    return {};
}

Expected<void> mask_convolution(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& filter = args.inputs[1];
    const MutTensorRef& dst = args.outputs[0];
    const ConvSettings settings = conv_settings(args.opr.param());
    if (settings.format != ConvFormat::nchw) return fail(ErrorCode::unsupported, "MaskConvolution exists for format NCHW only.");
    MGS_ASSIGN(const ConvProblem p, conv_problem(settings, src.shape, filter.shape, dst.shape));
    const ConvGeometry& g = p.geometry;
    MGS_TRY(expect_elements(args.inputs[2], g.out_plane(), "mask"));
    const auto mask = to_numbers(args.inputs[2]);
    auto sums = convolve(g, plain_image(src, p.layout.src, g.groups * g.icpg), plain_filter(filter, p));
    for (std::size_t i = 0; i < sums.size(); ++i)
        if (mask[i % mask.size()] == 0) sums[i] = 0;
    store_image(rescale_sums(sums, product_scale(src.dtype, filter.dtype), dst.dtype), g.groups * g.ocpg, dst, p.layout.dst);
    return {};
}

// 1 where any mask element under the window is not 0.
Expected<void> mask_propagate(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& mask = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    if (mask.shape.ndim() != 2 || dst.shape.ndim() != 2)
        return fail(ErrorCode::invalid_argument, "A mask has two axes, not the shape " + mask.shape.text() + ".");
    ConvGeometry g;
    g.axes[1] = {mask.shape[0], dst.shape[0], param.integer("kernel_h"), param.integer("stride_h"), param.integer("pad_h"), param.integer("dilate_h")};
    g.axes[2] = {mask.shape[1], dst.shape[1], param.integer("kernel_w"), param.integer("stride_w"), param.integer("pad_w"), param.integer("dilate_w")};
    MGS_TRY(check(g));
    const auto in = to_numbers(mask);
    std::vector<double> out(dst.elements());
    for_each_tap(g, [&](const Tap& t) {
        if (in[t.src] != 0) out[t.dst] = 1;
    });
    from_numbers(out, dst);
    return {};
}

} // namespace

void add_local_convolution_kernels(ReferenceKernels& kernels) {
    for (const std::string_view type : {"Local", "GroupLocal", "LocalShareForward"}) kernels[type] = {local};
    for (const std::string_view type : {"LocalBackwardData", "GroupLocalBackwardData", "LocalShareBackwardData"}) kernels[type] = {local_backward_data};
    for (const std::string_view type : {"LocalBackwardFilter", "GroupLocalBackwardFilter", "LocalShareBackwardFilter"})
        kernels[type] = {local_backward_filter};
    kernels["RegionRestrictedConvolution"] = {region};
    kernels["RegionRestrictedConvolutionBackwardData"] = {region_backward_data};
    kernels["RegionRestrictedConvolutionBackwardFilter"] = {region_backward_filter};
    kernels["MaskConvolution"] = {mask_convolution};
    kernels["MaskPropagate"] = {mask_propagate};
}

} // namespace megascope
