// Pooling and AdaptivePooling of floats through oneDNN, in NHWC.

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_layout.h"

namespace megascope {
namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Windows {
    memory::dims kernel, strides, pads;
};

/// AdaptivePooling: stride = floor(in / out), window = in - (out - 1) * stride.
Windows adaptive_windows(const Shape& src, const Shape& dst) {
    Windows w{{}, {}, {0, 0}};
    for (std::size_t axis = 2; axis < 4; ++axis) {
        const std::int64_t stride = src[axis] / dst[axis];
        w.strides.push_back(stride);
        w.kernel.push_back(src[axis] - (dst[axis] - 1) * stride);
    }
    return w;
}

std::optional<algorithm> pooling_algorithm(const std::string& mode) {
    if (mode == "MAX") return algorithm::pooling_max;
    if (mode == "AVERAGE") return algorithm::pooling_avg_include_padding;
    if (mode == "AVERAGE_COUNT_EXCLUDE_PADDING") return algorithm::pooling_avg_exclude_padding;
    return std::nullopt;
}

} // namespace

std::optional<CpuKernelChoice> build_pooling(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    const bool adaptive = opr.type == "AdaptivePooling";
    if (view.group.oprs.size() != 1 || (opr.type != "Pooling" && !adaptive)) return std::nullopt;
    if (view.inputs[0].dtype.id != DTypeId::float32) return std::nullopt;
    const Expected<std::string_view> letters = image_layout(static_cast<ConvFormat>(opr.param().integer("format")));
    if (!letters) return std::nullopt;
    const Expected<Shape> src = plain_shape(view.inputs[0].shape, *letters, image_order);
    const Expected<Shape> dst = plain_shape(view.outputs[0].shape, *letters, image_order);
    const std::optional<algorithm> kind = pooling_algorithm(opr.param().enum_name("mode"));
    if (!src || !dst || !kind || src->elements() == 0 || dst->elements() == 0) return std::nullopt;
    Windows w;
    if (adaptive) {
        w = adaptive_windows(*src, *dst);
    } else {
        const Param& p = opr.param();
        w = {{p.integer("window_h"), p.integer("window_w")}, {p.integer("stride_h"), p.integer("stride_w")}, {p.integer("pad_h"), p.integer("pad_w")}};
    }
    // A window wholly in the padding has no maximum and no average; the plain kernel says what then.
    if (w.pads[0] >= w.kernel[0] || w.pads[1] >= w.kernel[1]) return std::nullopt;
    try {
        const memory::desc from(onednn_dims(*src), memory::data_type::f32, memory::format_tag::nhwc);
        const memory::desc to(onednn_dims(*dst), memory::data_type::f32, memory::format_tag::nhwc);
        const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference, *kind, from, to, w.strides, w.kernel, w.pads, w.pads);
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::pooling_forward::primitive_desc pd(desc, attributes, context.engine);
        auto kernel = std::make_unique<OnednnKernel>(context);
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(0, from)}, {DNNL_ARG_DST, kernel->output(0, to)}};
        if (pd.scratchpad_desc().get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
        kernel->add(dnnl::pooling_forward(pd), arguments);
        CpuKernelChoice choice;
        choice.input_layouts.assign(view.inputs.size(), channels_last(*letters));
        choice.input_unused.assign(view.inputs.size(), true);
        choice.input_unused[0] = false;
        choice.output_layouts = {channels_last(*letters)};
        choice.scratch_bytes = kernel->scratch_bytes();
        choice.name = pd.impl_info_str();
        choice.kernel = std::move(kernel);
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
