#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/infer.h"

namespace megascope {

/// Is an output of the graph an AssertEqual?
[[nodiscard]] bool has_assertions(const Graph& graph);

/// The graph without its comparisons: an output that is an AssertEqual is replaced by the var that it asserts, and inputs that
/// only fed an expectation are gone. Inputs that nothing reads otherwise stay. Returns `graph` itself when it asserts nothing.
/// Errors: unsupported, when a layout optimization has put the asserted value into another layout than the expected one, so that
/// the output itself is gone.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> strip_assertions(const std::shared_ptr<const Graph>& graph);

/// "fc.ADD:expect": the input that carries what an output of that name should be.
[[nodiscard]] std::string expectation_name(const std::string& output);

/// Parallel to the outputs: under which name a testcase gives what is expected there. That of the input that the output's AssertEqual
/// compares with: optimizing and converting give outputs other names, and an expectation keeps the one from before. Where nothing is
/// asserted, `expectation_name`.
[[nodiscard]] std::vector<std::string> expectation_names(const Graph& graph);

struct AssertOptions {
    double maxerr = 1e-4;
    bool verbose = true;
    /// Shapes of expectations where inference finds none, parallel to the outputs; may be empty.
    std::vector<std::optional<Shape>> shapes;
};

/// Every output `o` becomes AssertEqual(expect, o, err), as `trace.dump` does: `expect` is a new Host2DeviceCopy "<o>:expect" on
/// xpux:0 of `o`'s dtype and shape; `err` is the largest |expect − o| / max(min(|expect|, |o|), 1), computed by ordinary operators.
/// New vars carry MegEngine's default names; the numbers in them go on behind the graph's own as MegEngine's do when its run for
/// the expected values changes no operator. Constants that a kernel reads get the dtype and comp node that MegEngine's writer
/// stores after such a run.
/// `info` belongs to `graph`. Errors: invalid_argument, naming the output: its dtype is not known or cannot be compared (complex),
/// or two outputs have the same name.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> assert_outputs(const std::shared_ptr<const Graph>& graph, const GraphInfo& info,
                                                                    const AssertOptions& options);

/// The same graph with other params of its AssertEqual operators.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> with_assert_params(const std::shared_ptr<const Graph>& graph, double maxerr, bool verbose);

} // namespace megascope
