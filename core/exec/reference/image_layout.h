#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// How a stored tensor holds images: sizes, and where element (n, c, h, w) lies.
struct ImageLayout {
    std::int64_t n = 0;
    std::int64_t c = 0; ///< channels, padding included
    std::int64_t h = 0;
    std::int64_t w = 0;
    std::int64_t step_n = 0;
    std::int64_t step_block = 0; ///< from one pack of channels to the next
    std::int64_t step_c = 1;     ///< inside a pack
    std::int64_t step_h = 0;
    std::int64_t step_w = 0;
    std::int64_t pack = 1;       ///< channels per pack

    [[nodiscard]] std::size_t at(std::int64_t in, std::int64_t ic, std::int64_t ih, std::int64_t iw) const {
        return static_cast<std::size_t>(in * step_n + ic / pack * step_block + ic % pack * step_c + ih * step_h + iw * step_w);
    }
};

/// `format` is a name of the schema's ConvolutionFormat that means one layout: NCHW, NHWC, NHWCD4, NCHW4, NCHW8, NCHW32, NCHW64,
/// NCHW88, NCHW44, NCHW44_DOT, CHWN4. Errors: unsupported (another format), invalid_argument (the shape does not fit).
[[nodiscard]] Expected<ImageLayout> image_layout(std::string_view format, const Shape& shape);

/// The pixels of an image operator as float: floats by value, integers and quantized dtypes by their stored number.
[[nodiscard]] std::vector<float> load_pixels(const TensorRef& tensor);
/// Writes such numbers: integers and quantized dtypes are rounded half away from zero and saturated.
void store_pixels(std::span<const float> pixels, const MutTensorRef& tensor);

/// The values of the schema's WarpPerspectiveV1BorderMode.
enum class BorderMode : std::uint8_t { replicate = 0, reflect, reflect_101, wrap, constant, transparent, isolated };

/// Where coordinate `place` of an axis of `size` is read: itself inside, mapped by the mode outside, -1 for a constant border.
/// Precondition: size >= 1.
[[nodiscard]] std::int64_t border_place(BorderMode mode, std::int64_t place, std::int64_t size);

/// A coordinate as a whole number; far outside and NaN become places that are surely outside.
[[nodiscard]] std::int64_t whole_coordinate(double value);

} // namespace megascope
