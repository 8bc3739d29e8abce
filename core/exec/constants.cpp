#include "exec/constants.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace megascope {
namespace {

constexpr std::array<std::string_view, 6> constant_types = {
    "ImmutableTensor",
    "SharedDeviceTensor",
    "SharedDeviceTensorWithFormat",
    "MultipleDeviceTensorHolder",
    "MultipleDeviceTensorWithFormatHolder",
    "VolatileSharedDeviceTensor",
};

std::string input_name(const Graph& graph, const Opr& opr) {
    if (!opr.tensors.empty() && !opr.tensors.front().name.empty()) return opr.tensors.front().name;
    return graph.display_name(opr.id);
}

} // namespace

bool holds_constants(const Opr& opr) { return std::ranges::find(constant_types, opr.type) != constant_types.end(); }

// Inputs come from anywhere, testcases from the middle of a mapped file: they are copied only when elements would be torn.
Tensor aligned_for_elements(const Tensor& value) {
    return reinterpret_cast<std::uintptr_t>(value.storage().get()) % 8 == 0 ? value : value.aligned();
}

Expected<std::vector<Tensor>> stored_constants(const Graph& graph, std::span<const OprId> order) {
    std::vector<Tensor> values(graph.vars().size());
    for (const OprId id : order) {
        const Opr& opr = graph.opr(id);
        if (!holds_constants(opr)) continue;
        for (std::size_t i = 0; i < opr.outputs.size(); ++i) {
            if (i >= opr.tensors.size() || !opr.tensors[i].data)
                return fail_in(ErrorCode::corrupt,
                               "The file holds no value for output " + std::to_string(i) + " of this " + opr.type + ".",
                               graph.display_name(id));
            const std::optional<Tensor> value = opr.tensors[i].value();
            if (!value)
                return fail_in(ErrorCode::unsupported,
                               "The stored value has " + std::to_string(opr.tensors[i].data_size) +
                                   " bytes, which is not what its shape and dtype ask for; a custom dumper may have written it.",
                               graph.display_name(id));
            values[opr.outputs[i].index()] = *value;
        }
    }
    return values;
}

Expected<std::vector<Tensor>> load_constants(const Graph& graph, std::span<const OprId> order) {
    MGS_ASSIGN(std::vector<Tensor> values, stored_constants(graph, order));
    for (Tensor& value : values)
        if (value.has_value()) value = value.aligned();
    return values;
}

Expected<std::vector<Tensor>> complete_inputs(const Graph& graph, std::span<const Tensor> inputs) {
    std::vector<Tensor> values;
    MGS_TRY(complete_inputs(graph, inputs, values));
    return values;
}

Expected<void> complete_inputs(const Graph& graph, std::span<const Tensor> inputs, std::vector<Tensor>& values) {
    const std::span<const OprId> oprs = graph.inputs();
    if (inputs.size() > oprs.size())
        return fail(ErrorCode::invalid_argument, "The graph has " + std::to_string(oprs.size()) + " inputs, but " +
                                                     std::to_string(inputs.size()) + " values were given.");
    values.resize(oprs.size());
    for (std::size_t i = 0; i < oprs.size(); ++i) {
        const Opr& opr = graph.opr(oprs[i]);
        const StoredTensor* stored = opr.tensors.empty() ? nullptr : &opr.tensors.front();
        if (i < inputs.size() && inputs[i].has_value()) {
            if (stored && stored->dtype && inputs[i].dtype() != *stored->dtype)
                return fail_in(ErrorCode::invalid_argument,
                               "This input takes " + stored->dtype->text() + ", but a value of " + inputs[i].dtype().text() +
                                   " was given.",
                               input_name(graph, opr));
            values[i] = aligned_for_elements(inputs[i]);
            continue;
        }
        std::optional<Tensor> fallback;
        if (stored && stored->data) fallback = stored->value();
        if (!fallback) {
            std::string expected;
            if (stored && stored->dtype && stored->shape)
                expected = " (" + stored->dtype->text() + ", shape " + stored->shape->text() + ")";
            return fail_in(ErrorCode::invalid_argument, "This input has no value" + expected + ".", input_name(graph, opr));
        }
        values[i] = aligned_for_elements(*fallback);
    }
    return {};
}

} // namespace megascope
