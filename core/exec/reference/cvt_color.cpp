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
bool writes_bgr(const std::string& mode) { return mode.ends_with("2BGR") || mode.find("2BGR_") != std::string::npos; }

using Real3 = std::array<double, 3>;

/// One pixel of a packed mode on uint8 and on float; null for modes that there are not.
struct PackedMode {
    Rgb (*whole)(const Rgb&) = nullptr;
    Real3 (*real)(const Real3&) = nullptr;
};

Rgb gray(Int r, Int g, Int b) {
    const Int y = descale(4899 * r + 9617 * g + 1868 * b);
    return {y, y, y};
}
Real3 gray(double r, double g, double b) {
    const double y = 0.299 * r + 0.587 * g + 0.114 * b;
    return {y, y, y};
}

PackedMode packed_mode(const std::string& mode) {
    if (mode == "RGB2GRAY") return {[](const Rgb& p) { return gray(p[0], p[1], p[2]); }, [](const Real3& p) { return gray(p[0], p[1], p[2]); }};
    if (mode == "BGR2GRAY") return {[](const Rgb& p) { return gray(p[2], p[1], p[0]); }, [](const Real3& p) { return gray(p[2], p[1], p[0]); }};
    if (mode == "RGBA2GRAY") return {[](const Rgb& p) { return gray(p[0], p[1], p[2]); }, nullptr};
    if (mode == "RGB2YUV")
        return {[](const Rgb& p) {
                    const auto [a, b, c] = p;
                    const Int y = descale(1868 * a + 9617 * b + 4899 * c);
                    return Rgb{y, descale(8061 * (a - y) + (128 << 14)), descale(14369 * (c - y) + (128 << 14))};
                },
                [](const Real3& p) {
                    const auto [a, b, c] = p;
                    const double y = 0.114 * a + 0.587 * b + 0.299 * c;
                    return Real3{y, 0.492 * (a - y) + 0.5, 0.877 * (c - y) + 0.5};
                }};
    if (mode == "YUV2RGB")
        return {[](const Rgb& p) {
                    const Int u = p[1] - 128;
                    const Int v = p[2] - 128;
                    return Rgb{p[0] + descale(33292 * u), p[0] + descale(-9519 * v - 6472 * u), p[0] + descale(18678 * v)};
                },
                [](const Real3& p) {
                    const double u = p[1] - 0.5;
                    const double v = p[2] - 0.5;
                    return Real3{p[0] + 2.032 * u, p[0] - 0.581 * v - 0.395 * u, p[0] + 1.140 * v};
                }};
    if (mode == "GRAY2RGB") return {[](const Rgb& p) { return Rgb{p[0], p[0], p[0]}; }, [](const Real3& p) { return Real3{p[0], p[0], p[0]}; }};
    if (mode == "RGBA2RGB") return {[](const Rgb& p) { return p; }, [](const Real3& p) { return p; }};
    if (mode == "RGBA2BGR" || mode == "RGB2BGR" || mode == "BGR2RGB")
        return {[](const Rgb& p) { return Rgb{p[2], p[1], p[0]}; }, [](const Real3& p) { return Real3{p[2], p[1], p[0]}; }};
    return {};
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
    const PackedMode packed = packed_mode(mode);
    const bool whole = src.dtype.id == DTypeId::uint8;
    if (whole ? !packed.whole : !packed.real) return fail(ErrorCode::unsupported, "CvtColor mode " + mode + " is not known.");
    const auto read = static_cast<std::size_t>(in.c), written = static_cast<std::size_t>(out.c);
    for (std::size_t p = 0; p < static_cast<std::size_t>(in.n * in.h * in.w); ++p) {
        if (whole) {
            Rgb pixel{};
            for (std::size_t c = 0; c < std::min<std::size_t>(read, 3); ++c) pixel[c] = src.as<std::uint8_t>()[p * read + c];
            const Rgb result = packed.whole(pixel);
            for (std::size_t c = 0; c < written; ++c)
                dst.as<std::uint8_t>()[p * written + c] = static_cast<std::uint8_t>(std::clamp<Int>(result[c], 0, 255));
        } else {
            Real3 pixel{};
            for (std::size_t c = 0; c < std::min<std::size_t>(read, 3); ++c) pixel[c] = static_cast<double>(src.as<float>()[p * read + c]);
            const Real3 result = packed.real(pixel);
            for (std::size_t c = 0; c < written; ++c) dst.as<float>()[p * written + c] = static_cast<float>(result[c]);
        }
    }
    return {};
}

} // namespace

void add_cvt_color_kernels(ReferenceKernels& kernels) { kernels["CvtColor"] = {cvt_color}; }

} // namespace megascope
