#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "optimize/optimize_options.h"
#include "optimize/workspace.h"

namespace megascope {

/// One step of the rewriting: `apply` returns the number of vars that it replaced and throws RewriteFailure.
struct PassStep {
    std::string_view name; ///< for the report: "conv-bias fusion"
    std::size_t (*apply)(Workspace& graph) = nullptr;
};

/// The steps that the options ask for, without those that always run.
[[nodiscard]] std::vector<PassStep> option_passes(const OptimizeOptions& options);
/// All steps in order.
[[nodiscard]] std::vector<PassStep> pass_sequence(const OptimizeOptions& options);

} // namespace megascope
