#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace megascope {

/// An AssertEqual of a graph: what it compares.
struct Assertion {
    OprId opr;
    VarId expect;
    VarId got;
    VarId own_error;                         ///< the dump's own error; valid only when the two are in different layouts
    double maxerr = 1e-4;
    std::string name;                        ///< display name of the asserted var
    std::optional<std::size_t> expect_input; ///< position in `graph.inputs()` when `expect` is fed directly
};

/// What an output stands for: the var that its AssertEqual asserts (through several of them, if need be), else itself.
[[nodiscard]] VarId asserted_var(const Graph& graph, VarId output);

/// All AssertEqual operators, in file order.
[[nodiscard]] std::vector<Assertion> find_assertions(const Graph& graph);

/// The same operators and vars with the same ids, but an output that is an AssertEqual is replaced by the var that it asserts.
/// Running this graph computes the network alone: the comparison is made outside, where it also works for dtypes whose comparison
/// MegEngine cannot compute (bool), for wrong shapes, and without an expectation. Returns `graph` itself when nothing changes.
[[nodiscard]] std::shared_ptr<const Graph> without_assertions(const std::shared_ptr<const Graph>& graph);

} // namespace megascope
