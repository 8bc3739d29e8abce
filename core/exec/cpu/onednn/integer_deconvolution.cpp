// ConvolutionBackwardData of int8 numbers as a deconvolution: exact integer sums by oneDNN, then MegEngine's own rounding.

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

/// The filter as oneDNN's deconvolution names its axes: group, output channel, input channel, taps.
std::vector<std::int8_t> prepared_filter(const Tensor& filter, const ConvProblem& problem) {
    const std::vector<double> plain = plain_filter(filter.ref(), problem);
    const ConvGeometry& g = problem.geometry;
    const auto taps = static_cast<std::size_t>(g.taps());
    const auto in = static_cast<std::size_t>(g.ocpg);
    const auto out = static_cast<std::size_t>(g.icpg);
    std::vector<std::int8_t> result(plain.size());
    for (std::size_t group = 0; group < static_cast<std::size_t>(g.groups); ++group)
        for (std::size_t i = 0; i < in; ++i)
            for (std::size_t o = 0; o < out; ++o)
                for (std::size_t t = 0; t < taps; ++t)
                    result[((group * out + o) * in + i) * taps + (g.flip ? taps - 1 - t : t)] =
                        static_cast<std::int8_t>(plain[((group * in + i) * out + o) * taps + t]);
    return result;
}

} // namespace

std::optional<CpuKernelChoice> build_integer_deconvolution(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.group.has_head || opr.type != "ConvolutionBackwardData" || !exact_int8())
        return std::nullopt;
    const CpuValueInfo& filter = view.inputs[0];
    const CpuValueInfo& diff = view.inputs[1];
    const CpuValueInfo& grad = view.outputs[0];
    if (!is_int8(diff.dtype) || !is_int8(filter.dtype) || !filter.constant) return std::nullopt;
    // The problem is stated as the forward convolution: result and image change roles.
    const Expected<ConvProblem> found = conv_problem(conv_settings(opr.param()), grad.shape, filter.shape, diff.shape);
    if (!found) return std::nullopt;
    const ConvProblem& p = *found;
    const ConvGeometry& g = p.geometry;
    const Expected<Shape> in = plain_shape(diff.shape, p.layout.dst, image_order);
    if (!in || (*in)[1] != g.groups * g.ocpg || p.src[1] != g.groups * g.icpg || in->elements() == 0 || p.src.elements() == 0)
        return std::nullopt;
    for (const ConvAxis& axis : g.axes) // oneDNN leaves what lies behind the last tap as it was
        if (axis.in + axis.pad > (axis.out - 1) * axis.stride + axis.dilate * (axis.kernel - 1) + 1) return std::nullopt;
    const std::optional<IntegerFinish> finish = IntegerFinish::of(view, product_scale(filter.dtype, diff.dtype));
    if (!finish) return std::nullopt;
    const std::vector<std::int8_t> weights = prepared_filter(*filter.constant, p);
    if (largest_byte_sum(weights, static_cast<std::size_t>(g.ocpg * g.taps())) > exact_float_sums) return std::nullopt;
    try {
        const auto s8 = memory::data_type::s8;
        memory::dims weight_dims = {g.icpg, g.ocpg, g.axes[1].kernel, g.axes[2].kernel};
        if (g.groups > 1) weight_dims.insert(weight_dims.begin(), g.groups);
        const memory::desc image(onednn_dims(*in), s8, memory::format_tag::nhwc);
        const memory::desc stored(weight_dims, s8, g.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
        const memory::desc result(onednn_dims(p.src), memory::data_type::s32, memory::format_tag::nhwc);
        const memory::dims pads = {g.axes[1].pad, g.axes[2].pad};
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::deconvolution_forward::desc desc(
            dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, image,
            memory::desc(weight_dims, s8, memory::format_tag::any), result, {g.axes[1].stride, g.axes[2].stride},
            {g.axes[1].dilate - 1, g.axes[2].dilate - 1}, pads, pads);
        const dnnl::deconvolution_forward::primitive_desc pd(desc, attributes, context.engine);
        if (std::string_view(pd.impl_info_str()).starts_with("ref")) return std::nullopt;

        auto sums = std::make_unique<OnednnKernel>(context);
        const auto packed = shared_weights(context, PackedWeights::key(view, 0, pd.weights_desc()), [&] {
            return packed_memory(context, stored, weights.data(), pd.weights_desc());
        });
        sums->hold(packed);
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, sums->input(0, image)},
                                                         {DNNL_ARG_WEIGHTS, *packed},
                                                         {DNNL_ARG_DST, sums->output(0, result)}};
        if (pd.scratchpad_desc().get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, sums->scratch(pd.scratchpad_desc())});
        sums->add(dnnl::deconvolution_forward(pd), arguments);

        IntegerConvPlan plan;
        plan.image_input = 1;
        plan.channels = static_cast<std::size_t>(p.src[1]);
        plan.pixels = p.src.elements() / plan.channels;
        auto kernel = std::make_unique<IntegerConvKernel>(context, std::move(sums), std::move(plan), *finish);
        CpuKernelChoice choice;
        choice.input_unused.assign(view.inputs.size(), true);
        choice.input_unused[1] = false;
        choice.input_layouts.resize(view.inputs.size());
        choice.input_layouts[1] = channels_last(p.layout.dst);
        choice.output_layouts = {channels_last(p.layout.src)};
        choice.weight_bytes = pd.weights_desc().get_size();
        choice.scratch_bytes = kernel->scratch_bytes();
        choice.kernel = std::move(kernel);
        choice.name = std::string(pd.impl_info_str()) + " int8";
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
