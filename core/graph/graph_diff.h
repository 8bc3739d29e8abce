#pragma once

#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// Two operators that stand for each other in two graphs.
struct OprMatch {
    OprId a;
    OprId b;
    bool params = false;  ///< their params differ
    bool inputs = false;  ///< they read vars that do not stand for each other
    bool values = false;  ///< their stored tensors differ (dtype, shape or content)
    bool config = false;  ///< comp nodes or configured output dtype differ
    bool name = false;    ///< their names differ
    /// What differs, for people: "stride_h: 1 → 2". Names do not count.
    std::vector<std::string> what;

    [[nodiscard]] bool same() const { return !params && !inputs && !values && !config; }
};

/// What changed between two graphs.
struct GraphDiff {
    std::vector<OprMatch> matches; ///< ascending by `a`
    std::vector<OprId> only_a;     ///< ascending
    std::vector<OprId> only_b;
    std::vector<OprId> b_of;       ///< by OprId of a; invalid = only in a

    [[nodiscard]] bool same() const;
};

/// Compares two graphs by structure: operators stand for each other when everything above them is alike, else when they have the
/// same type and name, else when everything below them is alike, else when they do the same and come in the same order, else when they have
/// the same type and stand at the same place between operators that are matched. Of several that are alike, those of one name or with the same weights belong together. Constants stand
/// for each other when their readers do. Numbering, names and the container's version alone make no difference. Stored values of
/// matched operators are read and compared byte by byte.
/// Any thread. Errors: cancelled.
[[nodiscard]] Expected<GraphDiff> diff_graphs(const Graph& a, const Graph& b, const CancelToken& cancel = {});

} // namespace megascope
