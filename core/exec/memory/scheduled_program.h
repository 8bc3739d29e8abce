#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "exec/backend.h"
#include "exec/memory/schedule.h"

namespace megascope {

/// A program that follows a schedule, one operator at a time, and drops values where the schedule says so.
class ScheduledProgram : public Program {
public:
    /// Bytes of the values that operators computed (without inputs, constants and the kernels' scratch memory) that were held at
    /// once at most in the last run, counted as memory was taken and given back. 0 before the first run.
    [[nodiscard]] virtual std::size_t measured_peak() const = 0;
};

/// `backend`: "cpu" (its kernels, one per operator) or "reference" (plain loops). The schedule may have been planned for other
/// input shapes. Results do not depend on the schedule: an operator that runs again gives the same bits.
/// Errors: invalid_argument (no such backend, a step that reads what was dropped), unsupported (no kernel), corrupt (a constant
/// without value).
[[nodiscard]] Expected<std::unique_ptr<ScheduledProgram>> compile_scheduled(std::shared_ptr<const Graph> graph, MemorySchedule schedule,
                                                                            std::string_view backend, int threads = 1);

} // namespace megascope
