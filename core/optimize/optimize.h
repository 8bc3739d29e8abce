#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "graph/graph.h"
#include "optimize/optimize_options.h"

namespace megascope {

/// What one pass did.
struct PassRecord {
    std::string name;               ///< "conv-bias fusion"
    std::size_t oprs_before = 0;    ///< operators that the outputs needed, constants included
    std::size_t oprs_after = 0;
    std::size_t replaced = 0;       ///< vars whose readers read another var since; 0 = the pass changed nothing
    double seconds = 0;
};

struct OptimizeReport {
    std::vector<PassRecord> passes; ///< in the order in which they ran
    std::uint32_t next_id = 0;      ///< the id that the next operator of the graph would get (see `to_compatible`)
};

/// Rewrites a graph as MegEngine's `optimize_for_inference` does before a dump: the same passes in the same order. Outputs keep
/// their order, names and dtypes. Operators that no output needs are left out, graph inputs among them, as MegEngine's dump does.
/// Constants are evaluated with the plain kernels of the reference backend. `report` may be null.
/// Any thread. Errors: what a pass says (a layout that the graph does not fit), with the operator in `where`; cancelled.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> optimize_for_inference(std::shared_ptr<const Graph> graph,
                                                                            const OptimizeOptions& options, const CancelToken& cancel,
                                                                            OptimizeReport* report = nullptr);

} // namespace megascope
