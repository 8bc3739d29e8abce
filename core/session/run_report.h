#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "profile/report.h"
#include "session/runner.h"

namespace megascope {

/// A run for readers: verdicts of the testcases, outputs with statistics, errors, times of the operators (median over all counted
/// iterations of the first testcase that ran). `title`: the file's name; `notes`: sentences about the inputs.
[[nodiscard]] Report report_of_run(const Graph& graph, const RunReport& run, std::string title, const std::vector<std::string>& notes = {});

} // namespace megascope
