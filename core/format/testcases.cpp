#include "format/testcases.h"

#include <algorithm>

namespace megascope {

namespace {

struct Input {
    std::string name;
    std::uint32_t dtype = 0;
    VarId var;
};

std::vector<Input> sorted_inputs(const Graph& graph) {
    std::vector<Input> inputs;
    for (OprId id : graph.inputs()) {
        const Opr& opr = graph.opr(id);
        if (opr.tensors.empty() || opr.outputs.empty()) continue;
        const StoredTensor& tensor = opr.tensors.front();
        inputs.push_back({tensor.name, tensor.dtype ? static_cast<std::uint32_t>(tensor.dtype->id) : 0, opr.outputs.front()});
    }
    std::stable_sort(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) {
        return a.name != b.name ? a.name < b.name : a.dtype < b.dtype;
    });
    return inputs;
}

bool feeds_expectation(const Graph& graph, VarId var) {
    const auto consumers = graph.consumers(var);
    return std::any_of(consumers.begin(), consumers.end(), [&](OprId id) {
        const Opr& opr = graph.opr(id);
        return opr.type == "AssertEqual" && !opr.inputs.empty() && opr.inputs.front() == var;
    });
}

} // namespace

Testcase make_testcase(const StoredGraph& main, StoredGraph values, std::size_t number, std::vector<std::string>& warnings) {
    Testcase testcase;
    testcase.offset = values.offset;
    testcase.size = values.size;
    testcase.graph = values.graph;
    testcase.stored = std::move(values);

    const auto inputs = sorted_inputs(*main.graph);
    const Graph& graph = *testcase.graph;
    const std::string who = "Testcase " + std::to_string(number);
    if (graph.outputs().size() != inputs.size()) {
        warnings.push_back(who + " has " + std::to_string(graph.outputs().size()) + " values, but the graph has " +
                           std::to_string(inputs.size()) + " inputs; it cannot be used.");
        return testcase;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const VarId out = graph.outputs()[i].var;
        const Opr& producer = graph.producer(out);
        const std::size_t which = graph.var(out).output_index;
        const auto value = which < producer.tensors.size() ? producer.tensors[which].value() : std::nullopt;
        if (!value) {
            warnings.push_back(who + " has no value for the input '" + inputs[i].name + "'; it cannot be used.");
            testcase.inputs.clear();
            return testcase;
        }
        testcase.inputs.push_back({inputs[i].name, *value, feeds_expectation(*main.graph, inputs[i].var)});
    }
    return testcase;
}

} // namespace megascope
