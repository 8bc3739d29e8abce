// Convolution3D and Convolution3DBackwardData of floats through oneDNN. Volumes lie as NDHWC, whatever MegEngine's format is.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv3d_problem.h"
#include "exec/reference/numbers.h"

namespace megascope {
namespace {

using dnnl::memory;

/// A constant filter in plain order, mirrored where the operator mirrors it.
std::vector<float> prepared_filter(const Tensor& filter, const Conv3dProblem& p) {
    const std::vector<double> plain = unpack(to_numbers(filter.ref()), filter.shape(), p.filter, filter3d_order);
    std::vector<float> result(plain.begin(), plain.end());
    const auto taps = static_cast<std::ptrdiff_t>(p.geometry.taps());
    if (p.geometry.flip)
        for (auto at = result.begin(); at != result.end(); at += taps) std::reverse(at, at + taps);
    return result;
}

/// The filter in MegEngine's plain order, seen with oneDNN's axes: output channels of the primitive first.
memory::desc stored_weights(const ConvGeometry& g, bool backward) {
    memory::dims dims = {backward ? g.icpg : g.ocpg, backward ? g.ocpg : g.icpg};
    memory::dims strides = {backward ? g.taps() : g.icpg * g.taps(), backward ? g.icpg * g.taps() : g.taps()};
    std::int64_t step = g.taps();
    for (const ConvAxis& axis : g.axes) {
        step /= axis.kernel;
        dims.push_back(axis.kernel);
        strides.push_back(step);
    }
    if (g.groups > 1) {
        dims.insert(dims.begin(), g.groups);
        strides.insert(strides.begin(), g.ocpg * g.icpg * g.taps());
    }
    return {dims, memory::data_type::f32, strides};
}

/// Throws dnnl::error.
std::optional<CpuKernelChoice> build(const CpuContext& context, const CpuGroupView& view, const Conv3dProblem& p, bool backward) {
    const ConvGeometry& g = p.geometry;
    const auto f32 = memory::data_type::f32;
    const std::size_t image = backward ? 1 : 0;
    const std::size_t filter = backward ? 0 : 1;
    const memory::desc src(onednn_dims(backward ? p.dst : p.src), f32, memory::format_tag::ndhwc);
    const memory::desc dst(onednn_dims(backward ? p.src : p.dst), f32, memory::format_tag::ndhwc);
    const memory::desc stored = stored_weights(g, backward);
    const memory::desc any(stored.dims(), f32, memory::format_tag::any);
    memory::dims strides, dilates, pads;
    for (const ConvAxis& axis : g.axes) {
        strides.push_back(axis.stride);
        dilates.push_back(axis.dilate - 1);
        pads.push_back(axis.pad);
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto inference = dnnl::prop_kind::forward_inference;
    dnnl::primitive primitive;
    memory::desc weights, scratch;
    std::string name;
    const auto take = [&](const auto& pd) {
        weights = pd.weights_desc();
        scratch = pd.scratchpad_desc();
        name = pd.impl_info_str();
    };
    if (backward) {
        const dnnl::deconvolution_forward::primitive_desc pd(
            dnnl::deconvolution_forward::desc(inference, dnnl::algorithm::deconvolution_direct, src, any, dst, strides, dilates, pads, pads),
            attributes, context.engine);
        take(pd);
        primitive = dnnl::deconvolution_forward(pd);
    } else {
        const dnnl::convolution_forward::primitive_desc pd(
            dnnl::convolution_forward::desc(inference, dnnl::algorithm::convolution_direct, src, any, dst, strides, dilates, pads, pads),
            attributes, context.engine);
        take(pd);
        primitive = dnnl::convolution_forward(pd);
    }
    if (name.starts_with("ref")) return std::nullopt;

    CpuKernelChoice choice;
    choice.name = name;
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_layouts.resize(view.inputs.size());
    choice.input_unused[image] = false;
    choice.input_layouts[image] = channels_last(p.image);
    choice.output_layouts = {channels_last(p.image)};
    auto kernel = std::make_unique<OnednnKernel>(context);
    std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(image, src)}};
    if (const std::optional<Tensor>& constant = view.inputs[filter].constant) {
        const auto packed = shared_weights(context, PackedWeights::key(view, filter, weights), [&] {
            return packed_memory(context, stored, prepared_filter(*constant, p).data(), weights);
        });
        kernel->hold(packed);
        choice.weight_bytes = weights.get_size();
        arguments.push_back({DNNL_ARG_WEIGHTS, *packed});
    } else {
        choice.input_unused[filter] = false;
        choice.input_layouts[filter] = Layout::plain(view.inputs[filter].shape.ndim());
        memory used = kernel->input(filter, stored);
        if (weights != stored) {
            memory packed = kernel->scratch(weights);
            kernel->add(dnnl::reorder(dnnl::reorder::primitive_desc(context.engine, stored, context.engine, weights)),
                        {{DNNL_ARG_FROM, used}, {DNNL_ARG_TO, packed}});
            used = packed;
        }
        arguments.push_back({DNNL_ARG_WEIGHTS, used});
    }
    arguments.push_back({DNNL_ARG_DST, kernel->output(0, dst)});
    if (scratch.get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(scratch)});
    kernel->add(primitive, arguments);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    return choice;
}

} // namespace

std::optional<CpuKernelChoice> build_convolution3d(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.inputs.size() < 2) return std::nullopt;
    const bool backward = opr.type == "Convolution3DBackwardData";
    const CpuValueInfo& image = view.inputs[backward ? 1 : 0];
    const CpuValueInfo& filter = view.inputs[backward ? 0 : 1];
    const CpuValueInfo& result = view.outputs[0];
    for (const CpuValueInfo* value : {&image, &filter, &result})
        if (value->dtype.id != DTypeId::float32 || value->shape.elements() == 0) return std::nullopt;
    const Expected<Conv3dProblem> problem =
        conv3d_problem(opr.param(), backward ? result.shape : image.shape, filter.shape, backward ? image.shape : result.shape);
    if (!problem) return std::nullopt;
    const bool as_stored = problem->filter == "OIDHW" || problem->filter == "GOIDHW";
    if (!filter.constant && (problem->geometry.flip || !as_stored)) return std::nullopt;
    try {
        return build(context, view, *problem, backward);
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
