// Elemwise, the quantized modes of ElemwiseMultiType and TypeCvt, of any broadcast and layout: elements are worked on as floats.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/convert.h"
#include "exec/cpu/vector/elemwise_program.h"
#include "exec/cpu/vector/formulas.h"
#include "exec/cpu/vector/strided_loop.h"
#include "opr/param_registry.h"

namespace megascope {
namespace {

constexpr std::size_t max_elemwise_inputs = 4 * max_elemwise_program;

class ElemwiseKernel final : public CpuKernel {
public:
    ElemwiseKernel(const CpuThreads& threads, ElemwiseProgram program, StridedLoop loop, std::vector<DType> inputs, DType output)
        : threads_(threads), program_(std::move(program)), loop_(std::move(loop)), inputs_(std::move(inputs)), output_(output) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override;

    /// Intermediate values, one tile per operand, one for the result before it is stored.
    std::size_t scratch_per_thread() const { return (program_.temporaries() + (loop_.operands() + 1) * ElemwiseProgram::tile) * sizeof(float); }

private:
    void run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, std::byte* out, float* temporary) const;
    void gather(std::size_t operand, const std::byte* from, std::int64_t step, float* to, std::size_t count) const;

    const CpuThreads threads_;
    ElemwiseProgram program_;
    StridedLoop loop_;
    std::vector<DType> inputs_;
    DType output_;
};

Expected<void> ElemwiseKernel::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) {
    constexpr std::size_t tile = ElemwiseProgram::tile;
    if (loop_.run_length() == 0) return {};
    const std::size_t chunks = loop_.runs() * ((loop_.run_length() + tile - 1) / tile);
    const std::size_t grain = std::max<std::size_t>(1, 8192 / std::min(tile, loop_.run_length()));
    const std::size_t stride = scratch_per_thread();
    threads_.parallel_for(chunks, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
        run_piece(begin, end, inputs, outputs[0], reinterpret_cast<float*>(scratch + piece * stride));
    });
    return {};
}

/// Elements that lie `step` apart.
void ElemwiseKernel::gather(std::size_t operand, const std::byte* from, std::int64_t step, float* to, std::size_t count) const {
    const std::size_t size = inputs_[operand].bits() / 8;
    std::array<std::byte, ElemwiseProgram::tile * sizeof(float)> together;
    const auto bytes = static_cast<std::ptrdiff_t>(size) * step;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(together.data() + i * size, from + static_cast<std::ptrdiff_t>(i) * bytes, size);
    load_floats(inputs_[operand], together.data(), to, count);
}

void ElemwiseKernel::run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, std::byte* out, float* temporary) const {
    constexpr std::size_t tile = ElemwiseProgram::tile;
    const std::size_t operands = loop_.operands();
    const std::size_t length = loop_.run_length();
    const std::size_t chunks_per_run = (length + tile - 1) / tile;
    const std::size_t out_size = output_.bits() / 8;
    const bool direct = output_.id == DTypeId::float32;
    float* filled = temporary + program_.temporaries();
    float* result = filled + operands * tile;
    std::array<const float*, max_elemwise_inputs> pointers;
    std::array<std::int64_t, max_elemwise_inputs> offsets;
    std::array<std::int64_t, max_elemwise_inputs> filled_from;
    filled_from.fill(-1);
    std::size_t run = SIZE_MAX;
    for (std::size_t chunk = begin; chunk < end; ++chunk) {
        if (chunk / chunks_per_run != run) {
            run = chunk / chunks_per_run;
            loop_.offsets(run, std::span(offsets).first(operands));
        }
        const std::size_t at = chunk % chunks_per_run * tile;
        const std::size_t count = std::min(tile, length - at);
        for (std::size_t k = 0; k < operands; ++k) {
            const std::int64_t step = loop_.step(k);
            const auto size = static_cast<std::ptrdiff_t>(inputs_[k].bits() / 8);
            const std::byte* from = inputs[k] + (offsets[k] + static_cast<std::int64_t>(at) * step) * size;
            float* buffer = filled + k * tile;
            pointers[k] = buffer;
            if (step == 1 && inputs_[k].id == DTypeId::float32) {
                pointers[k] = reinterpret_cast<const float*>(from);
            } else if (step == 1) {
                load_floats(inputs_[k], from, buffer, count);
            } else if (step == 0) {
                if (filled_from[k] == offsets[k]) continue;
                load_floats(inputs_[k], from, buffer, 1);
                std::fill_n(buffer, std::min(tile, length), *buffer);
                filled_from[k] = offsets[k];
            } else {
                gather(k, from, step, buffer, count);
            }
        }
        std::byte* to = out + (run * length + at) * out_size;
        if (program_.empty()) {
            store_floats(output_, pointers[0], to, count);
            continue;
        }
        float* computed = direct ? reinterpret_cast<float*>(to) : result;
        program_.run(pointers.data(), computed, count, temporary);
        if (!direct) store_floats(output_, computed, to, count);
    }
}

/// The stored order of the result: that of an operand which is as large as the result and would have to be moved otherwise.
Layout result_layout(const CpuGroupView& view) {
    const Shape& out = view.outputs[0].shape;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape == out && !input.layout.is_blocked()) return input.layout;
    for (const CpuValueInfo& input : view.inputs)
        if (!input.constant && input.shape.ndim() == out.ndim() && !input.layout.is_blocked() && !input.layout.is_plain(input.shape)) return input.layout;
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
        for (const VarId var : opr.inputs) in.push_back(std::ranges::find(registers, var, &std::pair<VarId, std::size_t>::first)->second);
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
        if (quantized ? !input.dtype.is_quantized() : input.dtype.id == DTypeId::int32 || input.dtype.is_quantized()) return std::nullopt;
    ElemwiseProgram program(view.inputs.size());
    std::vector<std::size_t> in(view.inputs.size());
    std::iota(in.begin(), in.end(), std::size_t{0});
    program.add(formula, in);
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

std::optional<ElemwiseProgram> program_of(const CpuGroupView& view) {
    const std::string& type = view.head().type;
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
    std::optional<ElemwiseProgram> program = program_of(view);
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
    auto kernel = std::make_unique<ElemwiseKernel>(context.threads, *std::move(program), StridedLoop(out, layout, operands), std::move(dtypes), result.dtype);
    choice.scratch_bytes = kernel->scratch_per_thread() * static_cast<std::size_t>(context.threads.count());
    choice.kernel = std::move(kernel);
    choice.name = view.group.oprs.size() > 1 ? "one pass over " + std::to_string(view.group.oprs.size()) + " operators" : "vector loop";
    return choice;
}

} // namespace megascope
