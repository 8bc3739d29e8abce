#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/progress.h"
#include "compare/metrics.h"
#include "graph/graph_diff.h"
#include "opr/infer.h"

namespace megascope {

/// One line of a comparison of two graphs.
struct GraphDifference {
    enum class Kind {
        changed, ///< the operator itself differs: params, stored values, configuration, inputs
        layout,  ///< only shapes or dtypes of its outputs differ
        only_a,
        only_b,
    };
    Kind kind = Kind::changed;
    OprId a, b; ///< invalid on the side where it is missing
    bool params = false, inputs = false, values = false, config = false; ///< as in OprMatch
    bool shapes = false, dtypes = false;    ///< of the outputs, where both are known
    std::vector<std::string> details;       ///< "stride_h: 1 → 2", "output 0: 1×64×7×7 → 1×64×14×14"
    /// Of the stored tensor that differs most in absolute value; nothing when no pair of stored tensors could be compared.
    std::optional<TensorDifference> weights;
};

/// A comparison with everything that views show of it. Immutable.
struct GraphDifferences {
    GraphDiff diff;
    std::vector<OprId> a_of;           ///< by OprId of b; invalid = only there
    /// In the order of the first graph; what is only in the second one comes after what it reads.
    std::vector<GraphDifference> list;

    [[nodiscard]] std::size_t count(GraphDifference::Kind kind) const;
};

/// Compares structure, params, stored values (element by element where dtype and shape agree), and the outputs' shapes and dtypes.
/// `a_info`, `b_info` may be null: then shapes and dtypes are not compared. Blocking; any thread. Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const GraphDifferences>> find_differences(const Graph& a, const GraphInfo* a_info, const Graph& b,
                                                                                 const GraphInfo* b_info, const CancelToken& cancel,
                                                                                 const Progress& progress);

} // namespace megascope
