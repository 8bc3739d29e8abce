#pragma once

#include <span>

#include "base/error.h"
#include "exec/memory/memory_map.h"
#include "format/static_memory.h"
#include "profile/graph_profile.h"

namespace megascope {

// Memory maps of what MegEngine measured or planned itself. Their `opr` and `var` ids are positions in the profile (or, for static
// memory info, steps), not in a graph: `link_memory` brings them to one.

/// The memory chunks of a GraphProfiler profile over its execution sequence. A chunk is alive from the operator that makes its owner
/// to the last operator that reads any var in it; an operator that has no step of its own but reads
/// computed vars was part of the step that made the last of them; chunks of other operators outside the sequence, of inputs and of
/// stored tensors are weights and inputs; one that begins at the address of another one, at its last step, overwrites it in place. Addresses are the recorded ones, moved together where nothing was recorded in between; without recorded
/// addresses they are planned here (`MemoryMap::placed` is false).
/// `MemoryBlock::opr` and `var` are positions in `GraphProfile::oprs` and `vars`. Errors: foreign, when the profile has no chunks.
[[nodiscard]] Expected<MemoryMap> memory_of_profile(const GraphProfile& profile);

/// StaticMemoryInfo.json: the plan of MegEngine's own static allocator. `MemoryBlock::opr` is a position in its `oprs`.
[[nodiscard]] MemoryMap memory_of_static_info(const StaticMemory& info);

/// Replaces operators by `graph_opr[old]`; invalid where there is none. Vars, which only mean something in the source, are dropped.
void link_memory(MemoryMap& map, std::span<const OprId> graph_opr);

} // namespace megascope
