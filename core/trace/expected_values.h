#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "format/model.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace megascope {

/// Computes what testcases expect: the outputs of one graph for any number of inputs, on one backend. The program is kept as long
/// as shapes stay the same. Runs in this process. Not thread-safe.
class ExpectedValues {
public:
    /// `threads` 0 = one per core. The graph must not assert anything (trace/assertion_edit.h).
    ExpectedValues(std::shared_ptr<const Graph> graph, std::string backend, int threads);
    ~ExpectedValues();
    ExpectedValues(const ExpectedValues&) = delete;
    ExpectedValues& operator=(const ExpectedValues&) = delete;

    /// `values` by input name; an input with a value of its own in the dump may be left out. Returns one value per graph output,
    /// under the outputs' names. Errors: invalid_argument (no such backend, an input without a value), those of the run with the
    /// operator in `where`, cancelled.
    [[nodiscard]] Expected<std::vector<TestcaseInput>> compute(std::span<const TestcaseInput> values, const CancelToken& cancel);

private:
    struct Compiled;
    std::shared_ptr<const Graph> graph_;
    std::string backend_;
    int threads_;
    std::unique_ptr<Compiled> compiled_;
};

} // namespace megascope
