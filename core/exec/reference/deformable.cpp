// DeformableConv and DeformablePSROIPooling with their gradients.

#include <algorithm>
#include <cmath>
#include <string>

#include "exec/reference/bilinear.h"
#include "exec/reference/conv_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

Expected<void> expect_shape(const TensorRef& tensor, const Shape& expected, const char* what) {
    if (tensor.shape == expected) return {};
    return fail(ErrorCode::invalid_argument, "The " + std::string(what) + " has shape " + tensor.shape.text() + " instead of " + expected.text() + ".");
}

/// A deformable convolution is a 1×1 convolution over "columns": for every tap of the filter the image sampled where the
/// offsets say, times the mask.
struct Deformable {
    ConvProblem conv;
    Index deform_groups = 1; ///< channels are split into so many parts with offsets of their own
    Index taps = 1;
};

Expected<Deformable> deformable_problem(const KernelArgs& args, const Shape& dst) {
    const Shape& offset = args.inputs[2].shape;
    Deformable d;
    const ConvSettings settings = conv_settings(args.opr.param());
    if (settings.format != ConvFormat::nchw) return fail(ErrorCode::unsupported, "Deformable convolution exists for format NCHW only.");
    MGS_ASSIGN(d.conv, conv_problem(settings, args.inputs[0].shape, args.inputs[1].shape, dst));
    const ConvGeometry& g = d.conv.geometry;
    d.taps = g.taps();
    d.deform_groups = d.taps > 0 && offset.ndim() == 4 ? offset[1] / (2 * d.taps) : 0;
    if (d.deform_groups < 1 || d.conv.src[1] % d.deform_groups != 0)
        return fail(ErrorCode::invalid_argument, "Offsets of shape " + offset.text() + " do not fit " + std::to_string(d.taps) + " filter taps and " +
                                                     std::to_string(d.conv.src[1]) + " channels.");
    MGS_TRY(expect_shape(args.inputs[2], {g.batch, 2 * d.taps * d.deform_groups, g.axes[1].out, g.axes[2].out}, "offset"));
    MGS_TRY(expect_shape(args.inputs[3], {g.batch, d.taps * d.deform_groups, g.axes[1].out, g.axes[2].out}, "mask"));
    return d;
}

struct Sample {
    Bilinear pixels;
    std::size_t plane;    ///< start of the image plane
    std::size_t offset_y; ///< elements of the offset tensor and of the mask
    std::size_t offset_x;
    std::size_t mask;
    std::size_t column;   ///< element (n, channel, tap, oh, ow) of the columns
};

template <class Body>
void for_each_sample(const Deformable& d, const std::vector<double>& offset, Body body) {
    const ConvGeometry& g = d.conv.geometry;
    const ConvAxis& h = g.axes[1];
    const ConvAxis& w = g.axes[2];
    const Index channels = g.groups * g.icpg;
    const Index plane = g.out_plane();
    for (Index n = 0; n < g.batch; ++n)
        for (Index c = 0; c < channels; ++c)
            for (Index tap = 0; tap < d.taps; ++tap)
                for (Index oh = 0; oh < h.out; ++oh)
                    for (Index ow = 0; ow < w.out; ++ow) {
                        const Index k = c / (channels / d.deform_groups) * d.taps + tap;
                        const Index place = oh * w.out + ow;
                        Sample s{};
                        s.offset_y = sz((n * 2 * d.deform_groups * d.taps + 2 * k) * plane + place);
                        s.offset_x = s.offset_y + sz(plane);
                        s.mask = sz((n * d.deform_groups * d.taps + k) * plane + place);
                        s.plane = sz((n * channels + c) * g.in_plane());
                        s.column = sz(((n * channels + c) * d.taps + tap) * plane + place);
                        const double y = static_cast<double>(oh * h.stride - h.pad + tap / w.kernel * h.dilate) + offset[s.offset_y];
                        const double x = static_cast<double>(ow * w.stride - w.pad + tap % w.kernel * w.dilate) + offset[s.offset_x];
                        s.pixels = bilinear(y, x, h.in, w.in);
                        body(s);
                    }
}

/// The convolution over the columns: every (channel, tap) is an input channel.
ConvGeometry over_columns(const Deformable& d) {
    ConvGeometry g = d.conv.geometry;
    g.icpg *= d.taps;
    for (ConvAxis& axis : g.axes) axis = {axis.out, axis.out, 1, 1, 0, 1};
    return g;
}

std::vector<double> columns(const Deformable& d, const KernelArgs& args) {
    const auto image = to_numbers(args.inputs[0]);
    const auto mask = to_numbers(args.inputs[3]);
    std::vector<double> result(sz(over_columns(d).src_elements()));
    for_each_sample(d, to_numbers(args.inputs[2]), [&](const Sample& s) { result[s.column] = s.pixels.value(image.data() + s.plane) * mask[s.mask]; });
    return result;
}

Expected<void> deformable(const KernelArgs& args) {
    MGS_ASSIGN(const Deformable d, deformable_problem(args, args.outputs[0].shape));
    from_numbers(convolve(over_columns(d), columns(d, args), plain_filter(args.inputs[1], d.conv)), args.outputs[0]);
    return {};
}

Expected<void> deformable_backward_filter(const KernelArgs& args) {
    MGS_ASSIGN(const Deformable d, deformable_problem(args, args.inputs[4].shape));
    MGS_TRY(expect_shape(args.outputs[0], args.inputs[1].shape, "filter gradient"));
    from_numbers(convolve_backward_filter(over_columns(d), columns(d, args), to_numbers(args.inputs[4])), args.outputs[0]);
    return {};
}

Expected<void> deformable_backward_data(const KernelArgs& args) {
    MGS_ASSIGN(const Deformable d, deformable_problem(args, args.inputs[4].shape));
    for (const auto& [output, input] : {std::pair(0U, 0U), std::pair(1U, 2U), std::pair(2U, 3U)})
        MGS_TRY(expect_shape(args.outputs[output], args.inputs[input].shape, "gradient"));
    const auto image = to_numbers(args.inputs[0]);
    const auto mask = to_numbers(args.inputs[3]);
    const auto dcolumn = convolve_backward_data(over_columns(d), plain_filter(args.inputs[1], d.conv), to_numbers(args.inputs[4]));
    std::vector<double> image_grad(image.size());
    std::vector<double> offset_grad(args.inputs[2].elements());
    std::vector<double> mask_grad(mask.size());
    for_each_sample(d, to_numbers(args.inputs[2]), [&](const Sample& s) {
        const double g = dcolumn[s.column];
        const double* plane = image.data() + s.plane;
        for (const Bilinear::Pixel& p : s.pixels.pixels()) image_grad[s.plane + p.at] += g * mask[s.mask] * p.weight;
        offset_grad[s.offset_y] += g * mask[s.mask] * s.pixels.by_y(plane);
        offset_grad[s.offset_x] += g * mask[s.mask] * s.pixels.by_x(plane);
        mask_grad[s.mask] += g * s.pixels.value(plane);
    });
    from_numbers(image_grad, args.outputs[0]);
    from_numbers(offset_grad, args.outputs[1]);
    from_numbers(mask_grad, args.outputs[2]);
    return {};
}

/// Deformable position-sensitive RoI pooling: equal bins of a region, moved by learned shifts, each the mean of samples.
struct PsRoi {
    bool moved = false;
    double scale = 1;
    double trans_std = 0;
    Index bins_h = 1, bins_w = 1;
    Index parts = 1;   ///< shifts per axis
    Index samples = 1; ///< per axis of a bin
    Index classes = 1;
    Shape data;
    Index rois = 0;
};

Expected<PsRoi> psroi_problem(const Param& param, const TensorRef& data, const TensorRef& rois, const TensorRef& trans, const Shape& out) {
    PsRoi p;
    p.moved = !param.boolean("no_trans");
    p.scale = param.real("spatial_scale");
    p.trans_std = param.real("trans_std");
    p.bins_h = param.integer("pooled_h");
    p.bins_w = param.integer("pooled_w");
    p.parts = param.integer("part_size");
    p.samples = param.integer("sample_per_part");
    p.data = data.shape;
    p.rois = rois.shape[0];
    if (p.samples > 1024)
        return fail(ErrorCode::unsupported, "Region pooling with " + std::to_string(p.samples) + " samples per part and axis is not supported.");
    if (data.shape.ndim() != 4 || data.shape[2] < 1 || data.shape[3] < 1 || rois.shape.ndim() != 2 || rois.shape[1] != 5 || out != Shape{p.rois, data.shape[1], p.bins_h, p.bins_w})
        return fail(ErrorCode::invalid_argument, "Pooling regions " + rois.shape.text() + " of " + data.shape.text() + " cannot give " + out.text() + ".");
    if (p.moved) {
        p.classes = trans.shape.ndim() == 4 ? trans.shape[1] / 2 : 0;
        if (p.classes < 1 || p.parts < 1 || trans.shape != Shape{p.rois, 2 * p.classes, p.parts, p.parts} || data.shape[1] % p.classes != 0)
            return fail(ErrorCode::invalid_argument, "Shifts of shape " + trans.shape.text() + " do not fit " + std::to_string(p.rois) + " regions of " +
                                                         std::to_string(data.shape[1]) + " channels in " + std::to_string(p.parts) + " parts.");
    }
    return p;
}

struct BinSample {
    Bilinear pixels;
    std::size_t plane = 0;
};
/// One bin of one region: where its samples lie, and which shifts moved it.
struct Bin {
    std::size_t out = 0;
    std::vector<BinSample> samples;
    std::size_t shift_x = 0; ///< elements of trans; meaningless when not moved
    std::size_t shift_y = 0;
    double width = 0;        ///< of the region
    double height = 0;
};

template <class Body>
Expected<void> for_each_bin(const PsRoi& p, const std::vector<double>& rois, const std::vector<double>& trans, Body body) {
    const Index channels = p.data[1];
    const Index height = p.data[2];
    const Index width = p.data[3];
    Bin bin;
    for (Index r = 0; r < p.rois; ++r) {
        const double* roi = rois.data() + r * 5;
        if (!(roi[0] >= 0 && roi[0] < static_cast<double>(p.data[0])))
            return fail(ErrorCode::invalid_argument, "Region " + std::to_string(r) + " belongs to image " + std::to_string(roi[0]) + ", which is not in the batch.");
        const double x0 = std::round(roi[1]) * p.scale - 0.5;
        const double y0 = std::round(roi[2]) * p.scale - 0.5;
        bin.width = std::max((std::round(roi[3]) + 1) * p.scale - 0.5 - x0, 0.1);
        bin.height = std::max((std::round(roi[4]) + 1) * p.scale - 0.5 - y0, 0.1);
        const double bin_w = bin.width / static_cast<double>(p.bins_w);
        const double bin_h = bin.height / static_cast<double>(p.bins_h);
        for (Index c = 0; c < channels; ++c)
            for (Index ph = 0; ph < p.bins_h; ++ph)
                for (Index pw = 0; pw < p.bins_w; ++pw) {
                    double left = x0 + static_cast<double>(pw) * bin_w;
                    double top = y0 + static_cast<double>(ph) * bin_h;
                    if (p.moved) {
                        const Index part_h = ph * p.parts / p.bins_h;
                        const Index part_w = pw * p.parts / p.bins_w;
                        const Index cls = c / (channels / p.classes);
                        bin.shift_x = sz((((r * p.classes + cls) * 2) * p.parts + part_h) * p.parts + part_w);
                        bin.shift_y = bin.shift_x + sz(p.parts * p.parts);
                        left += trans[bin.shift_x] * p.trans_std * bin.width;
                        top += trans[bin.shift_y] * p.trans_std * bin.height;
                    }
                    bin.out = sz(((r * channels + c) * p.bins_h + ph) * p.bins_w + pw);
                    bin.samples.clear();
                    for (Index sh = 0; sh < p.samples; ++sh)
                        for (Index sw = 0; sw < p.samples; ++sw) {
                            const double x = left + static_cast<double>(sw) * bin_w / static_cast<double>(p.samples);
                            const double y = top + static_cast<double>(sh) * bin_h / static_cast<double>(p.samples);
                            if (!(x >= -0.5 && y >= -0.5 && x <= static_cast<double>(width) - 0.5 && y <= static_cast<double>(height) - 0.5)) continue;
                            const double cx = std::clamp(x, 0.0, static_cast<double>(width - 1));
                            const double cy = std::clamp(y, 0.0, static_cast<double>(height - 1));
                            bin.samples.push_back({bilinear(cy, cx, height, width, true), sz((static_cast<Index>(roi[0]) * channels + c) * height * width)});
                        }
                    body(bin);
                }
    }
    return {};
}

Expected<void> psroi(const KernelArgs& args) {
    MGS_ASSIGN(const PsRoi p, psroi_problem(args.opr.param(), args.inputs[0], args.inputs[1], args.inputs[2], args.outputs[0].shape));
    const auto data = to_numbers(args.inputs[0]);
    std::vector<double> out(args.outputs[0].elements());
    std::vector<double> count(out.size());
    MGS_TRY(for_each_bin(p, to_numbers(args.inputs[1]), to_numbers(args.inputs[2]), [&](const Bin& bin) {
        double sum = 0;
        for (const BinSample& s : bin.samples) sum += s.pixels.value(data.data() + s.plane);
        count[bin.out] = static_cast<double>(bin.samples.size());
        out[bin.out] = bin.samples.empty() ? 0 : sum / count[bin.out];
    }));
    from_numbers(out, args.outputs[0]);
    if (args.outputs.size() > 1) {
        MGS_TRY(expect_shape(args.outputs[1], args.outputs[0].shape, "sample count"));
        from_numbers(count, args.outputs[1]);
    }
    return {};
}

Expected<void> psroi_backward(const KernelArgs& args) {
    MGS_ASSIGN(const PsRoi p, psroi_problem(args.opr.param(), args.inputs[0], args.inputs[1], args.inputs[2], args.inputs[3].shape));
    MGS_TRY(expect_shape(args.outputs[0], args.inputs[0].shape, "data gradient"));
    MGS_TRY(expect_shape(args.outputs[1], args.inputs[2].shape, "shift gradient"));
    const auto data = to_numbers(args.inputs[0]);
    const auto diff = to_numbers(args.inputs[3]);
    std::vector<double> data_grad(data.size());
    std::vector<double> shift_grad(args.inputs[2].elements());
    MGS_TRY(for_each_bin(p, to_numbers(args.inputs[1]), to_numbers(args.inputs[2]), [&](const Bin& bin) {
        if (bin.samples.empty()) return;
        const double d = diff[bin.out] / static_cast<double>(bin.samples.size());
        for (const BinSample& s : bin.samples) {
            for (const Bilinear::Pixel& pixel : s.pixels.pixels()) data_grad[s.plane + pixel.at] += d * pixel.weight;
            if (!p.moved) continue;
            shift_grad[bin.shift_x] += d * s.pixels.by_x(data.data() + s.plane) * p.trans_std * bin.width;
            shift_grad[bin.shift_y] += d * s.pixels.by_y(data.data() + s.plane) * p.trans_std * bin.height;
        }
    }));
    from_numbers(data_grad, args.outputs[0]);
    from_numbers(shift_grad, args.outputs[1]);
    return {};
}

} // namespace

void add_deformable_kernels(ReferenceKernels& kernels) {
    kernels["DeformableConvForward"] = {deformable};
    kernels["DeformableConvBackwardFilter"] = {deformable_backward_filter};
    kernels["DeformableConvBackwardData"] = {deformable_backward_data};
    kernels["DeformablePSROIPoolingForward"] = {psroi};
    kernels["DeformablePSROIPoolingBackward"] = {psroi_backward};
}

} // namespace megascope
