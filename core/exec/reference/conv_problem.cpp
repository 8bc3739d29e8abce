#include "exec/reference/conv_problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/element_block.h"
#include "exec/reference/numbers.h"
#include "tensor/element.h"

namespace megascope {

namespace {

tl::unexpected<Error> mismatch(const Shape& src, const Shape& filter, const Shape& dst) {
    return fail(ErrorCode::invalid_argument, "A convolution of " + src.text() + " with a filter " + filter.text() +
                                                 " cannot give " + dst.text() + ".");
}

} // namespace

ConvSettings conv_settings(const Param& param) {
    ConvSettings s;
    s.format = static_cast<ConvFormat>(param.integer("format"));
    s.grouped = param.enum_name("sparse") == "GROUP";
    s.flip = param.enum_name("mode") == "CONVOLUTION";
    s.height.stride = param.integer("stride_h");
    s.height.pad = param.integer("pad_h");
    s.height.dilate = param.integer("dilate_h");
    s.width.stride = param.integer("stride_w");
    s.width.pad = param.integer("pad_w");
    s.width.dilate = param.integer("dilate_w");
    return s;
}

Expected<ConvProblem> conv_problem(const ConvSettings& settings, const Shape& src, const Shape& filter, const Shape& dst) {
    ConvProblem p;
    MGS_ASSIGN(p.layout, conv_layout(settings.format, settings.grouped, src, filter));
    MGS_ASSIGN(p.src, plain_shape(src, p.layout.src, image_order));
    MGS_ASSIGN(p.filter, plain_shape(filter, p.layout.filter, filter_order));
    MGS_ASSIGN(const Shape out, plain_shape(dst, p.layout.dst, image_order));

    ConvGeometry& g = p.geometry;
    g.batch = p.src[0];
    g.groups = p.filter[0];
    g.ocpg = p.filter[1];
    g.icpg = p.filter[2];
    g.flip = settings.flip;
    g.axes[1] = settings.height;
    g.axes[2] = settings.width;
    for (std::size_t a = 0; a < 2; ++a) {
        g.axes[a + 1].in = p.src[a + 2];
        g.axes[a + 1].kernel = p.filter[a + 3];
        g.axes[a + 1].out = out[a + 2];
    }
    MGS_TRY(check(g));
    const bool sizes_agree = out[0] == g.batch && g.axes[1].forward_size() == out[2] && g.axes[2].forward_size() == out[3];
    if (!sizes_agree || out[1] < g.groups * g.ocpg || p.src[1] < g.groups * g.icpg) return mismatch(src, filter, dst);
    return p;
}

std::vector<double> plain_image(const TensorRef& image, std::string_view layout, std::int64_t channels) {
    const Shape stored = *plain_shape(image.shape, layout, image_order);
    std::vector<double> values = unpack(to_numbers(image), image.shape, layout, image_order);
    if (stored[1] == channels) return values;
    Shape wanted = stored;
    wanted[1] = channels;
    return pack(values, stored, image_order, wanted, image_order);
}

std::vector<double> plain_filter(const TensorRef& filter, const ConvProblem& problem) {
    return unpack(to_numbers(filter), filter.shape, problem.layout.filter, filter_order);
}

void store_image(std::span<const double> numbers, std::int64_t channels, const MutTensorRef& dst, std::string_view layout) {
    Shape plain = *plain_shape(dst.shape, layout, image_order);
    plain[1] = channels;
    from_numbers(pack(numbers, plain, image_order, dst.shape, layout), dst);
}

std::vector<double> rescale_sums(std::span<const double> sums, float scale, const DType& to) {
    std::vector<double> numbers(sums.begin(), sums.end());
    if (to.is_float()) {
        if (scale != 1.0F)
            for (double& v : numbers) v = static_cast<float>(v) * scale;
    } else if (!to.is_quantized()) {
        for (double& v : numbers) v = static_cast<double>(wrap_integer(to, static_cast<std::int64_t>(v)));
    } else if (to.id != DTypeId::qint32) {
        const float ratio = scale / to.scale;
        for (double& v : numbers) v = std::round(static_cast<float>(v) * ratio);
    }
    return numbers;
}

float product_scale(const DType& a, const DType& b) {
    return (a.is_quantized() ? a.scale : 1.0F) * (b.is_quantized() ? b.scale : 1.0F);
}

} // namespace megascope
