#pragma once

#include <optional>
#include <span>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "graph/graph.h"

namespace megascope {

/// What planning knows about a var. `constant` is its (plain) value when it never changes.
struct VarFacts {
    std::optional<DType> dtype;
    std::optional<Shape> shape;
    std::optional<Tensor> constant;

    [[nodiscard]] bool known() const { return dtype && shape; }
};

/// How an epilogue's operand meets the result it is combined with.
enum class Reach : std::uint8_t {
    scalar,      ///< one element
    per_channel, ///< one element per output channel, row-major in the channels
    full,        ///< an element for each of the result's
};

/// One elementwise operation that a convolution or matrix multiplication applies to its result before storing it.
struct EpilogueStep {
    enum class Kind : std::uint8_t { activation, add, multiply };
    Kind kind = Kind::activation;
    // activation: oneDNN's eltwise
    dnnl::algorithm algorithm = dnnl::algorithm::undef;
    float alpha = 0;
    float beta = 0;
    // add, multiply
    std::size_t operand = 0; ///< index in the group's inputs
    Reach reach = Reach::scalar;
    bool negate = false; ///< the operand's sign is flipped first
};

/// Operators that run as one step.
struct OprGroup {
    std::vector<OprId> oprs;            ///< in execution order; the last one's outputs are the group's
    std::vector<VarId> inputs;          ///< vars from outside, each once; first the head's inputs in order
    std::vector<EpilogueStep> epilogue; ///< of a head (convolution, matrix multiplication), its own parts included
    /// Operators whose work is in `epilogue`: for heads that have one, all but the first.
    bool has_head = false;
};

/// Groups the operators of `order` (constants left out), in an order in which they can run: a group stands where its last
/// operator stood. `fuse` = false gives one operator per group. Which groups come out depends on the graph and the facts
/// only, never on who looks at a var. Facts are indexed by VarId.
[[nodiscard]] std::vector<OprGroup> group_operators(const Graph& graph, std::span<const OprId> order,
                                                    std::span<const VarFacts> facts, bool fuse);

/// The axes of a head's result that count its channels. Nothing when `opr` is not a head that takes an epilogue.
/// Precondition: the result's shape is known.
[[nodiscard]] std::optional<std::vector<std::size_t>> channel_axes(const Opr& opr, std::span<const VarFacts> facts);

} // namespace megascope
