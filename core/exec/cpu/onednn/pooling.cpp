// Pooling and AdaptivePooling of floats through oneDNN, in NHWC.

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/cpu/pooling_windows.h"

namespace megascope {
namespace {

using dnnl::algorithm;
using dnnl::memory;

algorithm pooling_algorithm(PoolingMode mode) {
    switch (mode) {
    case PoolingMode::maximum: return algorithm::pooling_max;
    case PoolingMode::average: return algorithm::pooling_avg_include_padding;
    case PoolingMode::average_without_padding: break;
    }
    return algorithm::pooling_avg_exclude_padding;
}

} // namespace

std::optional<CpuKernelChoice> build_pooling(const CpuContext& context, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1 || view.inputs[0].dtype.id != DTypeId::float32) return std::nullopt;
    const std::optional<PoolingWindows> windows = pooling_windows(view.head(), view.inputs[0].shape, view.outputs[0].shape);
    if (!windows) return std::nullopt;
    const auto dims = [](const std::array<std::int64_t, 2>& sizes) { return memory::dims{sizes[0], sizes[1]}; };
    try {
        const memory::desc from(onednn_dims(windows->src), memory::data_type::f32, memory::format_tag::nhwc);
        const memory::desc to(onednn_dims(windows->dst), memory::data_type::f32, memory::format_tag::nhwc);
        const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference, pooling_algorithm(windows->mode), from, to,
                                               dims(windows->stride), dims(windows->size), dims(windows->pad),
                                               dims(windows->pad));
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::pooling_forward::primitive_desc pd(desc, attributes, context.engine);
        auto kernel = std::make_unique<OnednnKernel>(context);
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(0, from)},
                                                         {DNNL_ARG_DST, kernel->output(0, to)}};
        if (pd.scratchpad_desc().get_size() > 0)
            arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
        kernel->add(dnnl::pooling_forward(pd), arguments);
        CpuKernelChoice choice;
        choice.input_layouts.assign(view.inputs.size(), channels_last(windows->letters));
        choice.input_unused.assign(view.inputs.size(), true);
        choice.input_unused[0] = false;
        choice.output_layouts = {channels_last(windows->letters)};
        choice.scratch_bytes = kernel->scratch_bytes();
        choice.name = pd.impl_info_str();
        choice.kernel = std::move(kernel);
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
