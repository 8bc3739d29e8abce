// MatrixMul and BatchedMatrixMul of floats through oneDNN.

#include "exec/cpu/builders.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/cpu/onednn/post_ops.h"

namespace megascope {
namespace {

using dnnl::memory;

/// The matrix as the multiplication sees it: its last two axes exchanged when it is transposed.
memory::desc matrix_desc(const Shape& shape, bool transposed) {
    memory::dims dims = onednn_dims(shape);
    const auto row_major = shape.strides();
    memory::dims strides(row_major.begin(), row_major.begin() + static_cast<std::ptrdiff_t>(shape.ndim()));
    if (transposed) {
        std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
        std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
    }
    return {dims, memory::data_type::f32, strides};
}

CpuKernelChoice build(const CpuContext& context, const CpuGroupView& view, const memory::desc& a, const memory::desc& b,
                      const memory::desc& c, const OnednnEpilogue& epilogue) {
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(epilogue.post_ops);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    memory::dims bias_dims(static_cast<std::size_t>(c.data.ndims), 1);
    bias_dims.back() = c.dims().back();
    memory::dims bias_strides(bias_dims.size(), bias_dims.back());
    bias_strides.back() = 1;
    const bool with_bias = !epilogue.bias.empty() || epilogue.live_bias >= 0;
    const memory::desc bias = with_bias ? memory::desc(bias_dims, memory::data_type::f32, bias_strides) : memory::desc();
    const bool packs = view.inputs[1].constant.has_value();
    const memory::desc packed(b.dims(), memory::data_type::f32, memory::format_tag::any);
    const memory::desc& b_wanted = packs ? packed : b;
    const dnnl::matmul::desc desc = with_bias ? dnnl::matmul::desc(a, b_wanted, bias, c) : dnnl::matmul::desc(a, b_wanted, c);
    const dnnl::matmul::primitive_desc pd(desc, attributes, context.engine);

    CpuKernelChoice choice;
    choice.name = pd.impl_info_str();
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_layouts.resize(view.inputs.size());
    const Layout result_layout = Layout::plain(view.outputs[0].shape.ndim());
    choice.output_layouts = {result_layout};
    auto kernel = std::make_unique<OnednnKernel>(context);
    const auto read = [&](std::size_t input) {
        choice.input_unused[input] = false;
        choice.input_layouts[input] = Layout::plain(view.inputs[input].shape.ndim());
    };
    std::vector<OnednnKernel::Argument> arguments;
    read(0);
    arguments.push_back({DNNL_ARG_SRC, kernel->input(0, a)});
    if (packs) {
        const auto weights = shared_weights(context, PackedWeights::key(view, 1, pd.weights_desc()), [&] {
            return packed_memory(context, b, view.inputs[1].constant->bytes().data(), pd.weights_desc());
        });
        kernel->hold(weights);
        choice.weight_bytes += pd.weights_desc().get_size();
        arguments.push_back({DNNL_ARG_WEIGHTS, *weights});
    } else {
        read(1);
        arguments.push_back({DNNL_ARG_WEIGHTS, kernel->input(1, b)});
    }
    if (epilogue.live_bias >= 0) {
        read(static_cast<std::size_t>(epilogue.live_bias));
        arguments.push_back({DNNL_ARG_BIAS, kernel->input(static_cast<std::size_t>(epilogue.live_bias), bias)});
    } else if (with_bias) {
        arguments.push_back({DNNL_ARG_BIAS, owned_memory(context, bias, epilogue.bias.data())});
        choice.weight_bytes += bias.get_size();
    }
    bind_operands(view, epilogue, result_layout, *kernel, choice, arguments);
    arguments.push_back({DNNL_ARG_DST, kernel->output(0, c)});
    if (pd.scratchpad_desc().get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
    kernel->add(dnnl::matmul(pd), arguments);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    return choice;
}

} // namespace

std::optional<CpuKernelChoice> build_matmul(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (!view.group.has_head || (opr.type != "MatrixMul" && opr.type != "BatchedMatrixMul")) return std::nullopt;
    const CpuValueInfo& left = view.inputs[0];
    const CpuValueInfo& right = view.inputs[1];
    const CpuValueInfo& product = view.outputs[0];
    const DType f32 = DTypeId::float32;
    if (left.dtype != f32 || right.dtype != f32 || product.dtype != f32) return std::nullopt;
    if (left.shape.ndim() < 2 || left.shape.ndim() != right.shape.ndim() || left.shape.ndim() != product.shape.ndim())
        return std::nullopt;
    const memory::desc a = matrix_desc(left.shape, opr.param().boolean("transposeA"));
    const memory::desc b = matrix_desc(right.shape, opr.param().boolean("transposeB"));
    const memory::desc c = matrix_desc(product.shape, false);
    if (left.shape.elements() == 0 || right.shape.elements() == 0 || product.shape.elements() == 0) return std::nullopt;

    OnednnResult result;
    result.dims = c.dims();
    result.channel_axis = result.dims.size() - 1;
    result.channels = result.dims.back();
    result.full_desc = c;
    result.allow_scale = false;
    try {
        const std::optional<OnednnEpilogue> epilogue = onednn_epilogue(context, view, result);
        if (!epilogue) return std::nullopt;
        return build(context, view, a, b, c, *epilogue);
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
