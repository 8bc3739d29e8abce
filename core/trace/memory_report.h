#pragma once

#include <cstddef>
#include <string>

#include "exec/memory/schedule.h"

namespace megascope {

/// What a memory configuration of a trace did, of the last graph that was compiled.
struct TraceMemoryReport {
    bool planned = false;          ///< false: the graph runs as it would without configuration, see `note`
    std::string note;              ///< why there is no plan
    MemoryPlanResult plan;
    std::size_t measured_peak = 0; ///< bytes of the last run, as memory was taken and given back; 0 before it
};

} // namespace megascope
