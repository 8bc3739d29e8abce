#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "exec/memory/memory_map.h"
#include "graph/graph.h"
#include "opr/infer.h"

namespace megascope {

// Memory of a graph, operator by operator, without compiling or running it: what any plan without fusion has to hold.

enum class MemoryOrder : std::uint8_t {
    megengine, ///< priority, then the operator whose inputs became ready latest, then the larger id (exec/order.h)
    file,      ///< as the operators stand in the file
    greedy,    ///< of the ready operators the one after which the fewest bytes are alive
};

struct GraphMemoryOptions {
    MemoryOrder order = MemoryOrder::megengine;
    bool forwarding = true; ///< operators that only rename bytes (Reshape, AxisAddRemove, …; exec/forward.h) take no memory of their own
    bool in_place = true;   ///< Elemwise, ElemwiseMultiType, PowC and TypeCvt write over an input of the same size that nobody reads any more
};

/// The operators that compute something at run time, in that order: without constants, inputs, and operators whose outputs follow
/// from shapes alone.
[[nodiscard]] std::vector<OprId> memory_order(const Graph& graph, const GraphInfo& info, MemoryOrder order, const CancelToken& cancel = {});

/// Bytes of a var, rounded up to nothing; nothing when its shape or dtype is not known.
[[nodiscard]] std::optional<std::uint64_t> var_bytes(const GraphInfo& info, VarId var);

/// Every var lives from its operator to its last reader (which reads its value, not only its shape); outputs of the graph live to the
/// end. Weights and graph inputs are counted apart, workspaces of kernels are not known here.
/// Errors: cancelled.
[[nodiscard]] Expected<MemoryMap> plan_graph_memory(const Graph& graph, const GraphInfo& info, const GraphMemoryOptions& options,
                                                    const CancelToken& cancel = {});

} // namespace megascope
