// Elemwise, the quantized modes of ElemwiseMultiType and TypeCvt, of any broadcast and layout: elements are worked on as floats.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/convert.h"
#include "exec/cpu/vector/elemwise_kernel.h"
#include "exec/cpu/vector/formulas.h"
#include "opr/param_registry.h"

namespace megascope {
namespace {

/// The stored order of the result: that of an operand which is as large as the result and would have to be moved otherwise.
Layout result_layout(const CpuGroupView& view) {
    const Shape& out = view.outputs[0].shape;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape == out && !input.layout.is_blocked()) return input.layout;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape.ndim() == out.ndim() && !input.layout.is_blocked() &&
            !input.layout.is_plain(input.shape))
            return input.layout;
    return Layout::plain(out.ndim());
}

bool is_half(const DType& dtype) { return dtype.id == DTypeId::float16 || dtype.id == DTypeId::bfloat16; }

/// Elemwise operators of a group as one program.
std::optional<ElemwiseProgram> elemwise_chain(const CpuGroupView& view) {
    const DType dtype = view.outputs[0].dtype;
    // Half floats are rounded after every operator, so only floats stay unstored between two.
    if (dtype.id != DTypeId::float32 && !(is_half(dtype) && view.group.oprs.size() == 1)) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype != dtype) return std::nullopt;
    ElemwiseProgram program(view.group.inputs.size());
    std::vector<std::pair<VarId, std::size_t>> registers;
    for (std::size_t i = 0; i < view.group.inputs.size(); ++i) registers.emplace_back(view.group.inputs[i], i);
    for (const OprId id : view.group.oprs) {
        const Opr& opr = view.graph.opr(id);
        if (!elemwise_program_supports(opr)) return std::nullopt;
        std::vector<std::size_t> in;
        for (const VarId var : opr.inputs)
            in.push_back(std::ranges::find(registers, var, &std::pair<VarId, std::size_t>::first)->second);
        registers.emplace_back(opr.outputs.front(), program.add(static_cast<ElemwiseMode>(opr.param().integer("mode")), in));
    }
    return program;
}

/// The quantized modes of ElemwiseMultiType (f on real values, then quantized) and its comparisons.
std::optional<ElemwiseProgram> multi_type_formula(const CpuGroupView& view) {
    const std::string name = view.head().param().enum_name("mode");
    const ParamEnum* modes = ParamRegistry::builtin().find_enum("ElemwiseMode");
    const bool compares = name == "EQ" || name == "NEQ" || name == "LT" || name == "LEQ" || name == "ISNAN" || name == "ISINF";
    const bool quantized = name.starts_with('Q') && view.outputs[0].dtype.is_quantized();
    if (!modes || (!compares && !quantized)) return std::nullopt;
    const std::optional<std::int64_t> mode = modes->find(quantized ? std::string_view(name).substr(1) : std::string_view(name));
    if (!mode) return std::nullopt;
    const auto formula = static_cast<ElemwiseMode>(*mode);
    if (!has_float_formula(formula) || view.inputs.size() != elemwise_arity(formula)) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (quantized ? !input.dtype.is_quantized() : input.dtype.id == DTypeId::int32 || input.dtype.is_quantized())
            return std::nullopt;
    ElemwiseProgram program(view.inputs.size());
    std::vector<std::size_t> in(view.inputs.size());
    std::iota(in.begin(), in.end(), std::size_t{0});
    program.add(formula, in);
    return program;
}

/// x^e with the exponents that MegEngine computes without pow. The registers are x and, where it is needed, a number.
std::optional<ElemwiseProgram> power(const CpuGroupView& view, std::vector<float>& numbers) {
    using enum ElemwiseMode;
    if (view.inputs[0].dtype.id != DTypeId::float32 || view.outputs[0].dtype.id != DTypeId::float32) return std::nullopt;
    const auto exponent = static_cast<float>(view.head().param().real("exp"));
    const bool inverse = exponent == -1 || exponent == -2 || exponent == -0.5F;
    ElemwiseProgram program(2);
    const auto apply = [&](ElemwiseMode mode, std::vector<std::size_t> in) { return program.add(mode, in); };
    numbers = {inverse ? 1.0F : exponent};
    const float magnitude = std::abs(exponent);
    std::size_t result = 0;
    if (magnitude == 2)
        result = apply(square, {0});
    else if (magnitude == 0.5F)
        result = apply(ElemwiseMode::sqrt, {0});
    else if (exponent == 3)
        result = apply(mul, {apply(square, {0}), 0});
    else if (exponent != 1 && exponent != -1)
        result = apply(ElemwiseMode::pow, {0, 1});
    if (inverse) apply(true_div, {1, result});
    return program;
}

/// TypeCvt is a program without formulas.
std::optional<ElemwiseProgram> conversion(const CpuGroupView& view) {
    const DType from = view.inputs[0].dtype;
    const DType to = view.outputs[0].dtype;
    // Not every int32 is a float: what must stay exact goes another way.
    if (from.id == DTypeId::int32 && (to.is_integer() || to.id == DTypeId::bfloat16)) return std::nullopt;
    return ElemwiseProgram(1);
}

/// `numbers` are further operands of one element each.
std::optional<ElemwiseProgram> program_of(const CpuGroupView& view, std::vector<float>& numbers) {
    const std::string& type = view.head().type;
    if (type == "PowC" && view.group.oprs.size() == 1) return power(view, numbers);
    if (type == "Elemwise") return elemwise_chain(view);
    if (view.group.oprs.size() != 1) return std::nullopt;
    if (type == "ElemwiseMultiType") return multi_type_formula(view);
    if (type == "TypeCvt") return conversion(view);
    return std::nullopt;
}

} // namespace

std::optional<CpuKernelChoice> build_elemwise(const CpuContext& context, const CpuGroupView& view) {
    if (view.outputs.size() != 1 || view.inputs.empty() || view.inputs.size() > max_elemwise_inputs) return std::nullopt;
    if (!floats_storable(view.outputs[0].dtype)) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs)
        if (!floats_loadable(input.dtype)) return std::nullopt;
    std::vector<float> numbers;
    std::optional<ElemwiseProgram> program = program_of(view, numbers);
    if (!program) return std::nullopt;
    program->finish();

    const CpuValueInfo& result = view.outputs[0];
    const Shape& out = result.shape;
    CpuKernelChoice choice;
    const Layout layout = result_layout(view);
    choice.output_layouts = {layout};
    std::vector<StridedOperand> operands;
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
        const CpuValueInfo& input = view.inputs[i];
        const std::optional<Shape> joined = broadcast(input.shape, out);
        if (!joined || *joined != out) return std::nullopt;
        // Small operands are read where they are; large ones in the result's order.
        const bool large = input.shape.ndim() == out.ndim() &&
                           (input.constant || input.layout.is_blocked() || input.shape.elements() * 4 > out.elements());
        const Layout wanted = large ? layout : input.layout.is_blocked() ? Layout::plain(input.shape.ndim()) : input.layout;
        choice.input_layouts.push_back(wanted);
        operands.push_back({input.shape, wanted});
        dtypes.push_back(input.dtype);
        const bool fits = input.shape == out && input.dtype.bits() == result.dtype.bits() && wanted.same_bytes(layout, out);
        if (choice.in_place_input < 0 && input.dies && fits) choice.in_place_input = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        operands.push_back({Shape{1}, Layout::plain(1)});
        dtypes.emplace_back(DTypeId::float32);
    }
    auto kernel = std::make_unique<ElemwiseKernel>(context.threads, *std::move(program), StridedLoop(out, layout, operands),
                                                   std::move(dtypes), result.dtype, std::move(numbers));
    choice.scratch_bytes = kernel->scratch_per_thread() * static_cast<std::size_t>(context.threads.count());
    choice.kernel = std::move(kernel);
    choice.name =
        view.group.oprs.size() > 1 ? "one pass over " + std::to_string(view.group.oprs.size()) + " operators" : "vector loop";
    return choice;
}

} // namespace megascope
