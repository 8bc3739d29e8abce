#include "opr/image_layout.h"

namespace megascope {

namespace {

constexpr ImageLayout nchw{4, 0, 1, 2, 3, 1};
constexpr ImageLayout nhwc{4, 0, 3, 1, 2, 1};
constexpr ImageLayout nhwcd4{5, 0, 2, 1, 3, 4};
constexpr ImageLayout chwn4{5, 3, 0, 1, 2, 4};
constexpr ImageLayout packed(std::int64_t pack) { return {5, 0, 1, 2, 3, pack}; }

} // namespace

Shape ImageLayout::shape(std::int64_t n_size, std::int64_t channel_count, std::int64_t h_size, std::int64_t w_size) const {
    Shape s = Shape::filled(rank, pack);
    s[n] = n_size;
    s[c] = ceil_div(channel_count, pack);
    s[h] = h_size;
    s[w] = w_size;
    return s;
}

std::optional<ImageLayout> source_layout(ImageFormat format) {
    switch (format) {
    case ImageFormat::nchw:
    case ImageFormat::nchw_nchw4_ic_small: return nchw;
    case ImageFormat::nhwc:
    case ImageFormat::nhwc_nchw:
    case ImageFormat::nhwc_nchw4_ic_small: return nhwc;
    case ImageFormat::nhwcd4: return nhwcd4;
    case ImageFormat::nchw4:
    case ImageFormat::nchw44:
    case ImageFormat::nchw44_dot:
    case ImageFormat::nchw4_nchw:
    case ImageFormat::nchw4_nhwc:
    case ImageFormat::nchw4_nchw32: return packed(4);
    case ImageFormat::nchw8:
    case ImageFormat::nchw88: return packed(8);
    case ImageFormat::nchw32:
    case ImageFormat::nchw32_nchw4: return packed(32);
    case ImageFormat::nchw64: return packed(64);
    case ImageFormat::chwn4: return chwn4;
    }
    return std::nullopt;
}

std::optional<ImageLayout> destination_layout(ImageFormat format) {
    switch (format) {
    case ImageFormat::nhwc_nchw:
    case ImageFormat::nchw4_nchw: return nchw;
    case ImageFormat::nchw4_nhwc: return nhwc;
    case ImageFormat::nhwc_nchw4_ic_small:
    case ImageFormat::nchw_nchw4_ic_small:
    case ImageFormat::nchw32_nchw4: return packed(4);
    case ImageFormat::nchw4_nchw32: return packed(32);
    default: return source_layout(format);
    }
}

Expected<ImageLayout> image_layout_of(const Opr& opr, ImageFormat format, const Shape& shape, const char* name) {
    const auto layout = source_layout(format);
    if (!layout) return misfit(opr, "its format " + std::to_string(static_cast<std::int64_t>(format)) + " is not known.");
    if (shape.ndim() != layout->rank)
        return misfit(opr, std::string(name) + " must have " + std::to_string(layout->rank) + " axes in format " +
                               opr.param().enum_name("format") + ", but its shape is " + shape.text() + ".");
    return *layout;
}

} // namespace megascope
