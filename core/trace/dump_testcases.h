#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "feed/input_data.h"
#include "graph/graph.h"
#include "trace/dump_options.h"

namespace megascope {

/// What `input_data` can feed: the graph's inputs in file order.
[[nodiscard]] std::vector<FeedTarget> feed_targets(const Graph& graph);

/// The testcases of a dump: those of `options.testcases`, whose values are named as in `asserted` (the graph as it was opened, with its
/// assertions) or `opened` (the same without them), then those of `options.input_data`, all under the names of `graph` (`opened` with other names), each with one value per graph input.
/// A value that the dump carries stands in for a missing one. Dtypes are fitted (feed/fit.h). Expected values are taken over
/// where they are given, under "<output>:expect", unless `no_assert`. `notes` gets sentences about other shapes.
/// Errors: invalid_argument, io, foreign, corrupt (a value), cancelled.
[[nodiscard]] Expected<std::vector<DumpTestcase>> read_testcases(const Graph& asserted, const Graph& opened, const Graph& graph, const DumpOptions& options,
                                                                 std::vector<std::string>& notes, const CancelToken& cancel);

/// Computes the expected values that are missing, on `options.backend`. Errors: those of the run; a given expectation of another
/// dtype than its output.
[[nodiscard]] Expected<void> complete_expectations(std::vector<DumpTestcase>& testcases, const std::shared_ptr<const Graph>& graph,
                                                   const DumpOptions& options, const CancelToken& cancel, const Progress& progress);

} // namespace megascope
