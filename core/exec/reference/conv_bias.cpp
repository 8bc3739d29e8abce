// ConvBiasForward and BatchConvBiasForward: nonline(convolution + bias + z).

#include <algorithm>
#include <cmath>
#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"
#include "tensor/element.h"

namespace megascope {

namespace {

enum class Nonline : std::uint8_t { identity = 0, relu = 1, sigmoid = 2, h_swish = 3 };

template <class Real>
Real apply(Nonline mode, Real x) {
    switch (mode) {
    case Nonline::identity: return x;
    case Nonline::relu: return std::max(x, Real(0));
    case Nonline::sigmoid: return Real(1) / (Real(1) + std::exp(-x));
    case Nonline::h_swish: return x * std::min(std::max(x + Real(3), Real(0)), Real(6)) / Real(6);
    }
    return x;
}

/// Bias or z under the plain shape of the result, as numbers. Errors: invalid_argument when it does not broadcast.
Expected<std::vector<double>> broadcast_operand(const TensorRef& tensor, std::string_view layout, const Shape& dst) {
    MGS_ASSIGN(const Shape stored, plain_shape(tensor.shape, layout, image_order));
    Shape shape = stored;
    std::vector<double> values = unpack(to_numbers(tensor), tensor.shape, layout, image_order);
    if (shape[1] > dst[1]) { // channels that pad a pack
        shape[1] = dst[1];
        values = pack(values, stored, image_order, shape, image_order);
    }
    std::array<std::int64_t, 4> step{};
    const auto strides = shape.strides();
    for (std::size_t a = 0; a < 4; ++a) {
        if (shape[a] != 1 && shape[a] != dst[a])
            return fail(ErrorCode::invalid_argument,
                        "The operand " + tensor.shape.text() + " does not fit a convolution result of " + dst.text() + ".");
        step[a] = shape[a] == 1 ? 0 : strides[a];
    }
    std::vector<double> full;
    full.reserve(dst.elements());
    for (std::int64_t n = 0; n < dst[0]; ++n)
        for (std::int64_t c = 0; c < dst[1]; ++c)
            for (std::int64_t h = 0; h < dst[2]; ++h)
                for (std::int64_t w = 0; w < dst[3]; ++w)
                    full.push_back(values[static_cast<std::size_t>(n * step[0] + c * step[1] + h * step[2] + w * step[3])]);
    return full;
}

struct Operands {
    std::vector<double> bias; ///< empty when absent
    std::vector<double> z;
    bool real_bias = false; ///< a float bias beside integer sums
    float z_scale = 1;
};

std::vector<double> finish_floats(std::vector<double> sums, const Operands& add, Nonline mode) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (!add.bias.empty()) sums[i] += add.bias[i];
        if (!add.z.empty()) sums[i] += add.z[i];
        sums[i] = apply(mode, sums[i]);
    }
    return sums;
}

/// From integer sums of products, whose real value is sum * scale, to the numbers of dtype `to`.
std::vector<double> finish_integers(std::vector<double> sums, const Operands& add, float scale, Nonline mode, const DType& to) {
    if (!add.bias.empty() && !add.real_bias)
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += add.bias[i];
    const bool simple = mode == Nonline::identity || mode == Nonline::relu;
    if (simple && add.z.empty() && !add.real_bias) {
        // Rescaled as integers: the order of the roundings decides exact ties. ReLU does not change under a positive factor.
        std::vector<double> numbers = rescale_sums(sums, scale, to);
        if (mode == Nonline::relu)
            for (double& v : numbers) v = std::max(v, 0.0);
        return numbers;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        float x = static_cast<float>(sums[i]) * scale;
        if (add.real_bias) x += static_cast<float>(add.bias[i]);
        if (!add.z.empty()) x += static_cast<float>(add.z[i]) * add.z_scale;
        x = apply(mode, x);
        sums[i] = to.is_quantized() ? static_cast<double>(quantize(to, x) - to.zero_point) : x;
    }
    return sums;
}

Expected<void> add_and_store(const KernelArgs& args, const ConvProblem& p, std::vector<double> sums) {
    const MutTensorRef& dst = args.outputs[0];
    const ConvGeometry& g = p.geometry;
    const std::int64_t channels = g.groups * g.ocpg;
    const Shape plain{g.batch, channels, g.axes[1].out, g.axes[2].out};
    const DType& src = args.inputs[0].dtype;
    Operands add;
    if (args.inputs.size() > 2 && args.inputs[2].elements() > 0) {
        MGS_ASSIGN(add.bias, broadcast_operand(args.inputs[2], p.layout.dst, plain));
        add.real_bias = !src.is_float() && args.inputs[2].dtype.is_float();
    }
    if (args.inputs.size() > 3 && args.inputs[3].elements() > 0) {
        MGS_ASSIGN(add.z, broadcast_operand(args.inputs[3], p.layout.dst, plain));
        add.z_scale = args.inputs[3].dtype.is_quantized() ? args.inputs[3].dtype.scale : 1.0F;
    }
    const auto mode = static_cast<Nonline>(args.opr.param().integer("nonlineMode"));
    sums = src.is_float() ? finish_floats(std::move(sums), add, mode)
                          : finish_integers(std::move(sums), add, product_scale(src, args.inputs[1].dtype), mode, dst.dtype);
    store_image(sums, channels, dst, p.layout.dst);
    return {};
}

Expected<void> conv_bias(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& filter = args.inputs[1];
    MGS_ASSIGN(const ConvProblem p, conv_problem(conv_settings(args.opr.param()), src.shape, filter.shape, args.outputs[0].shape));
    const ConvGeometry& g = p.geometry;
    return add_and_store(args, p, convolve(g, plain_image(src, p.layout.src, g.groups * g.icpg), plain_filter(filter, p)));
}

// Every image of the batch has its own filter.
Expected<void> batch_conv_bias(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const TensorRef& filter = args.inputs[1];
    const MutTensorRef& dst = args.outputs[0];
    Shape one_filter = filter.shape;
    if (one_filter.ndim() < 2)
        return fail(ErrorCode::invalid_argument, "The filter " + filter.shape.text() + " of a batched convolution has no batch axis.");
    one_filter.erase(0);
    MGS_ASSIGN(ConvProblem p, conv_problem(conv_settings(args.opr.param()), src.shape, one_filter, dst.shape));
    if (filter.shape[0] != p.geometry.batch)
        return fail(ErrorCode::invalid_argument, "The filter " + filter.shape.text() + " of a batched convolution does not have one part for each of the " +
                                                     std::to_string(p.geometry.batch) + " images.");
    ConvGeometry one = p.geometry;
    one.batch = 1;
    const auto images = plain_image(src, p.layout.src, one.groups * one.icpg);
    const auto filters = to_numbers(filter);
    std::vector<double> sums;
    for (std::size_t n = 0; n < static_cast<std::size_t>(p.geometry.batch); ++n) {
        const auto image = std::span(images).subspan(n * static_cast<std::size_t>(one.src_elements()), static_cast<std::size_t>(one.src_elements()));
        const auto packed = std::span(filters).subspan(n * one_filter.elements(), one_filter.elements());
        const auto part = convolve(one, image, unpack(packed, one_filter, p.layout.filter, filter_order));
        sums.insert(sums.end(), part.begin(), part.end());
    }
    return add_and_store(args, p, std::move(sums));
}

} // namespace

void add_conv_bias_kernels(ReferenceKernels& kernels) {
    kernels["ConvBiasForward"] = {conv_bias};
    kernels["BatchConvBiasForward"] = {batch_conv_bias};
}

} // namespace megascope
