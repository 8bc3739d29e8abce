#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/backend.h"
#include "opr/infer.h"
#include "profile/graph_profile.h"
#include "session/runner.h"

namespace megascope {

/// The counted iteration of median length (the earlier one of two), which stands for a whole run. Precondition: there is one.
[[nodiscard]] std::size_t median_iteration(const TestcaseRun& run);

/// A run as a GraphProfiler profile. Operators that were fused into another one's step are listed, but stand outside the
/// execution sequence: they have no time of their own.
/// `steps`: the records of one iteration; `device`: physical comp node, e.g. "cpu0:0".
/// Device and host times are the same: kernels run on the host.
[[nodiscard]] std::shared_ptr<const GraphProfile> profile_of_run(const Graph& graph, const GraphInfo& info, const std::vector<StepRecord>& steps,
                                                                 std::string_view device = "cpu0:0");

} // namespace megascope
