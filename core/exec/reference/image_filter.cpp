#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Gaussian weights of an odd kernel. Sizes up to 7 without a sigma have fixed binomial-like weights.
std::vector<double> gaussian_kernel(std::int64_t size, double sigma) {
    static const std::vector<std::vector<double>> fixed = {
        {1}, {0.25, 0.5, 0.25}, {0.0625, 0.25, 0.375, 0.25, 0.0625},
        {0.03125, 0.109375, 0.21875, 0.28125, 0.21875, 0.109375, 0.03125}};
    if (sigma <= 0 && size % 2 == 1 && size <= 7) return fixed[static_cast<std::size_t>(size / 2)];
    if (sigma <= 0) sigma = 0.3 * (static_cast<double>(size - 1) * 0.5 - 1) + 0.8;
    std::vector<double> kernel(static_cast<std::size_t>(size));
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
        const double x = static_cast<double>(i) - static_cast<double>(size - 1) * 0.5;
        kernel[static_cast<std::size_t>(i)] = std::exp(-x * x / (2 * sigma * sigma));
        sum += kernel[static_cast<std::size_t>(i)];
    }
    for (double& k : kernel) k /= sum;
    return kernel;
}

/// A size of 0 is taken from sigma: three of them to each side for uint8, four otherwise.
Expected<std::int64_t> kernel_size(std::int64_t stored, double sigma, bool is_uint8) {
    const bool given = stored > 0 || !(sigma > 0);
    const double size = given ? static_cast<double>(std::max<std::int64_t>(stored, 1)) : std::round(sigma * (is_uint8 ? 3 : 4) * 2 + 1);
    if (!(size < 4096))
        return fail(ErrorCode::unsupported, "GaussianBlur with a kernel of " + std::to_string(size) + " elements is too large.");
    return given ? static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size) | 1;
}

Expected<void> gaussian_blur(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const Param& param = args.opr.param();
    const bool is_uint8 = src.dtype.id == DTypeId::uint8;
    if (!is_uint8 && src.dtype.id != DTypeId::float32)
        return fail(ErrorCode::unsupported, "GaussianBlur exists for uint8 and float32, not for " + src.dtype.text() + ".");
    MGS_ASSIGN(const ImageLayout image, image_layout("NHWC", src.shape));
    if (src.shape != dst.shape) return fail(ErrorCode::invalid_argument, "GaussianBlur keeps the shape " + src.shape.text() + ".");
    const auto border = static_cast<BorderMode>(param.integer("border_mode"));
    if (border > BorderMode::constant)
        return fail(ErrorCode::unsupported, "GaussianBlur with border mode " + param.enum_name("border_mode") + " is not supported.");
    const double sigma_x = param.real("sigma_x");
    const double sigma_y = param.real("sigma_y") <= 0 ? sigma_x : param.real("sigma_y");
    MGS_ASSIGN(const std::int64_t width, kernel_size(param.integer("kernel_width"), sigma_x, is_uint8));
    MGS_ASSIGN(const std::int64_t height, kernel_size(param.integer("kernel_height"), sigma_y, is_uint8));
    std::vector<double> across = gaussian_kernel(width, sigma_x);
    std::vector<double> down = gaussian_kernel(height, sigma_y);
    if (is_uint8) {
        // Fixed point: eight fraction bits per direction, cut off.
        for (std::vector<double>* kernel : {&across, &down})
            for (double& k : *kernel) k = std::trunc(k * 256);
    }
    const auto half_x = static_cast<std::int64_t>(across.size() / 2);
    const auto half_y = static_cast<std::int64_t>(down.size() / 2);
    for (std::int64_t n = 0; n < image.n; ++n)
        for (std::int64_t h = 0; h < image.h; ++h)
            for (std::int64_t w = 0; w < image.w; ++w)
                for (std::int64_t c = 0; c < image.c; ++c) {
                    double sum = 0;
                    for (std::size_t y = 0; y < down.size(); ++y) {
                        const std::int64_t row = border_place(border, h + static_cast<std::int64_t>(y) - half_y, image.h);
                        for (std::size_t x = 0; x < across.size() && row >= 0; ++x) {
                            const std::int64_t column = border_place(border, w + static_cast<std::int64_t>(x) - half_x, image.w);
                            if (column >= 0) sum += real_at(src, image.at(n, c, row, column)) * across[x] * down[y];
                        }
                    }
                    store_real(dst, image.at(n, c, h, w), is_uint8 ? std::floor((sum + 32768) / 65536) : sum);
                }
    return {};
}

/// Orthonormal cosine transform (DCT-II): frequency k, place i.
std::vector<double> cosine_matrix(std::int64_t block) {
    std::vector<double> m(static_cast<std::size_t>(block * block));
    for (std::int64_t k = 0; k < block; ++k)
        for (std::int64_t i = 0; i < block; ++i)
            m[static_cast<std::size_t>(k * block + i)] =
                std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(block)) *
                std::cos((2 * static_cast<double>(i) + 1) * static_cast<double>(k) * std::numbers::pi / static_cast<double>(2 * block));
    return m;
}

/// Each block of the image becomes one pixel with the block's frequencies (row frequency · block + column frequency) as channels,
/// or those that the masks choose. Inputs: image (NCHW), [offsets of the channels' masks, frequencies].
Expected<void> dct_channel_select(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const Param& param = args.opr.param();
    const std::int64_t block = param.integer("dct_block_size");
    MGS_ASSIGN(const ImageLayout in, image_layout("NCHW", src.shape));
    MGS_ASSIGN(const ImageLayout out, image_layout(param.enum_name("format"), dst.shape));
    std::vector<std::vector<std::int64_t>> chosen(static_cast<std::size_t>(in.c));
    std::int64_t total = 0;
    const bool masked = args.inputs.size() >= 3 && args.inputs[1].elements() >= 2;
    if (block < 1 || block > 1024 || in.h % block != 0 || in.w % block != 0)
        return fail(ErrorCode::invalid_argument, "DctChannelSelect cannot cut images of shape " + src.shape.text() + " into blocks of " +
                                                     std::to_string(block) + ".");
    for (std::size_t c = 0; c < chosen.size(); ++c) {
        if (!masked) {
            for (std::int64_t k = 0; k < block * block; ++k) chosen[c].push_back(k);
        } else if (c + 1 < args.inputs[1].elements()) {
            for (std::int64_t i = stored_at(args.inputs[1], c); i < stored_at(args.inputs[1], c + 1); ++i) {
                if (i < 0 || i >= static_cast<std::int64_t>(args.inputs[2].elements()))
                    return fail(ErrorCode::run_failed, "DctChannelSelect: the mask offsets do not fit the mask.");
                const std::int64_t k = stored_at(args.inputs[2], static_cast<std::size_t>(i));
                if (k < 0 || k >= block * block)
                    return fail(ErrorCode::run_failed, "DctChannelSelect: there is no frequency " + std::to_string(k) + ".");
                chosen[c].push_back(k);
            }
        }
        total += static_cast<std::int64_t>(chosen[c].size());
    }
    if (out.n != in.n || out.c != total || out.h != in.h / block || out.w != in.w / block)
        return fail(ErrorCode::invalid_argument, "DctChannelSelect: the result's shape " + dst.shape.text() + " does not fit.");
    const std::vector<double> m = cosine_matrix(block);
    const auto cosine = [&](std::int64_t k, std::int64_t i) { return m[static_cast<std::size_t>(k * block + i)]; };
    for (std::int64_t n = 0; n < in.n; ++n)
        for (std::int64_t h = 0; h < out.h; ++h)
            for (std::int64_t w = 0; w < out.w; ++w) {
                std::int64_t channel = 0;
                for (std::int64_t c = 0; c < in.c; ++c)
                    for (const std::int64_t frequency : chosen[static_cast<std::size_t>(c)]) {
                        double sum = 0;
                        for (std::int64_t y = 0; y < block; ++y)
                            for (std::int64_t x = 0; x < block; ++x)
                                sum += real_at(src, in.at(n, c, h * block + y, w * block + x)) * cosine(frequency / block, y) *
                                       cosine(frequency % block, x);
                        store_real(dst, out.at(n, channel++, h, w), sum);
                    }
            }
    return {};
}

} // namespace

void add_image_filter_kernels(ReferenceKernels& kernels) {
    kernels["GaussianBlur"] = {gaussian_blur};
    kernels["DctChannelSelect"] = {dct_channel_select};
}

} // namespace megascope
