#pragma once

#include <optional>
#include <string>
#include <vector>

#include "opr/infer.h"
#include "profile/graph_profile.h"

namespace megascope {

/// Which operator of a profile is which operator of an open dump, and how that was found out.
struct ProfileJoin {
    std::vector<ProfileOprId> of_opr;  ///< parallel to the graph's operators; invalid = no match
    std::size_t by_name = 0;           ///< equal operator names
    std::size_t by_var_name = 0;       ///< equal names of the first output
    std::size_t by_structure = 0;      ///< same place in the order, same type, same output shapes
    std::size_t timed = 0;             ///< operators of the profile that have a device time, without a trace's callbacks
    std::size_t timed_matched = 0;     ///< … of those, matched
    double time_matched = 0;           ///< share of the total device time that belongs to matched operators, 0 … 1

    [[nodiscard]] std::size_t matched() const { return by_name + by_var_name + by_structure; }
    /// Was the profile taken from this graph, or from one much like it (before its optimization, say)? Below a quarter of the
    /// time, the few equal shapes and names that any two networks have would be shown as measurements.
    [[nodiscard]] bool trustworthy() const { return matched() > 0 && time_matched >= 0.25; }
    /// "212 of 234 timed operators matched, 98.7 % of the device time (all operators: 180 by name, 51 by structure)."
    [[nodiscard]] std::string sentence() const;
};

/// Operator names first, then output var names (each only where it is unique on both sides and the types agree), then the
/// longest common subsequence of what is left, in execution order, by type and output shapes.
[[nodiscard]] ProfileJoin join_profile(const Graph& graph, const GraphInfo& info, const GraphProfile& profile);

} // namespace megascope
