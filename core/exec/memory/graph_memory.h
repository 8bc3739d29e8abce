#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "exec/memory/memory_map.h"
#include "exec/memory/memory_model.h"
#include "exec/memory/schedule.h"
#include "graph/graph.h"
#include "opr/infer.h"

namespace megascope {

// Memory of a graph, operator by operator, without compiling or running it: what any plan without fusion has to hold.

struct GraphMemoryOptions {
    MemoryOrder order = MemoryOrder::execution;
    bool forwarding = true; ///< operators that only rename bytes (Reshape, AxisAddRemove, …; exec/forward.h) take no memory of their own
    bool in_place = true;   ///< Elemwise, ElemwiseMultiType, PowC and TypeCvt write over an input of the same size that nobody reads any more
};

/// The operators that compute something at run time, in that order: without constants, inputs, and operators whose outputs follow
/// from shapes alone.
[[nodiscard]] std::vector<OprId> memory_order(const Graph& graph, const GraphInfo& info, MemoryOrder order, const CancelToken& cancel = {});

/// Bytes of a var; nothing when its shape or dtype is not known.
[[nodiscard]] std::optional<std::uint64_t> var_bytes(const GraphInfo& info, VarId var);

/// Every var lives from its operator to its last reader (which reads its value, not only its shape); outputs of the graph live to the
/// end. Weights and graph inputs are counted apart, workspaces of kernels are not known here.
/// Errors: cancelled.
[[nodiscard]] Expected<MemoryMap> plan_graph_memory(const Graph& graph, const GraphInfo& info, const GraphMemoryOptions& options,
                                                    const CancelToken& cancel = {});

/// A schedule in which operators may run again, as a map: a var's memory is taken when it is computed, and again when it is computed
/// again. Steps are those of the schedule. What `plan` says of inputs and constants becomes `weight_bytes`.
[[nodiscard]] MemoryMap map_of_schedule(const Graph& graph, const GraphInfo& info, const MemoryPlanResult& plan);

} // namespace megascope
