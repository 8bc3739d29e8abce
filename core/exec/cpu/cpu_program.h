#pragma once

#include <memory>

#include "exec/backend.h"

namespace megascope {

/// A program of the cpu backend. Plans are made per set of input shapes: for the expected ones at once, for others when they
/// come (the last few are kept). `plan()` describes the plan that was used last.
[[nodiscard]] Expected<std::unique_ptr<Program>> compile_cpu_program(std::shared_ptr<const Graph> graph,
                                                                     const CompileOptions& options, const CancelToken& cancel);

} // namespace megascope
