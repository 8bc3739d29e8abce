#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace megascope {

/// One operator to run, and what may go afterwards.
struct ScheduleStep {
    OprId opr;
    bool again = false;        ///< it ran before; its results were dropped in between
    std::vector<VarId> drops;  ///< vars whose values are dropped after this step
};

/// An order of execution in which operators may run more than once. Graph inputs and constants are no steps: they are there.
using MemorySchedule = std::vector<ScheduleStep>;

/// A schedule and what it is expected to need. Bytes are those of the values that operators compute; inputs, constants and the
/// kernels' own scratch memory are not part of them. A value type, made without running anything.
struct MemoryPlanResult {
    MemorySchedule schedule;
    std::size_t plain_peak = 0;    ///< bytes, when every operator runs once and values live until their last reader
    std::size_t reordered_peak = 0; ///< bytes in the best of the orders tried, still without computing anything again
    std::size_t peak = 0;          ///< bytes with this schedule
    std::size_t fixed_bytes = 0;   ///< inputs and constants, which stay either way
    std::vector<std::size_t> in_use; ///< parallel to the schedule: bytes while the step runs
    std::size_t plain_steps = 0;
    std::size_t extra_steps = 0;   ///< operators that run again
    double plain_flops = 0;        ///< Megascope's own count (opr/cost.h); operators without a count add nothing
    double extra_flops = 0;
    double plain_traffic = 0;      ///< bytes that operators read and write
    double extra_traffic = 0;
    std::size_t plans_tried = 0;
};

} // namespace megascope
