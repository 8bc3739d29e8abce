#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/resize_taps.h"
#include "exec/reference/warp_geometry.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// What a warp reads and writes.
struct WarpImages {
    ImageLayout in;
    ImageLayout out;
    std::vector<float> from;
    std::vector<float> to;
    BorderMode border = BorderMode::replicate;
    float border_value = 0;

    /// Where a source pixel lies in its channel after the border rule; -1 = the border's value.
    [[nodiscard]] std::int64_t place(std::int64_t h, std::int64_t w) const {
        const std::int64_t y = border_place(border, h, in.h);
        const std::int64_t x = border_place(border, w, in.w);
        return y < 0 || x < 0 ? -1 : y * in.step_h + x * in.step_w;
    }
    [[nodiscard]] float pixel(std::int64_t channel, std::int64_t at) const {
        return at < 0 ? border_value : from[static_cast<std::size_t>(channel + at)];
    }
};

enum class Interpolation : std::uint8_t { nearest, linear, cubic, lanczos4 };
Interpolation interpolation(const std::string& mode) {
    if (mode == "NEAREST") return Interpolation::nearest;
    if (mode == "CUBIC") return Interpolation::cubic;
    if (mode == "LANCZOS4") return Interpolation::lanczos4;
    return Interpolation::linear;
}

/// The source pixels of one result pixel, the same for all channels: n rows of n pixels and their weights on both axes.
struct WarpTaps {
    std::size_t n = 1;
    std::array<std::int64_t, 64> place{};
    std::array<float, 8> across{}, down{};

    template <std::size_t count>
    void fill(const WarpImages& images, std::int64_t top, std::int64_t left, const std::array<float, count>& x_weights,
              const std::array<float, count>& y_weights) {
        n = count;
        std::ranges::copy(x_weights, across.begin());
        std::ranges::copy(y_weights, down.begin());
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t k = 0; k < count; ++k)
                place[i * count + k] = images.place(top + static_cast<std::int64_t>(i), left + static_cast<std::int64_t>(k));
    }
};

/// NEAREST takes the point as it is: the geometry has rounded it already.
void find_taps(const WarpImages& images, Interpolation mode, SourcePoint p, WarpTaps& taps) {
    if (mode == Interpolation::nearest) {
        taps.n = 1;
        taps.place[0] = images.place(whole_coordinate(p.y), whole_coordinate(p.x));
        return;
    }
    const float low_x = std::floor(p.x);
    const float low_y = std::floor(p.y);
    const std::int64_t x = whole_coordinate(low_x);
    const std::int64_t y = whole_coordinate(low_y);
    const float u = p.x - low_x;
    const float v = p.y - low_y;
    if (mode == Interpolation::cubic)
        taps.fill(images, y - 1, x - 1, cubic_weights(u), cubic_weights(v));
    else if (mode == Interpolation::lanczos4)
        taps.fill(images, y - 3, x - 3, lanczos4_weights(u), lanczos4_weights(v));
    else
        taps.fill(images, y, x, std::array{1.0F - u, u}, std::array{1.0F - v, v});
}

/// One result pixel of a source channel that starts at `channel`, in float.
float sample(const WarpImages& images, const WarpTaps& taps, std::int64_t channel) {
    if (taps.n == 1) return images.pixel(channel, taps.place[0]);
    float sum = 0;
    for (std::size_t i = 0; i < taps.n; ++i)
        for (std::size_t k = 0; k < taps.n; ++k) sum += images.pixel(channel, taps.place[i * taps.n + k]) * taps.across[k] * taps.down[i];
    return taps.n == 2 && images.border == BorderMode::constant && !std::isfinite(sum) ? images.border_value : sum;
}

/// Layouts on both sides of a warp; the mixed formats convert on the way.
struct FormatPair {
    std::string in;
    std::string out;
};
FormatPair format_pair(const std::string& format) {
    if (format == "NHWC_NCHW") return {"NHWC", "NCHW"};
    if (format == "NHWC_NCHW4_IC_SMALL") return {"NHWC", "NCHW4"};
    if (format == "NCHW_NCHW4_IC_SMALL") return {"NCHW", "NCHW4"};
    return {format, format};
}

/// Stored numbers of the source dtype as numbers of the result's dtype: equal when the dtypes are, else by real value; uint8 counts
/// as having its zero at 128 when the result is symmetric.
std::vector<float> convert(std::vector<float> pixels, const DType& from, const DType& to) {
    if (from.id == to.id) return pixels;
    for (float& v : pixels) {
        if (from.id == DTypeId::uint8 && to.id == DTypeId::qint8) {
            v -= 128;
            continue;
        }
        if (from.is_quantized()) v = (v - static_cast<float>(from.zero_point)) * from.scale;
        if (to.is_quantized()) v = v / to.scale + static_cast<float>(to.zero_point);
    }
    return pixels;
}

Expected<WarpImages> prepare(const KernelArgs& args, std::span<const TensorRef> sources, const FormatPair& formats, const char* border,
                             const char* border_value) {
    const MutTensorRef& dst = args.outputs[0];
    WarpImages images;
    images.border = static_cast<BorderMode>(args.opr.param().integer(border));
    images.border_value = static_cast<float>(args.opr.param().real(border_value));
    if (images.border > BorderMode::constant)
        return fail(ErrorCode::unsupported, args.opr.type + " with border mode " + args.opr.param().enum_name(border) + " is not supported.");
    MGS_ASSIGN(images.in, image_layout(formats.in, sources[0].shape));
    MGS_ASSIGN(images.out, image_layout(formats.out, dst.shape));
    const bool widens = formats.out == "NCHW4" && formats.in != "NCHW4" && images.in.c <= images.out.c;
    if (images.in.h < 1 || images.in.w < 1 || (images.in.c != images.out.c && !widens))
        return fail(ErrorCode::invalid_argument, args.opr.type + " cannot turn images of shape " + sources[0].shape.text() + " into " +
                                                     dst.shape.text() + ".");
    for (const TensorRef& source : sources) {
        if (source.shape != sources[0].shape || source.dtype.id != sources[0].dtype.id)
            return fail(ErrorCode::invalid_argument, args.opr.type + ": the sources differ in shape or dtype.");
        const std::vector<float> pixels = convert(load_pixels(source), source.dtype, dst.dtype);
        images.from.insert(images.from.end(), pixels.begin(), pixels.end());
    }
    images.in.n *= static_cast<std::int64_t>(sources.size());
    images.to.assign(dst.elements(), 0);
    return images;
}

/// Is this image one that the library warps like OpenCV, at places in 1/32 pixel?
bool like_opencv(const ImageLayout& in, const FormatPair& formats, const DType& dtype) {
    return formats.in == "NHWC" && formats.out == "NHWC" && (in.c == 1 || in.c == 3) &&
           (dtype.id == DTypeId::uint8 || dtype.id == DTypeId::float32);
}

/// Fills all output pixels; `point(n, h, w)` gives the source point, `source(n)` the source image.
template <class Source, class Point>
void warp_all(WarpImages& images, const std::string& mode, bool rounds_half_up, Source source, Point point) {
    const Interpolation kind = interpolation(mode);
    WarpTaps taps;
    for (std::int64_t n = 0; n < images.out.n; ++n) {
        const std::int64_t from = source(n);
        for (std::int64_t h = 0; h < images.out.h; ++h)
            for (std::int64_t w = 0; w < images.out.w; ++w) {
                find_taps(images, kind, point(n, h, w), taps);
                for (std::int64_t c = 0; c < std::min(images.in.c, images.out.c); ++c) {
                    const float value = sample(images, taps, static_cast<std::int64_t>(images.in.at(from, c, 0, 0)));
                    images.to[images.out.at(n, c, h, w)] = rounds_half_up ? std::floor(value + 0.5F) : value;
                }
            }
    }
}

/// Source image per matrix: from `mat_idx`, or the same number. Error: run_failed when it does not exist.
Expected<std::vector<std::int64_t>> source_images(const KernelArgs& args, const TensorRef* mat_idx, std::int64_t matrices, std::int64_t sources) {
    std::vector<std::int64_t> images(static_cast<std::size_t>(matrices));
    for (std::size_t k = 0; k < images.size(); ++k) {
        images[k] = mat_idx ? stored_at(*mat_idx, k) : static_cast<std::int64_t>(k);
        if (images[k] < 0 || images[k] >= sources)
            return fail(ErrorCode::run_failed, args.opr.type + ": matrix " + std::to_string(k) + " is for image " +
                                                   std::to_string(images[k]) + " of " + std::to_string(sources) + ".");
    }
    return images;
}

/// Inputs: sources…, matrices (n×3×3), [mat_idx], out_shape.
Expected<void> warp_perspective(const KernelArgs& args) {
    const Param& param = args.opr.param();
    if (args.inputs.size() < 3) return fail(ErrorCode::invalid_argument, "WarpPerspective has too few inputs.");
    const std::size_t before_shape = args.inputs.size() - 2;
    const bool has_index = args.inputs[before_shape].shape.ndim() != 3;
    const std::size_t mat_at = has_index ? before_shape - 1 : before_shape;
    const TensorRef& mat = args.inputs[mat_at];
    if (mat_at == 0 || mat.shape.ndim() != 3 || mat.shape[1] != 3 || mat.shape[2] != 3)
        return fail(ErrorCode::invalid_argument, "WarpPerspective takes matrices of shape n×3×3.");
    const FormatPair formats = format_pair(param.enum_name("format"));
    MGS_ASSIGN(WarpImages images, prepare(args, args.inputs.first(mat_at), formats, "bmode", "border_val"));
    const TensorRef* index = has_index ? &args.inputs[before_shape] : nullptr;
    if (images.out.n != mat.shape[0] || (index && index->elements() != static_cast<std::size_t>(mat.shape[0])))
        return fail(ErrorCode::invalid_argument, "WarpPerspective: the numbers of matrices and results do not fit.");
    MGS_ASSIGN(const auto source, source_images(args, index, mat.shape[0], images.in.n));
    const DType& dtype = args.inputs[0].dtype;
    const bool opencv = !has_index && like_opencv(images.in, formats, dtype);
    const std::string mode = param.enum_name("imode");
    const bool nearest = mode == "NEAREST";
    const std::vector<double> m = to_real(mat);
    warp_all(images, mode, opencv && dtype.id == DTypeId::uint8, [&](std::int64_t n) { return source[static_cast<std::size_t>(n)]; },
             [&](std::int64_t n, std::int64_t h, std::int64_t w) {
                 const std::span<const double, 9> matrix(m.data() + n * 9, 9);
                 return opencv ? perspective_point_32(matrix, h, w, nearest) : perspective_point(matrix, h, w, nearest);
             });
    store_pixels(images.to, args.outputs[0]);
    return {};
}

/// Inputs: source, matrices (n×2×3), out_shape.
Expected<void> warp_affine(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& mat = args.inputs[1];
    if (mat.shape.ndim() != 3 || mat.shape[1] != 2 || mat.shape[2] != 3)
        return fail(ErrorCode::invalid_argument, "WarpAffine takes matrices of shape n×2×3, not " + mat.shape.text() + ".");
    const FormatPair formats = format_pair(param.enum_name("format"));
    MGS_ASSIGN(WarpImages images, prepare(args, args.inputs.first(1), formats, "border_mode", "border_val"));
    if (images.out.n != mat.shape[0] || images.in.n != mat.shape[0])
        return fail(ErrorCode::invalid_argument, "WarpAffine: the numbers of matrices and images do not fit.");
    const DType& dtype = args.inputs[0].dtype;
    const bool opencv = like_opencv(images.in, formats, dtype);
    const std::string mode = param.enum_name("imode");
    const bool nearest = mode == "NEAREST";
    const std::vector<double> m = to_real(mat);
    warp_all(images, mode, opencv && dtype.id == DTypeId::uint8, [](std::int64_t n) { return n; },
             [&](std::int64_t n, std::int64_t h, std::int64_t w) {
                 const std::span<const double, 6> matrix(m.data() + n * 6, 6);
                 return opencv ? affine_point_32(matrix, h, w, nearest) : affine_point(matrix, h, w, nearest);
             });
    store_pixels(images.to, args.outputs[0]);
    return {};
}

/// Inputs: source, map_xy (n×h×w×2) with the source place (x, y) of every result pixel.
Expected<void> remap(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& map = args.inputs[1];
    const std::string format = param.enum_name("format");
    MGS_ASSIGN(WarpImages images, prepare(args, args.inputs.first(1), {format, format}, "border_type", "scalar"));
    if (images.in.n != images.out.n || map.elements() != static_cast<std::size_t>(images.out.n * images.out.h * images.out.w * 2))
        return fail(ErrorCode::invalid_argument, "Remap: a map of shape " + map.shape.text() + " does not fit the result's " +
                                                     args.outputs[0].shape.text() + ".");
    const std::string mode = param.enum_name("imode");
    if (mode != "LINEAR" && mode != "NEAREST") return fail(ErrorCode::unsupported, "Remap mode " + mode + " is not supported.");
    const bool nearest = mode == "NEAREST";
    // A constant border is a pixel, so it is rounded as one.
    if (!args.inputs[0].dtype.is_float()) images.border_value = std::round(images.border_value);
    warp_all(images, mode, false, [](std::int64_t n) { return n; },
             [&](std::int64_t n, std::int64_t h, std::int64_t w) {
                 const auto at = static_cast<std::size_t>(((n * images.out.h + h) * images.out.w + w) * 2);
                 SourcePoint p{static_cast<float>(real_at(map, at)), static_cast<float>(real_at(map, at + 1))};
                 if (nearest) p = {std::nearbyint(p.x), std::nearbyint(p.y)};
                 return p;
             });
    store_pixels(images.to, args.outputs[0]);
    return {};
}

} // namespace

void add_warp_kernels(ReferenceKernels& kernels) {
    kernels["WarpPerspective"] = {warp_perspective};
    kernels["WarpAffine"] = {warp_affine};
    kernels["Remap"] = {remap};
}

} // namespace megascope
