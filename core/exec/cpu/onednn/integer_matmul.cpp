// MatrixMul of int8 numbers into 32-bit sums (QuantizedS8 → QuantizedS32, Int8 → Int32), exact.

#include "exec/cpu/builders.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/cpu/onednn/packed_weights.h"

namespace megascope {
namespace {

using dnnl::memory;

bool is_int8(const DType& dtype) { return dtype.id == DTypeId::qint8 || dtype.id == DTypeId::int8; }

memory::desc matrix(const Shape& shape, bool transposed, memory::data_type type) {
    memory::dims dims = onednn_dims(shape);
    const auto row_major = shape.strides();
    memory::dims strides(row_major.begin(), row_major.begin() + static_cast<std::ptrdiff_t>(shape.ndim()));
    if (transposed) {
        std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
        std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
    }
    return {dims, type, strides};
}

} // namespace

std::optional<CpuKernelChoice> build_integer_matmul(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || (opr.type != "MatrixMul" && opr.type != "BatchedMatrixMul") || !exact_int8())
        return std::nullopt;
    const CpuValueInfo& left = view.inputs[0];
    const CpuValueInfo& right = view.inputs[1];
    const CpuValueInfo& product = view.outputs[0];
    const bool sums = product.dtype.id == DTypeId::qint32 || product.dtype.id == DTypeId::int32;
    if (!is_int8(left.dtype) || !is_int8(right.dtype) || !sums || opr.param().enum_name("format") != "DEFAULT")
        return std::nullopt;
    if (left.shape.ndim() < 2 || left.shape.ndim() != right.shape.ndim() || left.shape.ndim() != product.shape.ndim())
        return std::nullopt;
    if (left.shape.elements() == 0 || right.shape.elements() == 0) return std::nullopt;
    try {
        const memory::desc a = matrix(left.shape, opr.param().boolean("transposeA"), memory::data_type::s8);
        const memory::desc b = matrix(right.shape, opr.param().boolean("transposeB"), memory::data_type::s8);
        const memory::desc c = matrix(product.shape, false, memory::data_type::s32);
        const bool packs = right.constant.has_value();
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::matmul::desc desc(a, packs ? memory::desc(b.dims(), memory::data_type::s8, memory::format_tag::any) : b, c);
        const dnnl::matmul::primitive_desc pd(desc, attributes, context.engine);
        CpuKernelChoice choice;
        choice.input_layouts = {Layout::plain(left.shape.ndim()), Layout::plain(right.shape.ndim())};
        choice.input_unused = {false, packs};
        choice.output_layouts = {Layout::plain(product.shape.ndim())};
        auto kernel = std::make_unique<OnednnKernel>(context);
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(0, a)}};
        if (packs) {
            const auto packed = shared_weights(context, PackedWeights::key(view, 1, pd.weights_desc()), [&] {
                return packed_memory(context, b, right.constant->bytes().data(), pd.weights_desc());
            });
            kernel->hold(packed);
            choice.weight_bytes = pd.weights_desc().get_size();
            arguments.push_back({DNNL_ARG_WEIGHTS, *packed});
        } else {
            arguments.push_back({DNNL_ARG_WEIGHTS, kernel->input(1, b)});
        }
        arguments.push_back({DNNL_ARG_DST, kernel->output(0, c)});
        if (pd.scratchpad_desc().get_size() > 0)
            arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
        kernel->add(dnnl::matmul(pd), arguments);
        choice.scratch_bytes = kernel->scratch_bytes();
        choice.name = std::string(pd.impl_info_str()) + " int8";
        choice.kernel = std::move(kernel);
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
