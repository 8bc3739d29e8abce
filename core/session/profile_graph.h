#pragma once

#include <memory>
#include <vector>

#include "opr/infer.h"
#include "profile/graph_profile.h"

namespace megascope {

/// The graph that a profile carries itself (graph_exec), for when no dump is open.
struct ProfileGraph {
    std::shared_ptr<const Graph> graph;
    GraphInfo info;                        ///< shapes and dtypes as the profile tells them
    std::vector<ProfileOprId> of_opr;      ///< parallel to the graph's operators
    /// The operator as the footprint spells its param (JSON), parallel; empty when there is no footprint.
    std::vector<std::string> param;
};

/// Operators keep the profile's class type names as `type`; their kind stays invalid, because the profile has no params that could
/// be read or run. Operators come in the order of the profile's ids, moved only where an input would come later.
/// Vars that no operator produces are left out.
[[nodiscard]] ProfileGraph profile_graph(const GraphProfile& profile);

} // namespace megascope
