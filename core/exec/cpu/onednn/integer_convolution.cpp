// Convolution and ConvBias of 8-bit numbers (QuantizedS8, Int8, Quantized8Asymm): exact integer sums by oneDNN, then MegEngine's
// own rounding.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/integer_conv_kernel.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"

namespace megascope {
namespace {

using dnnl::memory;

bool is_int8(const DType& dtype) { return dtype.id == DTypeId::qint8 || dtype.id == DTypeId::int8; }

/// The filter's numbers (zero point taken off) as the signed bytes that oneDNN multiplies with: `added` = zero point - 128, or 0.
std::vector<std::int8_t> prepared_filter(const Tensor& filter, const ConvProblem& problem, int added) {
    const std::vector<double> plain = plain_filter(filter.ref(), problem);
    std::vector<std::int8_t> result(plain.size());
    std::ranges::transform(plain, result.begin(), [added](double v) { return static_cast<std::int8_t>(static_cast<int>(v) + added); });
    const auto taps = static_cast<std::ptrdiff_t>(problem.filter[3] * problem.filter[4]);
    if (problem.geometry.flip)
        for (auto at = result.begin(); at != result.end(); at += taps) std::reverse(at, at + taps);
    return result;
}

std::int64_t largest_magnitude(std::span<const std::int32_t> numbers) {
    std::int64_t largest = 0;
    for (const std::int32_t n : numbers) largest = std::max(largest, std::abs(std::int64_t{n}));
    return largest;
}

/// What is fixed before it is known how oneDNN gets the image.
struct Parts {
    ConvProblem problem;
    IntegerFinish finish;
    IntegerConvPlan plan;
    std::vector<std::int8_t> weights;
    std::vector<std::int32_t> bias; ///< constant; empty = none, or known only when it runs
    std::int64_t largest = 0;       ///< |sum| that oneDNN can reach
    memory::dims dst;
};

/// The primitive over signed bytes as they are, or over unsigned ones in an image that is padded already.
struct Primitive {
    dnnl::convolution_forward::primitive_desc pd;
    memory::desc image, stored, sums, bias;

    Primitive(const CpuContext& context, const Parts& parts, bool is_unsigned, bool with_bias) {
        const ConvGeometry& g = parts.problem.geometry;
        memory::dims weight_dims = {g.ocpg, g.icpg, g.axes[1].kernel, g.axes[2].kernel};
        if (g.groups > 1) weight_dims.insert(weight_dims.begin(), g.groups);
        memory::dims src = onednn_dims(parts.problem.src);
        memory::dims pads = {g.axes[1].pad, g.axes[2].pad};
        if (is_unsigned)
            for (std::size_t i = 0; i < 2; ++i) {
                src[i + 2] += 2 * pads[i];
                pads[i] = 0;
            }
        const auto s8 = memory::data_type::s8;
        const auto s32 = memory::data_type::s32;
        image = memory::desc(src, is_unsigned ? memory::data_type::u8 : s8, memory::format_tag::nhwc);
        stored = memory::desc(weight_dims, s8, g.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
        sums = memory::desc(parts.dst, s32, memory::format_tag::nhwc);
        if (with_bias) bias = memory::desc({parts.dst[1]}, s32, memory::format_tag::x);
        const memory::dims strides = {g.axes[1].stride, g.axes[2].stride};
        const memory::dims dilates = {g.axes[1].dilate - 1, g.axes[2].dilate - 1};
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, image,
                                                   memory::desc(weight_dims, s8, memory::format_tag::any), bias, sums, strides,
                                                   dilates, pads, pads);
        pd = dnnl::convolution_forward::primitive_desc(desc, attributes, context.engine);
    }

    /// Sums without floats on the way, whatever their size.
    [[nodiscard]] bool whole_numbers() const { return std::string_view(pd.impl_info_str()).starts_with("brg"); }
};

/// oneDNN reads the image as unsigned bytes: `zero` stands for 0 in it.
void read_unsigned(Parts& parts, const DType& src, int filter_zero) {
    const bool flips = src.id != DTypeId::quint8;
    const std::int32_t zero = flips ? 128 : src.zero_point;
    const ConvGeometry& g = parts.problem.geometry;
    const BytePadding padded{g.batch,         g.axes[1].in,    g.axes[2].in,
                             parts.problem.src[1], g.axes[1].pad, g.axes[2].pad,
                             flips ? std::uint8_t{0x80} : std::uint8_t{0}, static_cast<std::uint8_t>(zero)};
    if (!padded.changes_nothing()) parts.plan.padded = padded;
    parts.plan.window_factor = 128 - filter_zero;
    if (parts.plan.window_factor != 0)
        parts.plan.windows = ByteWindowSums{g.batch,  g.axes[1].in + 2 * g.axes[1].pad, g.axes[2].in + 2 * g.axes[2].pad,
                                            g.groups, g.icpg,                           g.axes[1],
                                            g.axes[2]};
    const auto terms = static_cast<std::size_t>(g.icpg * g.taps());
    std::vector<std::int32_t>& offset = parts.plan.offset;
    offset = parts.bias;
    offset.resize(parts.plan.channels);
    for (std::size_t c = 0; c < offset.size(); ++c) {
        std::int64_t sum = 0;
        for (std::size_t t = 0; t < terms; ++t) sum += parts.weights[c * terms + t] + parts.plan.window_factor;
        offset[c] = static_cast<std::int32_t>(offset[c] - zero * sum);
    }
}

std::optional<Parts> make_parts(const CpuGroupView& view) {
    const Opr& opr = view.head();
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& filter = view.inputs[1];
    const CpuValueInfo& dst = view.outputs[0];
    const bool asymmetric = src.dtype.id == DTypeId::quint8 && filter.dtype.id == DTypeId::quint8;
    if (!asymmetric && (!is_int8(src.dtype) || !is_int8(filter.dtype))) return std::nullopt;
    if (!filter.constant) return std::nullopt;
    Expected<ConvProblem> found = conv_problem(conv_settings(opr.param()), src.shape, filter.shape, dst.shape);
    if (!found) return std::nullopt;
    Parts parts;
    parts.problem = *std::move(found);
    const ConvProblem& p = parts.problem;
    const ConvGeometry& g = p.geometry;
    const Expected<Shape> out = plain_shape(dst.shape, p.layout.dst, image_order);
    if (!out || p.src[1] != g.groups * g.icpg || (*out)[1] != g.groups * g.ocpg || out->elements() == 0 || p.src.elements() == 0)
        return std::nullopt;
    parts.dst = onednn_dims(*out);
    parts.plan.channels = static_cast<std::size_t>((*out)[1]);
    parts.plan.pixels = out->elements() / parts.plan.channels;

    const std::optional<IntegerFinish> finish = IntegerFinish::of(view, product_scale(src.dtype, filter.dtype));
    if (!finish) return std::nullopt;
    parts.finish = *finish;
    if (finish->z) parts.plan.z_input = 3;
    if (view.inputs.size() > 2 && view.inputs[2].shape.elements() > 0) {
        const CpuValueInfo& bias = view.inputs[2];
        const bool integer = bias.dtype.id == DTypeId::qint32 || bias.dtype.id == DTypeId::int32;
        if (!integer || bias.shape.elements() != parts.plan.channels) return std::nullopt;
        if (bias.constant) {
            const auto numbers = bias.constant->ref().as<std::int32_t>();
            parts.bias.assign(numbers.begin(), numbers.end());
        } else {
            parts.plan.bias_input = 2;
        }
    }
    parts.weights = prepared_filter(*filter.constant, p, asymmetric ? filter.dtype.zero_point - 128 : 0);
    parts.largest = largest_byte_sum(parts.weights, static_cast<std::size_t>(g.icpg * g.taps()));
    return parts;
}

/// Throws dnnl::error.
std::optional<CpuKernelChoice> build(const CpuContext& context, const CpuGroupView& view, Parts& parts) {
    const DType& src = view.inputs[0].dtype;
    const bool asymmetric = src.id == DTypeId::quint8;
    // Signed bytes, and a bias, are exact in every kernel as long as floats can hold the sums.
    const bool as_they_are = !asymmetric && parts.largest <= exact_float_sums;
    const bool bias_inside =
        as_they_are && !parts.bias.empty() && parts.largest + largest_magnitude(parts.bias) <= exact_float_sums;
    const Primitive primitive(context, parts, !as_they_are, bias_inside);
    if (parts.largest > exact_float_sums && !primitive.whole_numbers()) return std::nullopt;
    if (std::string_view(primitive.pd.impl_info_str()).starts_with("ref")) return std::nullopt;
    if (!as_they_are)
        read_unsigned(parts, src, asymmetric ? view.inputs[1].dtype.zero_point : 128);
    else if (!bias_inside)
        parts.plan.offset = parts.bias;

    const ConvLayout& layout = parts.problem.layout;
    CpuKernelChoice choice;
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_layouts.resize(view.inputs.size());
    choice.output_layouts = {channels_last(layout.dst)};
    const auto read = [&](int input, const Layout& wanted) {
        if (input < 0) return;
        choice.input_unused[static_cast<std::size_t>(input)] = false;
        choice.input_layouts[static_cast<std::size_t>(input)] = wanted;
    };
    read(0, channels_last(layout.src));
    read(parts.plan.z_input, channels_last(layout.dst));
    if (parts.plan.bias_input >= 0) read(parts.plan.bias_input, Layout::plain(view.inputs[2].shape.ndim()));

    auto sums = std::make_unique<OnednnKernel>(context);
    const auto packed = shared_weights(context, PackedWeights::key(view, 1, primitive.pd.weights_desc()), [&] {
        return packed_memory(context, primitive.stored, parts.weights.data(), primitive.pd.weights_desc());
    });
    sums->hold(packed);
    choice.weight_bytes = primitive.pd.weights_desc().get_size() + parts.plan.offset.size() * sizeof(std::int32_t);
    std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, sums->input(0, primitive.image)},
                                                     {DNNL_ARG_WEIGHTS, *packed},
                                                     {DNNL_ARG_DST, sums->output(0, primitive.sums)}};
    if (bias_inside) {
        arguments.push_back({DNNL_ARG_BIAS, owned_memory(context, primitive.bias, parts.bias.data())});
        choice.weight_bytes += primitive.bias.get_size();
    }
    if (primitive.pd.scratchpad_desc().get_size() > 0)
        arguments.push_back({DNNL_ARG_SCRATCHPAD, sums->scratch(primitive.pd.scratchpad_desc())});
    sums->add(dnnl::convolution_forward(primitive.pd), arguments);
    auto kernel = std::make_unique<IntegerConvKernel>(context, std::move(sums), std::move(parts.plan), parts.finish);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = std::string(primitive.pd.impl_info_str()) + (asymmetric ? " uint8" : " int8");
    return choice;
}

} // namespace

bool exact_int8() {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx: return true;
    default: return false;
    }
}

std::optional<CpuKernelChoice> build_integer_convolution(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.group.has_head || (opr.type != "Convolution" && opr.type != "ConvBiasForward") ||
        !exact_int8())
        return std::nullopt;
    std::optional<Parts> parts = make_parts(view);
    if (!parts) return std::nullopt;
    try {
        return build(context, view, *parts);
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
