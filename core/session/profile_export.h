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
/// `plan`, of the program that ran, says where vars lay: a var that took memory has a `mem_plan` (its dtype is there, too) and a chunk
/// with the bytes that the program held for it; addresses count from the begin of its arena. Vars that a fused step never stored have
/// none. Constants and inputs have chunks of their own bytes, without addresses. Null: nothing is said of computed vars.
[[nodiscard]] std::shared_ptr<const GraphProfile> profile_of_run(const Graph& graph, const GraphInfo& info, const std::vector<StepRecord>& steps,
                                                                 const Plan* plan = nullptr, std::string_view device = "cpu0:0");

} // namespace megascope
