#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "opr/infer_util.h"

namespace megascope {

/// The numbers of the schema's ConvolutionFormat.
enum class ImageFormat : std::int64_t {
    nchw = 0, nhwc = 1, nhwcd4 = 2, nchw4 = 3, nchw8 = 4, nchw32 = 5, nchw88 = 6, nchw44 = 7, nchw44_dot = 8, nchw4_nchw32 = 9,
    nchw32_nchw4 = 10, nchw4_nchw = 11, nhwc_nchw = 12, nhwc_nchw4_ic_small = 13, nchw_nchw4_ic_small = 14, chwn4 = 15, nchw64 = 16,
    nchw4_nhwc = 17,
};

/// Where the axes of an image tensor are. With `pack` > 1 the last axis holds `pack` channels.
struct ImageLayout {
    std::size_t rank = 4;
    std::size_t n = 0;
    std::size_t c = 1;
    std::size_t h = 2;
    std::size_t w = 3;
    std::int64_t pack = 1;

    /// All channels, packed ones included.
    [[nodiscard]] std::int64_t channels(const Shape& shape) const { return saturated_mul(shape[c], pack); }
    /// A tensor of this layout. `channels` is rounded up to whole packs.
    [[nodiscard]] Shape shape(std::int64_t n_size, std::int64_t channels, std::int64_t h_size, std::int64_t w_size) const;
};

/// Layout of the operator's source / destination. Nothing for an unknown format number.
[[nodiscard]] std::optional<ImageLayout> source_layout(ImageFormat format);
[[nodiscard]] std::optional<ImageLayout> destination_layout(ImageFormat format);

/// The layout of an image input, checked against its rank. Errors: unknown format, wrong rank.
[[nodiscard]] Expected<ImageLayout> image_layout_of(const Opr& opr, ImageFormat format, const Shape& shape, const char* name);

} // namespace megascope
