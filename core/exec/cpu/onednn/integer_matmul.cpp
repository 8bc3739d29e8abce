// MatrixMul of 8-bit numbers: exact sums by oneDNN (QuantizedS8 → QuantizedS32, Int8 → Int32; Quantized8Asymm with a constant).

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/onednn/integer_conv_kernel.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/reference/conv_problem.h"

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

/// A as oneDNN reads it, and the constant B in the form that its kernel wants.
struct Operands {
    memory::desc a, b, c;
    bool packs = false;
    std::vector<std::int8_t> weights; ///< of a constant B, as stored, moved to signed bytes
};

/// Products with unsigned bytes: oneDNN sums them without floats on the way, and zero points are corrected afterwards (see
/// IntegerConvPlan). For two matrices, A not transposed, B constant.
IntegerConvPlan unsigned_plan(const DType& left, const Shape& a, int right_zero, const Operands& operands) {
    const bool flips = left.id != DTypeId::quint8;
    const std::int32_t zero = flips ? 128 : left.zero_point;
    const std::int64_t rows = a[0];
    const std::int64_t terms = a[1];
    const auto columns = static_cast<std::size_t>(operands.b.dims()[1]);
    IntegerConvPlan plan;
    plan.channels = columns;
    plan.pixels = static_cast<std::size_t>(rows);
    if (flips) plan.padded = BytePadding{1, rows, 1, terms, 0, 0, 0x80, 0};
    plan.window_factor = 128 - right_zero;
    if (plan.window_factor != 0) {
        ByteWindowSums sums{1, rows, 1, 1, terms, {}, {}};
        sums.h.out = rows;
        plan.windows = sums;
    }
    plan.offset.resize(columns);
    const auto steps = operands.b.data.format_desc.blocking.strides;
    for (std::size_t c = 0; c < columns; ++c) {
        std::int64_t sum = 0;
        for (std::int64_t t = 0; t < terms; ++t)
            sum += operands.weights[static_cast<std::size_t>(t * steps[0] + static_cast<std::int64_t>(c) * steps[1])] + plan.window_factor;
        plan.offset[c] = static_cast<std::int32_t>(-zero * sum);
    }
    return plan;
}

/// The largest |sum| over a column of B.
std::int64_t largest_sum(const Operands& operands, std::int64_t terms, std::int64_t columns) {
    if (operands.weights.empty() || operands.b.dims().size() != 2) return 255 * 128 * terms;
    const auto steps = operands.b.data.format_desc.blocking.strides;
    std::vector<std::int8_t> by_column;
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t t = 0; t < terms; ++t)
            by_column.push_back(operands.weights[static_cast<std::size_t>(t * steps[0] + c * steps[1])]);
    return largest_byte_sum(by_column, static_cast<std::size_t>(terms));
}

/// Throws dnnl::error.
std::optional<CpuKernelChoice> build(const CpuContext& context, const CpuGroupView& view, const IntegerFinish& finish) {
    const CpuValueInfo& left = view.inputs[0];
    const CpuValueInfo& right = view.inputs[1];
    const CpuValueInfo& product = view.outputs[0];
    const bool asymmetric = left.dtype.id == DTypeId::quint8;
    const bool transposed = view.head().param().boolean("transposeA");
    const auto s8 = memory::data_type::s8;
    Operands operands;
    operands.a = matrix(left.shape, transposed, s8);
    operands.b = matrix(right.shape, view.head().param().boolean("transposeB"), s8);
    operands.c = matrix(product.shape, false, memory::data_type::s32);
    operands.packs = right.constant.has_value();
    if (operands.packs) {
        const auto bytes = right.constant->bytes();
        const std::uint8_t flip = asymmetric ? 0x80 : 0; // b - 128
        operands.weights.resize(bytes.size());
        std::ranges::transform(bytes, operands.weights.begin(), [flip](std::byte b) {
            return static_cast<std::int8_t>(static_cast<std::uint8_t>(b) ^ flip);
        });
    }
    const std::int64_t terms = operands.a.dims().back();
    const bool is_unsigned = asymmetric || largest_sum(operands, terms, operands.b.dims().back()) > exact_float_sums;
    if (is_unsigned && (transposed || !operands.packs || left.shape.ndim() != 2)) return std::nullopt;
    if (is_unsigned) operands.a = memory::desc(operands.a.dims(), memory::data_type::u8, memory::format_tag::ab);

    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc wanted = operands.packs ? memory::desc(operands.b.dims(), s8, memory::format_tag::any) : operands.b;
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(operands.a, wanted, operands.c), attributes, context.engine);
    if (is_unsigned && !std::string_view(pd.impl_info_str()).starts_with("brg")) return std::nullopt;

    CpuKernelChoice choice;
    choice.input_layouts = {Layout::plain(left.shape.ndim()), Layout::plain(right.shape.ndim())};
    choice.input_unused = {false, operands.packs};
    choice.output_layouts = {Layout::plain(product.shape.ndim())};
    auto sums = std::make_unique<OnednnKernel>(context);
    std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, sums->input(0, operands.a)}};
    if (operands.packs) {
        const auto packed = shared_weights(context, PackedWeights::key(view, 1, pd.weights_desc()), [&] {
            return packed_memory(context, operands.b, operands.weights.data(), pd.weights_desc());
        });
        sums->hold(packed);
        choice.weight_bytes = pd.weights_desc().get_size();
        arguments.push_back({DNNL_ARG_WEIGHTS, *packed});
    } else {
        arguments.push_back({DNNL_ARG_WEIGHTS, sums->input(1, operands.b)});
    }
    arguments.push_back({DNNL_ARG_DST, sums->output(0, operands.c)});
    if (pd.scratchpad_desc().get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, sums->scratch(pd.scratchpad_desc())});
    sums->add(dnnl::matmul(pd), arguments);
    choice.name = std::string(pd.impl_info_str()) + (asymmetric ? " uint8" : " int8");
    if (!is_unsigned) {
        if (!finish.stores_sums()) return std::nullopt;
        choice.scratch_bytes = sums->scratch_bytes();
        choice.kernel = std::move(sums);
        return choice;
    }
    IntegerConvPlan plan = unsigned_plan(left.dtype, left.shape, asymmetric ? right.dtype.zero_point : 128, operands);
    choice.weight_bytes += plan.offset.size() * sizeof(std::int32_t);
    auto kernel = std::make_unique<IntegerConvKernel>(context, std::move(sums), std::move(plan), finish);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    return choice;
}

} // namespace

std::optional<CpuKernelChoice> build_integer_matmul(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || (opr.type != "MatrixMul" && opr.type != "BatchedMatrixMul") || !exact_int8())
        return std::nullopt;
    const CpuValueInfo& left = view.inputs[0];
    const CpuValueInfo& right = view.inputs[1];
    const CpuValueInfo& product = view.outputs[0];
    const bool asymmetric = left.dtype.id == DTypeId::quint8 && right.dtype.id == DTypeId::quint8;
    if (!asymmetric && (!is_int8(left.dtype) || !is_int8(right.dtype))) return std::nullopt;
    if (opr.param().enum_name("format") != "DEFAULT") return std::nullopt;
    if (left.shape.ndim() < 2 || left.shape.ndim() != right.shape.ndim() || left.shape.ndim() != product.shape.ndim())
        return std::nullopt;
    if (left.shape.elements() == 0 || right.shape.elements() == 0) return std::nullopt;
    const std::optional<IntegerFinish> finish = IntegerFinish::of(view, product_scale(left.dtype, right.dtype));
    if (!finish) return std::nullopt;
    try {
        return build(context, view, *finish);
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
