// Convolution, ConvBias and deconvolution of floats through oneDNN. Images lie as NHWC, whatever MegEngine's format is.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/cpu/onednn/post_ops.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"
#include "tensor/element.h"

namespace megascope {
namespace {

using dnnl::memory;

/// Is the filter stored in plain order?
bool is_plain_filter(const ConvProblem& problem) {
    return problem.layout.filter == "OIHW" || problem.layout.filter == filter_order;
}

/// A constant filter in plain G, O, I, H, W order, with the epilogue's factors and CONVOLUTION's mirroring worked in.
std::vector<float> prepared_filter(const Tensor& filter, const ConvProblem& problem, const std::vector<float>& scale,
                                   bool backward) {
    std::vector<float> result;
    if (is_plain_filter(problem)) {
        const std::span<const float> stored = filter.ref().as<float>();
        result.assign(stored.begin(), stored.end());
    } else {
        const std::vector<double> plain = plain_filter(filter.ref(), problem);
        result.assign(plain.begin(), plain.end());
    }
    const Shape& shape = problem.filter;
    const std::size_t taps = static_cast<std::size_t>(shape[3] * shape[4]);
    if (problem.geometry.flip)
        for (std::size_t at = 0; at < result.size(); at += taps)
            std::reverse(result.begin() + static_cast<std::ptrdiff_t>(at),
                         result.begin() + static_cast<std::ptrdiff_t>(at + taps));
    if (!scale.empty()) {
        std::size_t i = 0;
        for (std::int64_t g = 0; g < shape[0]; ++g)
            for (std::int64_t o = 0; o < shape[1]; ++o)
                for (std::int64_t c = 0; c < shape[2]; ++c) {
                    const float factor = scale[static_cast<std::size_t>(backward ? g * shape[2] + c : g * shape[1] + o)];
                    for (std::size_t t = 0; t < taps; ++t) result[i++] *= factor;
                }
    }
    return result;
}

struct ConvParts {
    ConvProblem problem;
    std::size_t image = 0;  ///< group input
    std::size_t filter = 1; ///< group input
    bool backward = false;
    std::string_view result_layout;
    memory::dims src, weights, dst;
    memory::dims strides, dilates, pads;
    bool winograd = false;
};

std::optional<ConvParts> conv_parts(const CpuGroupView& view) {
    const Opr& opr = view.head();
    ConvParts parts;
    parts.backward = opr.type == "ConvolutionBackwardData";
    if (parts.backward) std::swap(parts.image, parts.filter);
    const CpuValueInfo& image = view.inputs[parts.image];
    const CpuValueInfo& filter = view.inputs[parts.filter];
    const Shape& result = view.outputs[0].shape;
    if (image.dtype.id != DTypeId::float32 || filter.dtype.id != DTypeId::float32) return std::nullopt;
    // The problem is stated as the forward convolution: for backward data, result and image change roles.
    Expected<ConvProblem> problem = conv_problem(conv_settings(opr.param()), parts.backward ? result : image.shape, filter.shape,
                                                 parts.backward ? image.shape : result);
    if (!problem) return std::nullopt;
    parts.problem = *std::move(problem);
    const ConvProblem& p = parts.problem;
    const ConvGeometry& g = p.geometry;
    parts.result_layout = parts.backward ? p.layout.src : p.layout.dst;
    const Expected<Shape> dst = plain_shape(result, parts.result_layout, image_order);
    const Expected<Shape> src = plain_shape(image.shape, parts.backward ? p.layout.dst : p.layout.src, image_order);
    if (!dst || !src || dst->elements() == 0 || src->elements() == 0) return std::nullopt;
    const std::int64_t in = parts.backward ? g.groups * g.ocpg : g.groups * g.icpg;
    const std::int64_t out = parts.backward ? g.groups * g.icpg : g.groups * g.ocpg;
    if ((*src)[1] != in || (*dst)[1] != out) return std::nullopt; // channels that pad a pack
    parts.src = onednn_dims(*src);
    parts.dst = onednn_dims(*dst);
    // oneDNN's deconvolution names the filter's axes from its own view: output channels first.
    const std::int64_t o = parts.backward ? g.icpg : g.ocpg;
    const std::int64_t i = parts.backward ? g.ocpg : g.icpg;
    parts.weights = {o, i, g.axes[1].kernel, g.axes[2].kernel};
    if (g.groups > 1) parts.weights.insert(parts.weights.begin(), g.groups);
    parts.strides = {g.axes[1].stride, g.axes[2].stride};
    parts.dilates = {g.axes[1].dilate - 1, g.axes[2].dilate - 1};
    parts.pads = {g.axes[1].pad, g.axes[2].pad};
    return parts;
}

/// The filter as stored by MegEngine in plain order, seen with oneDNN's axes.
memory::desc stored_weights(const ConvParts& parts) {
    const ConvGeometry& g = parts.problem.geometry;
    const std::int64_t taps = g.axes[1].kernel * g.axes[2].kernel;
    const std::int64_t in_step = taps;
    const std::int64_t out_step = g.icpg * taps;
    memory::dims strides = {parts.backward ? in_step : out_step, parts.backward ? out_step : in_step, g.axes[2].kernel, 1};
    if (g.groups > 1) strides.insert(strides.begin(), g.ocpg * out_step);
    return {parts.weights, memory::data_type::f32, strides};
}

/// The two primitives differ in names only.
struct Primitive {
    dnnl::primitive primitive;
    memory::desc src, weights, bias, dst, scratch;
    std::string name;
};

/// Winograd's algorithm does a third of the multiplications of a 3×3 convolution and rounds a little differently. It pays where
/// there are enough pixels for the weights, which it makes four times as large.
bool suits_winograd(const CpuContext& context, const ConvParts& parts) {
    const ConvGeometry& g = parts.problem.geometry;
    const ConvAxis& h = g.axes[1];
    const ConvAxis& w = g.axes[2];
    const bool shape = h.kernel == 3 && w.kernel == 3 && h.stride == 1 && w.stride == 1 && h.dilate == 1 && w.dilate == 1;
    return context.winograd && !parts.backward && shape && g.groups == 1 && g.icpg >= 64 && g.ocpg >= 64 && g.icpg % 16 == 0 &&
           g.ocpg % 16 == 0 && h.out * w.out >= 144 && parts.problem.layout.src == "NCHW" && parts.result_layout == "NCHW";
}

Primitive make_primitive(const CpuContext& context, const ConvParts& parts, bool with_bias,
                         const dnnl::primitive_attr& attributes) {
    const auto f32 = memory::data_type::f32;
    const auto image = parts.winograd ? memory::format_tag::any : memory::format_tag::nhwc;
    const memory::desc src(parts.src, f32, image);
    const memory::desc dst(parts.dst, f32, image);
    const memory::desc weights(parts.weights, f32, memory::format_tag::any);
    const memory::desc bias = with_bias ? memory::desc({parts.dst[1]}, f32, memory::format_tag::x) : memory::desc();
    const auto inference = dnnl::prop_kind::forward_inference;
    Primitive made;
    const auto take = [&](const auto& pd) {
        made.src = pd.src_desc();
        made.weights = pd.weights_desc();
        made.bias = pd.bias_desc();
        made.dst = pd.dst_desc();
        made.scratch = pd.scratchpad_desc();
        made.name = pd.impl_info_str();
    };
    if (parts.backward) {
        const dnnl::deconvolution_forward::desc desc(inference, dnnl::algorithm::deconvolution_direct, src, weights, bias, dst,
                                                     parts.strides, parts.dilates, parts.pads, parts.pads);
        const dnnl::deconvolution_forward::primitive_desc pd(desc, attributes, context.engine);
        take(pd);
        made.primitive = dnnl::deconvolution_forward(pd);
    } else {
        const auto algorithm = parts.winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
        const dnnl::convolution_forward::desc desc(inference, algorithm, src, weights, bias, dst, parts.strides, parts.dilates,
                                                   parts.pads, parts.pads);
        const dnnl::convolution_forward::primitive_desc pd(desc, attributes, context.engine);
        take(pd);
        made.primitive = dnnl::convolution_forward(pd);
    }
    return made;
}

/// Throws dnnl::error.
CpuKernelChoice build(const CpuContext& context, const CpuGroupView& view, const ConvParts& parts,
                      const OnednnEpilogue& epilogue) {
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(epilogue.post_ops);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const bool with_bias = !epilogue.bias.empty() || epilogue.live_bias >= 0;
    Primitive made = make_primitive(context, parts, with_bias, attributes);

    CpuKernelChoice choice;
    choice.name = made.name;
    auto kernel = std::make_unique<OnednnKernel>(context);
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_layouts.resize(view.inputs.size());
    const ConvLayout& layout = parts.problem.layout;
    const Layout result_layout = parts.winograd ? Layout::blocked(made.dst) : channels_last(parts.result_layout);
    choice.output_layouts = {result_layout};
    const auto read = [&](std::size_t input, const Layout& wanted) {
        choice.input_unused[input] = false;
        choice.input_layouts[input] = wanted;
    };

    read(parts.image, parts.winograd ? Layout::blocked(made.src) : channels_last(parts.backward ? layout.dst : layout.src));
    std::vector<OnednnKernel::Argument> arguments;
    arguments.push_back({DNNL_ARG_SRC, kernel->input(parts.image, made.src)});

    const memory::desc stored = stored_weights(parts);
    if (const std::optional<Tensor>& filter = view.inputs[parts.filter].constant) {
        const auto pack = [&] {
            // A filter that is taken as it is stored is packed from the file itself.
            const bool as_stored = is_plain_filter(parts.problem) && epilogue.scale.empty() && !parts.problem.geometry.flip;
            if (as_stored) return packed_memory(context, stored, filter->bytes().data(), made.weights);
            const std::vector<float> changed = prepared_filter(*filter, parts.problem, epilogue.scale, parts.backward);
            return packed_memory(context, stored, changed.data(), made.weights);
        };
        const auto weights = shared_weights(
            context, PackedWeights::key(view, parts.filter, made.weights, epilogue.scale), pack);
        kernel->hold(weights);
        choice.weight_bytes += made.weights.get_size();
        arguments.push_back({DNNL_ARG_WEIGHTS, *weights});
    } else {
        read(parts.filter, Layout::plain(view.inputs[parts.filter].shape.ndim()));
        memory weights = kernel->input(parts.filter, stored);
        if (made.weights != stored) {
            memory packed = kernel->scratch(made.weights);
            kernel->add(dnnl::reorder(dnnl::reorder::primitive_desc(context.engine, stored, context.engine, made.weights)),
                        {{DNNL_ARG_FROM, weights}, {DNNL_ARG_TO, packed}});
            weights = packed;
        }
        arguments.push_back({DNNL_ARG_WEIGHTS, weights});
    }

    if (epilogue.live_bias >= 0) {
        const auto input = static_cast<std::size_t>(epilogue.live_bias);
        read(input, Layout::plain(view.inputs[input].shape.ndim()));
        arguments.push_back({DNNL_ARG_BIAS, kernel->input(input, made.bias)});
    } else if (with_bias) {
        arguments.push_back({DNNL_ARG_BIAS, owned_memory(context, made.bias, epilogue.bias.data())});
        choice.weight_bytes += made.bias.get_size();
    }
    bind_operands(view, epilogue, result_layout, *kernel, choice, arguments);
    arguments.push_back({DNNL_ARG_DST, kernel->output(0, made.dst)});
    if (made.scratch.get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(made.scratch)});
    kernel->add(made.primitive, arguments);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    return choice;
}

} // namespace

std::optional<CpuKernelChoice> build_convolution(const CpuContext& context, const CpuGroupView& view) {
    const std::string& type = view.head().type;
    if (type != "Convolution" && type != "ConvBiasForward" && type != "ConvolutionBackwardData") return std::nullopt;
    if (!view.group.has_head || view.outputs[0].dtype.id != DTypeId::float32) return std::nullopt;
    const std::optional<ConvParts> parts = conv_parts(view);
    if (!parts) return std::nullopt;
    const bool constant = view.inputs[parts->filter].constant.has_value();
    const std::string_view filter = parts->problem.layout.filter;
    if (!constant && (parts->problem.geometry.flip || (filter != "OIHW" && filter != "GOIHW"))) return std::nullopt;

    OnednnResult result;
    result.dims = parts->dst;
    result.channels = parts->dst[1];
    result.full_desc = memory::desc(parts->dst, memory::data_type::f32, memory::format_tag::nhwc);
    result.allow_scale = constant;
    result.image_input = parts->image;
    try {
        const std::optional<OnednnEpilogue> epilogue = onednn_epilogue(context, view, result);
        if (!epilogue) return std::nullopt;
        if (suits_winograd(context, *parts) && epilogue->operands.empty()) {
            ConvParts winograd = *parts;
            winograd.winograd = true;
            try {
                return build(context, view, winograd, *epilogue);
            } catch (const dnnl::error&) { // not on this processor: directly
            }
        }
        return build(context, view, *parts, *epilogue);
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
