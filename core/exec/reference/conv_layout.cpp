#include "exec/reference/conv_layout.h"

#include <string>

namespace megascope {

namespace {

/// A filter's layout by its number of axes; empty = the format has none with that number.
std::string_view filter_layout(ConvFormat format, bool grouped, std::size_t ndim) {
    switch (format) {
    case ConvFormat::nchw: return grouped ? "GOIHW" : "OIHW";
    case ConvFormat::nhwc: return grouped ? "GOHWI" : "OHWI";
    case ConvFormat::nhwcd4:
        if (grouped) return ndim == 5 ? "GOHWg" : ndim == 6 ? "GOHWIo" : "GOHWIoi";
        return ndim == 5 ? "OHWIo" : "OHWIoi";
    case ConvFormat::nchw4:
    case ConvFormat::nchw8:
    case ConvFormat::nchw32:
    case ConvFormat::nchw64:
    case ConvFormat::nchw4_nchw32:
    case ConvFormat::nchw32_nchw4:
    case ConvFormat::nchw4_nchw:
    case ConvFormat::nchw4_nhwc: return grouped ? "GOIHWi" : "OIHWi";
    case ConvFormat::nchw44:
    case ConvFormat::nchw88:
    case ConvFormat::nchw44_dot: {
        const bool dot = format == ConvFormat::nchw44_dot;
        if (grouped) return ndim == 6 ? "GOIHWg" : dot ? "GOIHWoi" : "GOIHWio";
        return ndim == 5 ? "OHWIo" : dot ? "OIHWoi" : "OIHWio";
    }
    case ConvFormat::chwn4: return grouped ? "GIHWOi" : "IHWOi";
    case ConvFormat::nhwc_nchw:
    case ConvFormat::nhwc_nchw4_ic_small:
    case ConvFormat::nchw_nchw4_ic_small: break;
    }
    return {};
}

std::string_view src_layout(ConvFormat format) {
    switch (format) {
    case ConvFormat::nchw: return "NCHW";
    case ConvFormat::nhwc: return "NHWC";
    case ConvFormat::nhwcd4: return "NHCWc";
    case ConvFormat::chwn4: return "CHWNc";
    default: return "NCHWc";
    }
}

std::string_view dst_layout(ConvFormat format) {
    switch (format) {
    case ConvFormat::nchw4_nchw: return "NCHW";
    case ConvFormat::nchw4_nhwc: return "NHWC";
    default: return src_layout(format);
    }
}

} // namespace

Expected<ConvLayout> conv_layout(ConvFormat format, bool grouped, const Shape& src, const Shape& filter) {
    ConvLayout layout{src_layout(format), filter_layout(format, grouped, filter.ndim()), dst_layout(format)};
    if (layout.filter.empty())
        return fail(ErrorCode::unsupported,
                    "Convolution format number " + std::to_string(static_cast<int>(format)) + " has no defined filter layout.");
    if (layout.filter == "OHWIo" && format != ConvFormat::nhwcd4) layout.src = "NCHW"; // hybrid
    if (layout.src.size() != src.ndim() || layout.filter.size() != filter.ndim())
        return fail(ErrorCode::invalid_argument, "The source " + src.text() + " and the filter " + filter.text() +
                                                     " do not have the axes of convolution format number " +
                                                     std::to_string(static_cast<int>(format)) + ".");
    return layout;
}

Expected<std::string_view> image_layout(ConvFormat format) {
    if (src_layout(format) != dst_layout(format) || format == ConvFormat::nhwc_nchw || format == ConvFormat::nhwc_nchw4_ic_small ||
        format == ConvFormat::nchw_nchw4_ic_small || format == ConvFormat::nchw4_nchw32 || format == ConvFormat::nchw32_nchw4)
        return fail(ErrorCode::unsupported,
                    "Format number " + std::to_string(static_cast<int>(format)) + " is not the layout of a single image.");
    return src_layout(format);
}

} // namespace megascope
