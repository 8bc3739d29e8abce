#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layout/layout.h"

namespace megascope::test {

// Graphs shaped like real networks, of any size, for tests and benches of layout.

struct GeneratedGraph {
    struct Node {
        std::string type;
        int block = 0; ///< which repeated block it belongs to
    };
    std::vector<Node> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    int block = 0;

    std::uint32_t op(std::string type, std::initializer_list<std::uint32_t> inputs = {}) {
        return op(std::move(type), std::vector<std::uint32_t>(inputs));
    }
    std::uint32_t op(std::string type, const std::vector<std::uint32_t>& inputs) {
        const auto id = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back({std::move(type), block});
        for (std::uint32_t input : inputs) edges.emplace_back(input, id);
        return id;
    }
};

inline void generate_resnet(GeneratedGraph& g, std::size_t n) {
    std::uint32_t x = g.op("Input");
    ++g.block;
    for (int b = 0; g.nodes.size() < n; ++b) {
        std::uint32_t shortcut = x, y = x;
        y = g.op("Relu", {g.op("BN", {g.op("Conv", {y})})});
        y = g.op("Relu", {g.op("BN", {g.op("Conv", {y})})});
        y = g.op("BN", {g.op("Conv", {y})});
        if (b % 4 == 0) shortcut = g.op("BN", {g.op("Conv", {shortcut})});
        x = g.op("Relu", {g.op("Add", {y, shortcut})});
        ++g.block;
    }
}

inline void generate_incep(GeneratedGraph& g, std::size_t n) {
    const auto cbr = [&](std::uint32_t x) { return g.op("Relu", {g.op("BN", {g.op("Conv", {x})})}); };
    std::uint32_t x = g.op("Input");
    ++g.block;
    for (int b = 0; g.nodes.size() < n; ++b) {
        if (b % 2 == 0) {
            for (int k = 0; k < 3; ++k) {
                const std::uint32_t a = cbr(x), c = cbr(cbr(x)), d = cbr(cbr(cbr(x))), e = cbr(g.op("Pool", {x}));
                x = g.op("Concat", {a, c, d, e});
                ++g.block;
            }
        } else { // a dense block: every layer reads all before it
            std::vector<std::uint32_t> features{x};
            for (int k = 0; k < 12; ++k) {
                std::uint32_t y = features.size() > 1 ? g.op("Concat", features) : x;
                y = g.op("Conv", {g.op("Relu", {g.op("BN", {y})})});
                y = g.op("Conv", {g.op("Relu", {g.op("BN", {y})})});
                features.push_back(y);
            }
            x = g.op("Pool", {g.op("Conv", {g.op("Relu", {g.op("BN", {g.op("Concat", features)})})})});
            ++g.block;
        }
    }
}

inline void generate_transformer(GeneratedGraph& g, std::size_t n, bool hub) {
    std::uint32_t x = g.op("Input"), mask = 0;
    if (hub) mask = g.op("Mul", {g.op("Add", {g.op("Input"), g.op("Imm")}), g.op("Imm")});
    ++g.block;
    while (g.nodes.size() < n) {
        std::uint32_t h = g.op("LN", {x});
        const auto projection = [&] {
            const std::uint32_t m = g.op("Add", {g.op("MatMul", {h})});
            const std::uint32_t s = g.op("GetVarShape", {m});
            const std::uint32_t a = g.op("Subtensor", {s}), b = g.op("Subtensor", {s});
            return g.op("Dimshuffle", {g.op("Reshape", {m, g.op("Concat", {a, b, g.op("Imm")})})});
        };
        const std::uint32_t q = projection(), k = projection(), v = projection();
        const std::uint32_t s = g.op("Mul", {g.op("MatMul", {q, k}), g.op("Imm")});
        const std::uint32_t m = hub ? mask : g.op("Imm");
        const std::uint32_t o = g.op("Dimshuffle", {g.op("MatMul", {g.op("Softmax", {g.op("Add", {s, m})}), v})});
        const std::uint32_t shape = g.op("Concat", {g.op("Subtensor", {g.op("GetVarShape", {o})}), g.op("Imm")});
        x = g.op("Add", {g.op("Add", {g.op("MatMul", {g.op("Reshape", {o, shape})})}), x});
        h = g.op("Gelu", {g.op("Add", {g.op("MatMul", {g.op("LN", {x})})})});
        x = g.op("Add", {g.op("Add", {g.op("MatMul", {h})}), x});
        ++g.block;
    }
}

/// A forward pass, its mirrored backward pass with activations as long edges, and the updates.
inline void generate_train(GeneratedGraph& g, std::size_t n) {
    generate_resnet(g, static_cast<std::size_t>(static_cast<double>(n) * 0.40));
    const std::vector<GeneratedGraph::Node> forward = g.nodes;
    std::vector<std::vector<std::uint32_t>> inputs(forward.size());
    for (const auto& [a, b] : g.edges) inputs[b].push_back(a);
    const int forward_blocks = g.block;
    const auto last = static_cast<std::uint32_t>(forward.size() - 1);
    std::map<std::uint32_t, std::vector<std::uint32_t>> gradients;
    gradients[last] = {g.op("Loss", {last})};
    for (std::uint32_t i = last; i > 0; --i) {
        g.block = 2 * forward_blocks + 1 - forward[i].block;
        const std::vector<std::uint32_t> parts = gradients[i];
        if (parts.empty()) continue;
        const std::uint32_t d = parts.size() == 1 ? parts[0] : g.op("Add", parts);
        const std::string& type = forward[i].type;
        if (type == "Conv") {
            if (inputs[i][0] != 0) gradients[inputs[i][0]].push_back(g.op("ConvBwdData", {d}));
            g.op("AddUpdate", {g.op("ConvBwdFilter", {d, inputs[i][0]})});
        } else if (type == "BN") {
            gradients[inputs[i][0]].push_back(g.op("BNBwd", {d, inputs[i][0]}));
        } else if (type == "Relu") {
            gradients[inputs[i][0]].push_back(g.op("SwitchGt0", {d, i}));
        } else if (type == "Add") {
            for (std::uint32_t j : inputs[i]) gradients[j].push_back(d);
        }
    }
}

/// `kind`: resnet, incep, xfmr, xfmrhub or train. At least about `n` nodes.
inline GeneratedGraph generate_graph(std::string_view kind, std::size_t n) {
    GeneratedGraph g;
    if (kind == "resnet") generate_resnet(g, n);
    else if (kind == "incep") generate_incep(g, n);
    else if (kind == "train") generate_train(g, n);
    else generate_transformer(g, n, kind == "xfmrhub");
    return g;
}

/// Box sizes like the ones that the window uses; `clusters`: one frame per block.
inline LayoutInput layout_input(const GeneratedGraph& g, bool clusters = false) {
    LayoutInput input;
    std::uint32_t random = 12345;
    for (const GeneratedGraph::Node& node : g.nodes) {
        random = random * 1664525U + 1013904223U;
        const double width = 56.0 + 7.0 * static_cast<double>(node.type.size()) + static_cast<double>(random >> 27U);
        const double height = node.type == "Conv" || node.type == "BN" ? 52 : node.type == "MatMul" || node.type == "LN" ? 44 : 30;
        if (clusters)
            while (static_cast<int>(input.clusters.size()) <= node.block) input.clusters.emplace_back();
        input.nodes.push_back({width, height, clusters ? node.block : -1});
    }
    for (std::size_t i = 0; i < g.edges.size(); ++i)
        input.edges.push_back({g.edges[i].first, g.edges[i].second, 0, static_cast<std::uint32_t>(i)});
    return input;
}

} // namespace megascope::test
