#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/model.h"
#include "graph/graph.h"
#include "session/assertions.h"
#include "session/runner.h"

namespace megascope {

/// What a graph input asks for.
struct GraphInput {
    OprId opr;
    VarId var;
    std::string name;            ///< the Host2DeviceCopy's tensor name
    DType dtype;
    std::optional<Shape> shape;  ///< the dump's default layout; nothing when it has no static shape
    bool has_default = false;    ///< the dump carries a value (dump_default_value)
    bool is_expectation = false; ///< only feeds the `expect` side of AssertEqual

    /// "'data' (float32 1×3×224×224)", for sentences.
    [[nodiscard]] std::string text() const;
};

/// Parallel to `graph.inputs()`.
[[nodiscard]] std::vector<GraphInput> graph_inputs(const Graph& graph);

/// The values for `graph.inputs()` in its order, from named ones. Dtypes are fitted (feed/fit.h). An expectation without a value
/// and an input with a default value stay without one (`Tensor::has_value()` false).
/// Errors: invalid_argument: an input without a value, a name that is no input (the message lists the inputs), a value that
/// does not fit.
[[nodiscard]] Expected<std::vector<Tensor>> bind_inputs(std::span<const GraphInput> inputs, std::span<const NamedTensor> values);

/// A testcase's values by name.
[[nodiscard]] std::vector<NamedTensor> testcase_values(const Testcase& testcase);

} // namespace megascope
