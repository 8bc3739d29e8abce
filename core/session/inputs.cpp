#include "session/inputs.h"

#include <algorithm>

#include "feed/fit.h"

namespace megascope {

std::string GraphInput::text() const {
    return "'" + name + "' (" + dtype.text() + (shape ? " " + shape->text() : std::string(", shape not fixed")) + ")";
}

std::vector<GraphInput> graph_inputs(const Graph& graph) {
    std::vector<GraphInput> inputs;
    for (const OprId id : graph.inputs()) {
        const Opr& opr = graph.opr(id);
        GraphInput input;
        input.opr = id;
        if (!opr.outputs.empty()) input.var = opr.outputs.front();
        input.name = graph.display_name(id);
        if (!opr.tensors.empty()) {
            const StoredTensor& stored = opr.tensors.front();
            if (!stored.name.empty()) input.name = stored.name;
            if (stored.dtype) input.dtype = *stored.dtype;
            // MegEngine has no tensors without axes: an input whose shape is not fixed is stored with an empty one.
            if (stored.shape && stored.shape->ndim() > 0) input.shape = stored.shape;
            input.has_default = stored.value().has_value();
        }
        if (input.var.valid()) {
            const auto readers = graph.consumers(input.var);
            // The err operators that a dump holds beside an AssertEqual read the expectation, too; the name settles it there.
            const bool asserted = std::ranges::any_of(readers, [&](OprId reader) {
                const Opr& r = graph.opr(reader);
                return r.type == "AssertEqual" && !r.inputs.empty() && r.inputs[0] == input.var;
            });
            input.is_expectation = asserted && (readers.size() == 1 || input.name.ends_with(":expect"));
        }
        inputs.push_back(std::move(input));
    }
    return inputs;
}

Expected<std::vector<Tensor>> bind_inputs(std::span<const GraphInput> inputs, std::span<const NamedTensor> values) {
    std::vector<Tensor> bound(inputs.size());
    for (const NamedTensor& given : values) {
        const auto input = std::ranges::find(inputs, given.name, &GraphInput::name);
        if (input == inputs.end()) {
            std::string list;
            for (const GraphInput& i : inputs)
                if (!i.is_expectation) list += (list.empty() ? "" : ", ") + i.text();
            return fail(ErrorCode::invalid_argument, "There is no input named '" + given.name + "'; the graph's inputs are " +
                                                         (list.empty() ? "none" : list) + ".");
        }
        Tensor& place = bound[static_cast<std::size_t>(input - inputs.begin())];
        if (place.has_value()) return fail(ErrorCode::invalid_argument, "Input '" + given.name + "' is given twice.");
        Expected<Tensor> fitted = fit_dtype(given.value, input->dtype);
        if (!fitted) {
            fitted.error().where = "input '" + given.name + "'";
            return forward(std::move(fitted.error()));
        }
        place = fitted->aligned();
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!bound[i].has_value() && !inputs[i].has_default && !inputs[i].is_expectation)
            return fail(ErrorCode::invalid_argument, "Input " + inputs[i].text() + " has no value.");
    return bound;
}

std::vector<NamedTensor> testcase_values(const Testcase& testcase) {
    std::vector<NamedTensor> values;
    for (const TestcaseInput& input : testcase.inputs) values.push_back({input.name, input.value});
    return values;
}

} // namespace megascope
