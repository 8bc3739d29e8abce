#pragma once

#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "graph/graph.h"
#include "session/runner.h"
#include "trace/testcase_list.h"

namespace megascope {

/// The expected values of testcases as `recompute_expected` gives them, computed by a runner, that is as a rule in another process.
/// `how` says which file and graph, on which backend; its testcases and inputs are set here. `network` is that graph without its
/// assertions (TestcaseList::network): its outputs give the names. Blocking. Errors: those of the run, with the testcase in `where`.
[[nodiscard]] Expected<std::vector<EditedTestcase>> expected_by_runner(std::vector<EditedTestcase> testcases, const Graph& network, RunRequest how, Runner& runner,
                                                                       const CancelToken& cancel, const Progress& progress);

} // namespace megascope
