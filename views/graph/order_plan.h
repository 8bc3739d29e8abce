#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cancel.h"
#include "views/common/graph_facts.h"

namespace megascope {

/// Operators in the order in which they run, and how long the vars between them live. Immutable.
///
/// A var lives from the step of its producer to that of its last reader; a graph output to the end. Constants and weights are there
/// all the time and take no row. Bytes are those of the values; memory that operators share or reuse (in-place, views) is not told
/// apart, so the curve is an upper bound of what the values need.
struct OrderPlan {
    struct Life {
        VarId var;
        std::uint32_t first = 0, last = 0; ///< rows, both included
        double bytes = 0;                  ///< 0 when not known
    };
    std::vector<OprId> rows;
    std::vector<std::int32_t> row_of;            ///< by OprId; -1 = no row
    std::vector<std::vector<Life>> lanes;        ///< lives that do not overlap in time share a lane; ascending within it
    std::vector<double> live;                    ///< by row: bytes alive while it runs
    double peak = 0;
    std::uint32_t peak_row = 0;
};

/// Near linear; any thread. Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const OrderPlan>> make_order_plan(const GraphFacts& facts, const CancelToken& cancel = {});

} // namespace megascope
