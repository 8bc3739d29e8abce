#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/layout/generated_graphs.h"
#include "graph/graph.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

namespace megascope::test {

/// A Graph of the operators that a generated graph stands for. Param tensors are left out; nothing in it could be run.
inline std::shared_ptr<const Graph> real_graph(const GeneratedGraph& g) {
    static const std::array<std::pair<const char*, const char*>, 20> types = {{
        {"Input", "Host2DeviceCopy"}, {"Conv", "Convolution"}, {"BN", "BatchNorm"}, {"Relu", "Elemwise"}, {"Add", "Elemwise"}, {"Mul", "Elemwise"},
        {"Gelu", "Elemwise"}, {"Pool", "Pooling"}, {"MatMul", "MatrixMul"}, {"LN", "LayerNorm"}, {"Imm", "ImmutableTensor"},
        {"ConvBwdData", "ConvolutionBackwardData"}, {"ConvBwdFilter", "ConvolutionBackwardFilter"}, {"BNBwd", "BatchNormBackward"},
        {"SwitchGt0", "Elemwise"}, {"AddUpdate", "AddUpdate"}, {"Loss", "Reduce"}, {"Reshape", "Reshape"}, {"Concat", "Concat"}, {"Softmax", "Softmax"},
    }};
    GraphBuilder builder;
    std::vector<std::vector<std::uint32_t>> inputs(g.nodes.size());
    for (const auto& [from, to] : g.edges) inputs[to].push_back(from);
    std::vector<std::uint8_t> read(g.nodes.size(), 0);
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        Opr o;
        o.type = g.nodes[i].type;
        for (const auto& [name, type] : types)
            if (o.type == name) o.type = type;
        if (const OprDef* def = Catalogue::builtin().find_type(o.type)) o.kind = def->kind;
        if (o.type == "Elemwise") {
            Param p(*ParamRegistry::builtin().find("Elemwise"));
            const ParamEnum& modes = *p.type().fields[0].enumeration;
            const std::string mode = g.nodes[i].type == "Add" ? "ADD" : g.nodes[i].type == "Mul" ? "MUL" : g.nodes[i].type == "Gelu" ? "GELU" : "RELU";
            if (const auto value = modes.find(mode)) p.set("mode", *value);
            o.params.push_back(p);
        }
        if (o.type == "ImmutableTensor") o.tensors.emplace_back();
        for (std::uint32_t k : inputs[i]) {
            o.inputs.push_back(VarId(k)); // every generated operator has one output, so operator and var numbers agree
            read[k] = 1;
        }
        const bool input = o.type == "Host2DeviceCopy";
        (void)builder.add(std::move(o), 1, input);
    }
    for (std::size_t i = 0; i < g.nodes.size(); ++i)
        if (!read[i] && g.nodes[i].type != "Imm") (void)builder.add_output({VarId(i), 0, {}});
    return builder.finish();
}

} // namespace megascope::test
