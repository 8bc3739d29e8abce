#include "exec/cpu/facts.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "exec/constants.h"
#include "exec/forward.h"
#include "exec/reference/kernel_table.h"
#include "opr/infer.h"

namespace megascope {
namespace {

constexpr std::size_t max_host_elements = 64;
/// Folding runs plain loops while the user waits: only for results of this size.
constexpr std::size_t max_folded_elements = std::size_t{1} << 22;

/// Cheap operators without side effects or randomness, whose result follows from their inputs' values.
constexpr std::array<std::string_view, 17> foldable_types = {
    "AxisAddRemove", "Broadcast", "Concat",    "Dimshuffle", "Elemwise", "ElemwiseMultiType",
    "GetVarShape",   "Identity",  "Linspace",  "PowC",       "Reduce",   "RelayoutFormat",
    "Reshape",       "Split",     "Subtensor", "TypeCvt",    "Padding",
};

/// The outputs' values; empty when the operator cannot be computed ahead.
std::vector<Tensor> folded(const Opr& opr, std::span<const VarDesc> inputs, std::span<const VarDesc> outputs) {
    if (opr.inputs.empty() || std::ranges::find(foldable_types, opr.type) == foldable_types.end()) return {};
    std::vector<Tensor> values;
    for (const VarDesc& input : inputs) {
        if (!input.value) return {};
        values.push_back(*input.value);
    }
    for (const VarDesc& output : outputs)
        if (!output.known() || output.shape->elements() > max_folded_elements) return {};
    if (forwards_first_input(opr))
        if (const std::optional<Tensor> same = forward_tensor(values[0], *outputs[0].dtype, *outputs[0].shape)) return {*same};
    const auto kernel = reference_kernels().find(opr.type);
    if (kernel == reference_kernels().end() || kernel->second.data_dependent) return {};
    std::vector<TensorRef> in;
    for (Tensor& value : values) {
        value = value.aligned();
        in.push_back(value.ref());
    }
    std::vector<TensorBuffer> buffers;
    std::vector<MutTensorRef> out;
    for (const VarDesc& output : outputs) out.push_back(buffers.emplace_back(*output.dtype, *output.shape).ref());
    if (!kernel->second.run({opr, in, out, nullptr})) return {};
    std::vector<Tensor> results;
    for (TensorBuffer& buffer : buffers) results.push_back(std::move(buffer).freeze());
    return results;
}

} // namespace

std::vector<VarFacts> plan_facts(const Graph& graph, std::span<const OprId> order, std::span<const Tensor> constants,
                                 std::span<const Shape> input_shapes, bool fold) {
    std::vector<VarFacts> facts(graph.vars().size());
    std::vector<std::optional<Tensor>> host(graph.vars().size()); ///< values that inference knows, small ones
    for (const OprId id : order) {
        const Opr& opr = graph.opr(id);
        if (holds_constants(opr)) {
            for (const VarId var : opr.outputs) {
                const Tensor& value = constants[var.index()];
                // Those that inference reads are small; the others stay where they are in the file.
                const bool read_here = value.elements() <= max_host_elements;
                facts[var.index()] = {value.dtype(), value.shape(), read_here ? aligned_for_elements(value) : value};
            }
            continue;
        }
        if (const auto input = std::ranges::find(graph.inputs(), id); input != graph.inputs().end()) {
            VarFacts& fact = facts[opr.outputs.front().index()];
            if (!opr.tensors.empty()) fact.dtype = opr.tensors.front().dtype;
            const auto position = static_cast<std::size_t>(input - graph.inputs().begin());
            if (position < input_shapes.size() && input_shapes[position].ndim() > 0) fact.shape = input_shapes[position];
            continue;
        }
        std::vector<VarDesc> inputs;
        bool constant = !opr.inputs.empty();
        for (const VarId var : opr.inputs) {
            const VarFacts& fact = facts[var.index()];
            VarDesc desc{fact.dtype, fact.shape, host[var.index()]};
            if (fact.constant && fact.constant->elements() <= max_host_elements) desc.value = fact.constant;
            constant = constant && (fact.constant || desc.value);
            inputs.push_back(std::move(desc));
        }
        const Expected<std::vector<VarDesc>> inferred = infer_opr({opr, inputs});
        if (!inferred) continue;
        std::vector<Tensor> values;
        if (fold && constant) {
            for (std::size_t i = 0; i < inputs.size(); ++i)
                if (facts[opr.inputs[i].index()].constant) inputs[i].value = facts[opr.inputs[i].index()].constant;
            try {
                values = folded(opr, inputs, *inferred);
            } catch (const std::bad_alloc&) { // then it is computed in every run, where the error has its place
            }
        }
        for (std::size_t i = 0; i < opr.outputs.size(); ++i) {
            VarFacts& fact = facts[opr.outputs[i].index()];
            fact.dtype = (*inferred)[i].dtype;
            fact.shape = (*inferred)[i].shape;
            if (i < values.size()) fact.constant = values[i];
            // Shapes of shapes follow from the plan's input shapes alone: constants of this plan.
            else if (fold && (*inferred)[i].value && (*inferred)[i].known())
                fact.constant = (*inferred)[i].value->aligned();
            host[opr.outputs[i].index()] = (*inferred)[i].value;
        }
    }
    return facts;
}

} // namespace megascope
