// ConvolutionBackwardFilter of floats through oneDNN. Images lie as NHWC, whatever MegEngine's format is.

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"

namespace megascope {

using dnnl::memory;

std::optional<CpuKernelChoice> build_filter_gradient(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.inputs.size() < 2) return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& diff = view.inputs[1];
    const CpuValueInfo& grad = view.outputs[0];
    const DType f32 = DTypeId::float32;
    if (src.dtype != f32 || diff.dtype != f32 || grad.dtype != f32) return std::nullopt;
    const Expected<ConvProblem> found = conv_problem(conv_settings(opr.param()), src.shape, grad.shape, diff.shape);
    if (!found) return std::nullopt;
    const ConvProblem& p = *found;
    const ConvGeometry& g = p.geometry;
    if (g.flip || (p.layout.filter != "OIHW" && p.layout.filter != "GOIHW")) return std::nullopt;
    const Expected<Shape> out = plain_shape(diff.shape, p.layout.dst, image_order);
    if (!out || out->elements() == 0 || p.src.elements() == 0 || grad.shape.elements() == 0) return std::nullopt;
    if (p.src[1] != g.groups * g.icpg || (*out)[1] != g.groups * g.ocpg) return std::nullopt; // channels that pad a pack
    try {
        const auto type = memory::data_type::f32;
        memory::dims filter = {g.ocpg, g.icpg, g.axes[1].kernel, g.axes[2].kernel};
        if (g.groups > 1) filter.insert(filter.begin(), g.groups);
        const memory::desc image(onednn_dims(p.src), type, memory::format_tag::nhwc);
        const memory::desc result(onednn_dims(*out), type, memory::format_tag::nhwc);
        const memory::desc any(filter, type, memory::format_tag::any);
        const memory::desc stored(filter, type, g.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
        const memory::dims strides = {g.axes[1].stride, g.axes[2].stride};
        const memory::dims dilates = {g.axes[1].dilate - 1, g.axes[2].dilate - 1};
        const memory::dims pads = {g.axes[1].pad, g.axes[2].pad};
        const auto direct = dnnl::algorithm::convolution_direct;
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::convolution_forward::desc forward_desc(dnnl::prop_kind::forward_training, direct, image, any, result, strides,
                                                           dilates, pads, pads);
        const dnnl::convolution_forward::primitive_desc forward(forward_desc, context.engine);
        const dnnl::convolution_backward_weights::desc desc(direct, image, any, result, strides, dilates, pads, pads);
        const dnnl::convolution_backward_weights::primitive_desc pd(desc, attributes, context.engine, forward);

        CpuKernelChoice choice;
        choice.input_layouts.resize(view.inputs.size());
        choice.input_unused.assign(view.inputs.size(), true);
        choice.input_layouts[0] = channels_last(p.layout.src);
        choice.input_layouts[1] = channels_last(p.layout.dst);
        choice.input_unused[0] = choice.input_unused[1] = false;
        choice.output_layouts = {Layout::plain(grad.shape.ndim())};
        auto kernel = std::make_unique<OnednnKernel>(context);
        const memory to = kernel->output(0, stored);
        const bool moves = pd.diff_weights_desc() != stored;
        const memory weights = moves ? kernel->scratch(pd.diff_weights_desc()) : to;
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(0, image)},
                                                         {DNNL_ARG_DIFF_DST, kernel->input(1, result)},
                                                         {DNNL_ARG_DIFF_WEIGHTS, weights}};
        if (pd.scratchpad_desc().get_size() > 0)
            arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
        kernel->add(dnnl::convolution_backward_weights(pd), arguments);
        if (moves)
            kernel->add(dnnl::reorder(dnnl::reorder::primitive_desc(context.engine, pd.diff_weights_desc(), context.engine, stored)),
                        {{DNNL_ARG_FROM, weights}, {DNNL_ARG_TO, to}});
        choice.scratch_bytes = kernel->scratch_bytes();
        choice.name = pd.impl_info_str();
        choice.kernel = std::move(kernel);
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
