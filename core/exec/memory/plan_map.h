#pragma once

#include "exec/backend.h"
#include "exec/memory/memory_map.h"
#include "graph/graph.h"
#include "opr/infer.h"

namespace megascope {

/// What a program allocates, as a map over its steps: the blocks of `plan` in its arena, and behind the arena the outputs, which are
/// allocated beside it for every run. `weight_bytes` are the constants as the program holds them, packed for its kernels.
/// `graph` is the one that the program was compiled from (or one with the same ids); a step is named after its first operator.
/// A plan without blocks (shapes known only at run time, or a backend that plans nothing) gives a map without blocks.
[[nodiscard]] MemoryMap map_of_plan(const Graph& graph, const GraphInfo& info, const Plan& plan);

} // namespace megascope
