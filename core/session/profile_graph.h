#pragma once

#include <memory>
#include <vector>

#include "opr/cost.h"
#include "opr/infer.h"
#include "profile/graph_profile.h"

namespace megascope {

/// The graph that a profile carries itself (graph_exec), for when no dump is open.
struct ProfileGraph {
    std::shared_ptr<const Graph> graph;
    GraphInfo info;                        ///< shapes and dtypes as the profile tells them
    std::vector<ProfileOprId> of_opr;      ///< parallel to the graph's operators
    std::vector<Cost> costs;               ///< parallel; from the footprints
    std::vector<OprId> order;              ///< as they were executed (comp_seq)
};

/// Operators keep the profile's class type names as `type`. Where the catalogue knows the class and the footprint spells the whole
/// param, `kind` and `params` are set; elsewhere the kind stays invalid, because a default would be an invented value.
/// Constants have a tensor without data. Operators come in the order of the profile's ids, moved only where an input would come
/// later. Vars that no operator produces are left out.
[[nodiscard]] ProfileGraph profile_graph(const GraphProfile& profile);

} // namespace megascope
