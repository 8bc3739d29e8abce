#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "tensor/element.h"

namespace megascope {

namespace {

using Int = std::int64_t;
using Rgb = std::array<Int, 3>;

Int descale(Int v) { return (v + 8192) >> 14; } ///< rounds off 14 fraction bits

/// Names with "BGR" have their first and third channel exchanged.
bool reads_bgr(const std::string& mode) { return mode.starts_with("BGR"); }
bool writes_bgr(const std::string& mode) { return mode.ends_with("2BGR") || mode.find("2BGR_") != std::string::npos; }

/// One pixel of the packed modes on uint8; nothing for another mode.
std::optional<Rgb> packed_uint8(const std::string& mode, const Rgb& p) {
    const auto [a, b, c] = p;
    if (mode == "RGB2GRAY" || mode == "BGR2GRAY" || mode == "RGBA2GRAY") {
        const Int gray = reads_bgr(mode) ? descale(4899 * c + 9617 * b + 1868 * a) : descale(4899 * a + 9617 * b + 1868 * c);
        return Rgb{gray, gray, gray};
    }
    if (mode == "RGB2YUV") {
        const Int y = descale(1868 * a + 9617 * b + 4899 * c);
        return Rgb{y, descale(8061 * (a - y) + (128 << 14)), descale(14369 * (c - y) + (128 << 14))};
    }
    if (mode == "YUV2RGB") {
        const Int u = b - 128;
        const Int v = c - 128;
        return Rgb{a + descale(33292 * u), a + descale(-9519 * v - 6472 * u), a + descale(18678 * v)};
    }
    if (mode == "GRAY2RGB") return Rgb{a, a, a};
    if (mode == "RGBA2RGB") return p;
    if (mode == "RGBA2BGR" || mode == "RGB2BGR" || mode == "BGR2RGB") return Rgb{c, b, a};
    return std::nullopt;
}

std::optional<std::array<double, 3>> packed_float(const std::string& mode, const std::array<double, 3>& p) {
    const auto [a, b, c] = p;
    using Pixel = std::array<double, 3>;
    if (mode == "RGB2GRAY") {
        const double gray = 0.299 * a + 0.587 * b + 0.114 * c;
        return Pixel{gray, gray, gray};
    }
    if (mode == "BGR2GRAY") {
        const double gray = 0.299 * c + 0.587 * b + 0.114 * a;
        return Pixel{gray, gray, gray};
    }
    if (mode == "RGB2YUV") {
        const double y = 0.114 * a + 0.587 * b + 0.299 * c;
        return Pixel{y, 0.492 * (a - y) + 0.5, 0.877 * (c - y) + 0.5};
    }
    if (mode == "YUV2RGB") {
        const double u = b - 0.5;
        const double v = c - 0.5;
        return Pixel{a + 2.032 * u, a - 0.581 * v - 0.395 * u, a + 1.140 * v};
    }
    if (mode == "GRAY2RGB") return Pixel{a, a, a};
    if (mode == "RGBA2RGB") return p;
    if (mode == "RGBA2BGR" || mode == "RGB2BGR" || mode == "BGR2RGB") return Pixel{c, b, a};
    return std::nullopt;
}

/// Full-range YUV to RGB in eight fraction bits.
Rgb yuv420_to_rgb(Int y, Int u, Int v) { return {y + ((359 * v) >> 8), y - ((88 * u + 183 * v) >> 8), y + ((454 * u) >> 8)}; }

/// BT.601 (video range): 1.164 (y - 16) + 1.596 v, - 0.391 u - 0.813 v, + 2.018 u in six fraction bits; the largest factor is cut
/// to 128/64. `u`, `v` are relative to 128.
Rgb bt601_to_rgb(Int y, Int u, Int v) {
    const Int luma = ((y * 0x0101 * 18997) >> 16) - 1160;
    return {(luma + 102 * v) >> 6, (luma - 25 * u - 52 * v) >> 6, (luma + 128 * u) >> 6};
}

/// Where the two chroma numbers of a planar or half-planar image lie, from its name.
struct Chroma {
    bool planar = false; ///< two planes of a quarter, else one of interleaved pairs
    bool u_first = false;
};
std::optional<Chroma> chroma_of(const std::string& mode) {
    if (mode.ends_with("NV21") || mode.starts_with("YCrCb")) return Chroma{false, false};
    if (mode.ends_with("NV12")) return Chroma{false, true};
    if (mode.ends_with("YV12")) return Chroma{true, false};
    if (mode.ends_with("YU12")) return Chroma{true, true};
    return std::nullopt;
}

/// A one-channel image of height 3H/2: H rows of luma, then chroma for blocks of 2×2 pixels.
Expected<void> from_yuv420(const KernelArgs& args, const std::string& mode, Chroma chroma, const ImageLayout& in, const ImageLayout& out) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    if (src.dtype.id != DTypeId::uint8) return fail(ErrorCode::unsupported, "CvtColor mode " + mode + " exists only for uint8.");
    if (in.c != 1 || in.h * 2 != out.h * 3 || in.w != out.w || out.h % 2 != 0 || out.w % 2 != 0 || in.n != out.n)
        return fail(ErrorCode::invalid_argument, "CvtColor mode " + mode + " cannot turn shape " + src.shape.text() + " into " +
                                                     dst.shape.text() + ".");
    const bool bt601 = mode.starts_with("BT601");
    const bool bgr = writes_bgr(mode);
    for (Int n = 0; n < out.n; ++n)
        for (Int h = 0; h < out.h; ++h)
            for (Int w = 0; w < out.w; ++w) {
                const Int luma = stored_at(src, in.at(n, 0, h, w));
                if (out.c == 1) {
                    store_integer(dst, out.at(n, 0, h, w), luma);
                    continue;
                }
                // The chroma part continues the rows of the image; a quarter plane is read as one run of numbers.
                Int first = 0;
                Int second = 0;
                const Int start = static_cast<Int>(in.at(n, 0, out.h, 0));
                if (chroma.planar) {
                    const Int place = h / 2 * (out.w / 2) + w / 2;
                    first = start + place;
                    second = start + out.h * out.w / 4 + place;
                } else {
                    first = start + h / 2 * out.w + w / 2 * 2;
                    second = first + 1;
                }
                const Int u = stored_at(src, static_cast<std::size_t>(chroma.u_first ? first : second)) - 128;
                const Int v = stored_at(src, static_cast<std::size_t>(chroma.u_first ? second : first)) - 128;
                const Rgb rgb = bt601 ? bt601_to_rgb(luma, u, v) : yuv420_to_rgb(luma, u, v);
                for (Int c = 0; c < 3; ++c)
                    store_integer(dst, out.at(n, c, h, w), rgb[static_cast<std::size_t>(bgr ? 2 - c : c)]); // saturates
            }
    return {};
}

Expected<void> cvt_color(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const std::string mode = args.opr.param().enum_name("mode");
    MGS_ASSIGN(const ImageLayout in, image_layout("NHWC", src.shape));
    MGS_ASSIGN(const ImageLayout out, image_layout("NHWC", dst.shape));
    if (const auto chroma = chroma_of(mode)) return from_yuv420(args, mode, *chroma, in, out);
    if (src.dtype.id != DTypeId::uint8 && src.dtype.id != DTypeId::float32)
        return fail(ErrorCode::unsupported, "CvtColor exists for uint8 and float32, not for " + src.dtype.text() + ".");
    const Int needed = mode.starts_with("GRAY") ? 1 : mode.starts_with("RGBA") ? 4 : 3;
    if (in.c != needed || in.n != out.n || in.h != out.h || in.w != out.w || (out.c != 1 && out.c != 3))
        return fail(ErrorCode::invalid_argument, "CvtColor mode " + mode + " cannot turn shape " + src.shape.text() + " into " +
                                                     dst.shape.text() + ".");
    for (Int n = 0; n < out.n; ++n)
        for (Int h = 0; h < out.h; ++h)
            for (Int w = 0; w < out.w; ++w) {
                std::array<double, 3> pixel{};
                for (Int c = 0; c < std::min<Int>(in.c, 3); ++c) pixel[static_cast<std::size_t>(c)] = real_at(src, in.at(n, c, h, w));
                std::optional<std::array<double, 3>> result;
                if (src.dtype.id == DTypeId::float32) {
                    result = packed_float(mode, pixel);
                } else if (const auto whole = packed_uint8(mode, {static_cast<Int>(pixel[0]), static_cast<Int>(pixel[1]), static_cast<Int>(pixel[2])})) {
                    result.emplace();
                    for (std::size_t c = 0; c < 3; ++c) (*result)[c] = static_cast<double>((*whole)[c]);
                }
                if (!result) return fail(ErrorCode::unsupported, "CvtColor mode " + mode + " is not known.");
                for (Int c = 0; c < out.c; ++c) store_real(dst, out.at(n, c, h, w), (*result)[static_cast<std::size_t>(c)]);
            }
    return {};
}

} // namespace

void add_cvt_color_kernels(ReferenceKernels& kernels) { kernels["CvtColor"] = {cvt_color}; }

} // namespace megascope
