#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/resize_nhwc.h"
#include "exec/reference/resize_taps.h"
#include "tensor/element.h"

namespace megascope {

Expected<std::vector<ResizeTaps>> general_resize_taps(std::string_view mode, std::int64_t in, std::int64_t out) {
    std::vector<ResizeTaps> taps(static_cast<std::size_t>(out));
    const float scale = static_cast<float>(out) / static_cast<float>(in);
    for (std::int64_t i = 0; i < out; ++i) {
        ResizeTaps& t = taps[static_cast<std::size_t>(i)];
        const float position = (static_cast<float>(i) + 0.5F) / scale - 0.5F;
        const auto low = static_cast<std::int64_t>(std::floor(position));
        const float fraction = position - static_cast<float>(low);
        if (mode == "NEAREST")
            t.set_one(std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(i) / scale)), in - 1));
        else if (mode == "LINEAR")
            t.set_linear(low, fraction, in);
        else if (mode == "CUBIC")
            t.set_cubic(low, fraction, in);
        else
            return fail(ErrorCode::unsupported, "Resize mode " + std::string(mode) + " exists only for NHWC images of one or three channels in uint8 or float32.");
    }
    return taps;
}

namespace {

/// Sums v·column weight·row weight, row by row from the top left, in float.
void resample(const std::vector<float>& from, const ImageLayout& in, std::vector<float>& to, const ImageLayout& out,
              const std::vector<ResizeTaps>& rows, const std::vector<ResizeTaps>& columns) {
    for (std::int64_t n = 0; n < out.n; ++n)
        for (std::int64_t c = 0; c < out.c; ++c)
            for (std::int64_t h = 0; h < out.h; ++h)
                for (std::int64_t w = 0; w < out.w; ++w) {
                    const ResizeTaps& row = rows[static_cast<std::size_t>(h)];
                    const ResizeTaps& column = columns[static_cast<std::size_t>(w)];
                    float sum = 0;
                    for (std::size_t y = 0; y < row.count; ++y)
                        for (std::size_t x = 0; x < column.count; ++x)
                            sum += from[in.at(n, c, row.place[y], column.place[x])] * column.weight[x] * row.weight[y];
                    to[out.at(n, c, h, w)] = sum;
                }
}

Expected<void> check_images(const KernelArgs& args, const ImageLayout& in, const ImageLayout& out) {
    if (in.n == out.n && in.c == out.c && in.h > 0 && in.w > 0) return {};
    return fail(ErrorCode::invalid_argument, args.opr.type + " cannot turn images of shape " + args.inputs[0].shape.text() + " into " +
                                                 args.outputs[0].shape.text() + ".");
}

Expected<void> resize(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const std::string format = param.enum_name("format");
    const std::string mode = param.enum_name("imode");
    MGS_ASSIGN(const ImageLayout in, image_layout(format, args.inputs[0].shape));
    MGS_ASSIGN(const ImageLayout out, image_layout(format, args.outputs[0].shape));
    MGS_TRY(check_images(args, in, out));
    const DTypeId dtype = args.inputs[0].dtype.id;
    const std::vector<float> from = load_pixels(args.inputs[0]);
    std::vector<float> to(args.outputs[0].elements());
    // The library leaves these images to code that computes like OpenCV.
    if (format == "NHWC" && (in.c == 1 || in.c == 3) && (dtype == DTypeId::uint8 || dtype == DTypeId::float32)) {
        MGS_TRY(resize_nhwc(mode, dtype == DTypeId::uint8, from, in, to, out));
    } else {
        MGS_ASSIGN(const auto rows, general_resize_taps(mode, in.h, out.h));
        MGS_ASSIGN(const auto columns, general_resize_taps(mode, in.w, out.w));
        resample(from, in, to, out, rows, columns);
    }
    store_pixels(to, args.outputs[0]);
    return {};
}

/// Inputs: gradient of the result, the source (for its shape). The adjoint of the general rule.
Expected<void> resize_backward(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const std::string mode = param.enum_name("imode");
    MGS_ASSIGN(const ImageLayout out, image_layout(param.enum_name("format"), args.inputs[0].shape));
    MGS_ASSIGN(const ImageLayout in, image_layout(param.enum_name("format"), args.outputs[0].shape));
    MGS_TRY(check_images(args, in, out));
    MGS_ASSIGN(const auto rows, general_resize_taps(mode, in.h, out.h));
    MGS_ASSIGN(const auto columns, general_resize_taps(mode, in.w, out.w));
    std::vector<double> grad(args.outputs[0].elements());
    for (std::int64_t n = 0; n < out.n; ++n)
        for (std::int64_t c = 0; c < out.c; ++c)
            for (std::int64_t h = 0; h < out.h; ++h)
                for (std::int64_t w = 0; w < out.w; ++w) {
                    const ResizeTaps& row = rows[static_cast<std::size_t>(h)];
                    const ResizeTaps& column = columns[static_cast<std::size_t>(w)];
                    const double diff = real_at(args.inputs[0], out.at(n, c, h, w));
                    for (std::size_t y = 0; y < row.count; ++y)
                        for (std::size_t x = 0; x < column.count; ++x)
                            grad[in.at(n, c, row.place[y], column.place[x])] += diff * column.weight[x] * row.weight[y];
                }
    from_real(grad, args.outputs[0]);
    return {};
}

/// Two neighbours of an output place along one axis of a volume; the upper one is cut at the border.
struct Neighbours {
    std::int64_t low = 0;
    std::int64_t high = 0;
    double fraction = 0;
};
std::vector<Neighbours> volume_axis(std::int64_t in, std::int64_t out, bool align_corners) {
    std::vector<Neighbours> places(static_cast<std::size_t>(out));
    for (std::int64_t i = 0; i < out; ++i) {
        double position = 0;
        if (align_corners)
            position = out > 1 ? static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
        else
            position = std::max((static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5, 0.0);
        Neighbours& p = places[static_cast<std::size_t>(i)];
        p.low = std::min(static_cast<std::int64_t>(position), in - 1);
        p.high = std::min(p.low + 1, in - 1);
        p.fraction = position - static_cast<double>(p.low);
    }
    return places;
}

Expected<void> resize3d(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const Param& param = args.opr.param();
    const bool channels_last = param.enum_name("format") == "NDHWC";
    if (param.enum_name("imode") != "LINEAR")
        return fail(ErrorCode::unsupported, "Resize3D exists only with mode LINEAR, not " + param.enum_name("imode") + ".");
    if (src.shape.ndim() != 5 || dst.shape.ndim() != 5 || src.elements() == 0)
        return fail(ErrorCode::invalid_argument, "Resize3D takes volumes of five axes, not " + src.shape.text() + ".");
    const std::size_t first = channels_last ? 1 : 2;
    const bool align = param.boolean("align_corners");
    std::array<std::vector<Neighbours>, 3> axes;
    for (std::size_t k = 0; k < 3; ++k) axes[k] = volume_axis(src.shape[first + k], dst.shape[first + k], align);
    const auto from = src.shape.strides();
    const std::size_t channel_axis = channels_last ? 4 : 1;
    std::size_t at = 0;
    for (std::int64_t n = 0; n < dst.shape[0]; ++n)
        for (std::int64_t i1 = 0; i1 < dst.shape[1]; ++i1)
            for (std::int64_t i2 = 0; i2 < dst.shape[2]; ++i2)
                for (std::int64_t i3 = 0; i3 < dst.shape[3]; ++i3)
                    for (std::int64_t i4 = 0; i4 < dst.shape[4]; ++i4, ++at) {
                        const std::array<std::int64_t, 5> place{n, i1, i2, i3, i4};
                        const std::int64_t base = n * from[0] + place[channel_axis] * from[channel_axis];
                        double sum = 0;
                        for (unsigned corner = 0; corner < 8; ++corner) {
                            double weight = 1;
                            std::int64_t index = base;
                            for (std::size_t k = 0; k < 3; ++k) {
                                const Neighbours& p = axes[k][static_cast<std::size_t>(place[first + k])];
                                const bool high = ((corner >> k) & 1U) != 0;
                                weight *= high ? p.fraction : 1 - p.fraction;
                                index += (high ? p.high : p.low) * from[first + k];
                            }
                            if (weight != 0) sum += weight * real_at(src, static_cast<std::size_t>(index));
                        }
                        store_real(dst, at, sum);
                    }
    return {};
}

} // namespace

void add_resize_kernels(ReferenceKernels& kernels) {
    kernels["Resize"] = {resize};
    kernels["ResizeBackward"] = {resize_backward};
    kernels["Resize3D"] = {resize3d};
}

} // namespace megascope
