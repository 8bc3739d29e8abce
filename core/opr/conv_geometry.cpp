#include "opr/conv_geometry.h"

namespace megascope {

namespace {

/// Where a filter layout keeps its numbers; axis −1 = absent (1), packs multiply.
struct FilterLayout {
    std::size_t rank;
    int g, oc, ic, fh;
    std::int64_t oc_pack = 1;
    std::int64_t ic_pack = 1;
    std::int64_t g_pack = 1;
};

/// The layouts of a format; the rank selects one.
std::vector<FilterLayout> layouts(ImageFormat format, bool grouped, bool hybrid) {
    switch (format) {
    case ImageFormat::nchw:
    case ImageFormat::nchw_nchw4_ic_small: return grouped ? std::vector<FilterLayout>{{5, 0, 1, 2, 3}} : std::vector<FilterLayout>{{4, -1, 0, 1, 2}};
    case ImageFormat::nhwc:
    case ImageFormat::nhwc_nchw:
    case ImageFormat::nhwc_nchw4_ic_small:
        return grouped ? std::vector<FilterLayout>{{5, 0, 1, 4, 2}} : std::vector<FilterLayout>{{4, -1, 0, 3, 1}};
    case ImageFormat::nhwcd4:
        // Depth-wise G/4,1,FH,FW,4; the 6- and 7-axis forms of the dot kernels split the input channels as well.
        if (grouped)
            return {{5, 0, -1, -1, 2, 1, 1, 4}, {6, 0, 1, 4, 2, 4}, {7, 0, 1, 4, 2, 4, 4}};
        return {{5, -1, 0, 3, 1, 4}, {6, -1, 0, 3, 1, 4, 4}};
    case ImageFormat::nchw44:
    case ImageFormat::nchw44_dot:
    case ImageFormat::nchw88: {
        const std::int64_t pack = format == ImageFormat::nchw88 ? 8 : 4;
        if (grouped) return {{6, 0, -1, -1, 3, 1, 1, pack}, {7, 0, 1, 2, 3, pack, pack}};
        if (hybrid) return {{5, -1, 0, 3, 1, pack}};
        return {{6, -1, 0, 1, 2, pack, pack}};
    }
    case ImageFormat::chwn4:
        return grouped ? std::vector<FilterLayout>{{6, 0, 4, 1, 2, 1, 4}} : std::vector<FilterLayout>{{5, -1, 3, 0, 1, 1, 4}};
    default: {
        const auto source = source_layout(format);
        const std::int64_t pack = source ? source->pack : 1;
        return grouped ? std::vector<FilterLayout>{{6, 0, 1, 2, 3, 1, pack}} : std::vector<FilterLayout>{{5, -1, 0, 1, 2, 1, pack}};
    }
    }
}

} // namespace

Expected<FilterShape> filter_shape(const Opr& opr, ImageFormat format, bool grouped, bool hybrid, const Shape& filter) {
    for (const FilterLayout& l : layouts(format, grouped, hybrid)) {
        if (l.rank != filter.ndim()) continue;
        const auto size = [&](int axis) { return axis < 0 ? 1 : filter[static_cast<std::size_t>(axis)]; };
        FilterShape f;
        f.groups = saturated_mul(size(l.g), l.g_pack);
        f.oc = saturated_mul(size(l.oc), l.oc_pack);
        f.ic = saturated_mul(size(l.ic), l.ic_pack);
        f.fh = size(l.fh);
        f.fw = size(l.fh + 1);
        return f;
    }
    return misfit(opr, "a filter of shape " + filter.text() + " fits no layout of a " + (grouped ? "grouped" : "dense") +
                           " convolution in format " + opr.param().enum_name("format") + ".");
}

ConvParams conv_params(const Opr& opr) {
    const Param& p = opr.param();
    ConvParams c;
    c.format = static_cast<ImageFormat>(p.integer("format"));
    c.grouped = p.integer("sparse") == 1;
    c.h = {p.integer("pad_h"), 1, p.integer("stride_h"), p.integer("dilate_h")};
    c.w = {p.integer("pad_w"), 1, p.integer("stride_w"), p.integer("dilate_w")};
    return c;
}

bool is_hybrid(ImageFormat format, const Shape& src) {
    return src.ndim() == 4 &&
           (format == ImageFormat::nchw44 || format == ImageFormat::nchw44_dot || format == ImageFormat::nchw88);
}

Expected<Shape> conv_output(const Opr& opr, const ConvParams& params, const Shape& src, const Shape& filter) {
    const bool hybrid = is_hybrid(params.format, src);
    MGS_ASSIGN(const ImageLayout in, image_layout_of(opr, hybrid ? ImageFormat::nchw : params.format, src, "the source"));
    const ImageLayout out = *destination_layout(params.format);
    MGS_ASSIGN(const FilterShape f, filter_shape(opr, params.format, params.grouped, hybrid, filter));
    const std::int64_t wanted = saturated_mul(f.ic, f.groups);
    std::int64_t channels = in.channels(src);
    if (params.format == ImageFormat::nhwcd4) channels = saturated_mul(ceil_div(channels, 4), 4);
    const bool padded = params.format == ImageFormat::nhwcd4 && saturated_mul(ceil_div(wanted, 4), 4) == channels;
    if (wanted != channels && !padded)
        return misfit(opr, "the filter of shape " + filter.text() + " takes " + std::to_string(wanted) + " channels, but the source of shape " +
                               src.text() + " has " + std::to_string(channels) + ".");
    Window h = params.h, w = params.w;
    h.size = f.fh;
    w.size = f.fw;
    MGS_ASSIGN(const std::int64_t oh, window_positions(opr, src[in.h], h));
    MGS_ASSIGN(const std::int64_t ow, window_positions(opr, src[in.w], w));
    return out.shape(src[in.n], saturated_mul(f.oc, f.groups), oh, ow);
}

Expected<Shape> conv_source(const Opr& opr, const ConvParams& params, const Shape& filter, const Shape& diff) {
    MGS_ASSIGN(const ImageLayout layout, image_layout_of(opr, params.format, diff, "diff"));
    MGS_ASSIGN(const FilterShape f, filter_shape(opr, params.format, params.grouped, false, filter));
    const std::int64_t wanted = saturated_mul(f.oc, f.groups);
    const std::int64_t channels = layout.channels(diff);
    const bool padded = params.format == ImageFormat::nhwcd4 && saturated_mul(ceil_div(wanted, 4), 4) == channels;
    if (wanted != channels && !padded)
        return misfit(opr, "the filter of shape " + filter.text() + " gives " + std::to_string(wanted) + " channels, but diff of shape " +
                               diff.text() + " has " + std::to_string(channels) + ".");
    Window h = params.h, w = params.w;
    h.size = f.fh;
    w.size = f.fw;
    MGS_ASSIGN(const std::int64_t ih, window_source(opr, diff[layout.h], h));
    MGS_ASSIGN(const std::int64_t iw, window_source(opr, diff[layout.w], w));
    return layout.shape(diff[layout.n], saturated_mul(f.ic, f.groups), ih, iw);
}

std::optional<DType> conv_dtype(const std::optional<DType>& src, const std::optional<DType>& filter) {
    if (!src || !filter) return std::nullopt;
    if (src->is_float()) return src;
    switch (src->id) {
    case DTypeId::int8:
    case DTypeId::uint8:
    case DTypeId::int16: return DType(DTypeId::int32);
    case DTypeId::qint8:
    case DTypeId::quint8:
    case DTypeId::qint4:
    case DTypeId::quint4:
    case DTypeId::qint1: return DType(DTypeId::qint32, src->scale * filter->scale);
    case DTypeId::qint32: return DType(DTypeId::qint8, src->scale / filter->scale);
    default: return std::nullopt;
    }
}

} // namespace megascope
