#pragma once

#include <optional>
#include <span>

#include "base/cancel.h"
#include "base/error.h"
#include "exec/memory/memory_config.h"
#include "exec/memory/schedule.h"
#include "graph/graph.h"

namespace megascope {

// Plans that trade computation for memory, as MegEngine's sublinear_memory_config and dtr_config do. They look at shapes only:
// nothing runs, so a plan answers "what if" at once. They also choose among orders of execution (memory_model.h); the plain peak is
// that of a plain run's order. `input_shapes` is parallel to `graph.inputs()`; missing ones are the dump's.
// Errors of all: invalid_argument (configuration, shapes that do not fit), unsupported (a shape that depends on values, with the
// operator in `where`; branches that may not run), cancelled.

/// Every operator once, values until their last reader.
[[nodiscard]] Expected<MemoryPlanResult> plan_without_recomputation(const Graph& graph, std::span<const std::optional<Shape>> input_shapes);

/// Cuts the sequence into blocks and drops what lies inside a block until a later block reads it; then it is computed again from the
/// values on the block's border (Chen et al., "Training deep nets with sublinear memory cost"). Block sizes are searched:
/// `thresh_nr_try` thresholds, then `genetic_nr_iter` rounds of a genetic search over the cuts. Never worse than the plain plan.
[[nodiscard]] Expected<MemoryPlanResult> plan_sublinear(const Graph& graph, std::span<const std::optional<Shape>> input_shapes,
                                                        const SublinearMemoryConfig& config, const CancelToken& cancel = {});

/// Drops values whenever memory would pass `eviction_threshold`: the one with the smallest
/// time^recomp_time_factor · memory^recomp_memory_factor / (size · distance of the next reader), where time and memory are those of
/// computing it again with all that was dropped before it and behind it (Kirisame et al., "Dynamic tensor rematerialization"; the
/// distance stands for staleness, because the sequence is known). A threshold that cannot be kept gives a plan with a higher peak.
[[nodiscard]] Expected<MemoryPlanResult> plan_dtr(const Graph& graph, std::span<const std::optional<Shape>> input_shapes,
                                                  const DtrConfig& config, const CancelToken& cancel = {});

} // namespace megascope
