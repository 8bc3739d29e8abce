#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "tensor/shape.h"

namespace megascope {

/// The numbers of the schema's `ConvolutionFormat`.
enum class ConvFormat : std::uint8_t {
    nchw = 0, nhwc = 1, nhwcd4 = 2, nchw4 = 3, nchw8 = 4, nchw32 = 5, nchw88 = 6, nchw44 = 7, nchw44_dot = 8, nchw4_nchw32 = 9,
    nchw32_nchw4 = 10, nchw4_nchw = 11, nhwc_nchw = 12, nhwc_nchw4_ic_small = 13, nchw_nchw4_ic_small = 14, chwn4 = 15,
    nchw64 = 16, nchw4_nhwc = 17,
};

/// Plain orders of images and filters; see axis_layout.h for how layouts are written.
inline constexpr std::string_view image_order = "NCHW";
inline constexpr std::string_view filter_order = "GOIHW";

/// Layouts of the three tensors of a convolution.
struct ConvLayout {
    std::string_view src;
    std::string_view filter;
    std::string_view dst; ///< also of bias and z
    /// A depth-wise filter packs channels of several groups: its plain G counts them, its O and I are 1.
};

/// The layouts of a convolution with this format. Whether NCHW44, NCHW88 and NCHW44_DOT are of the hybrid kind (plain source)
/// and whether NHWCD4 is of the dot kind is told by the number of axes.
/// Errors: unsupported format, or invalid_argument when the numbers of axes fit no layout of the format.
[[nodiscard]] Expected<ConvLayout> conv_layout(ConvFormat format, bool grouped, const Shape& src, const Shape& filter);

/// The layout of the images of a pooling or an image operator. Errors: unsupported for the formats that have two.
[[nodiscard]] Expected<std::string_view> image_layout(ConvFormat format);

} // namespace megascope
