#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "profile/graph_profile.h"

namespace megascope {

/// Questions to a profile, in the terms of MegEngine's profile_analyze.
struct AnalysisQuery {
    enum class Side : std::uint8_t { device, host };
    enum class EndKey : std::uint8_t { end, kern }; ///< whole time, or only the waiting before the first kernel
    enum class Aggregate : std::uint8_t { none, max, min, sum, mean };
    /// What rows are combined by. MegEngine's tool knows all and type; the others are ours.
    enum class GroupBy : std::uint8_t { all, type, scope, shape, dtype };

    Side side = Side::device;
    EndKey end_key = EndKey::end;
    Aggregate aggregate = Aggregate::none;
    GroupBy group_by = GroupBy::all;  ///< for an aggregate
    std::vector<std::string> types;   ///< keep these types; empty = all
    std::string name_pattern;         ///< regular expression (ECMAScript), matched from the start of the name; empty = all
    std::string input_dtype;          ///< some input has this dtype ("Float32"); empty = all
    double min_time = -std::numeric_limits<double>::infinity(); ///< seconds
    double max_time = std::numeric_limits<double>::infinity();
    std::string order_by = "time";    ///< time, computation, memory, flops, bandwidth, opr_id; "+" in front: ascending
    std::size_t top = 0;              ///< 0 = all
    /// dtypes where the profile itself does not know them (it does only for vars with a memory plan): of input `i` of an operator,
    /// or of its first output for `i` = -1, in MegEngine's spelling ("Float32"); empty when unknown. May be null.
    std::function<std::string(ProfileOprId, int)> dtype;
};

/// One operator, or one group of operators.
struct AnalysisRow {
    ProfileOprId opr;                  ///< invalid for a group
    std::string name;                  ///< empty for a group
    std::string type;                  ///< of a group: what its members share; "all" for one group of everything
    std::size_t count = 1;
    double time = 0;                   ///< seconds
    std::optional<double> computation; ///< nothing when unknown or 0, and for a group when any member has none
    double memory = 0;                 ///< bytes

    /// May be infinite or NaN when the time is 0.
    [[nodiscard]] std::optional<double> flops() const { return computation ? std::optional(*computation / time) : std::nullopt; }
    [[nodiscard]] double bandwidth() const { return memory / time; }
};

/// Selects, aggregates, sorts (missing numbers last), cuts. An operator's time is its longest record.
/// Errors: invalid_argument for a broken pattern, an unknown column, or a group without an aggregate.
[[nodiscard]] Expected<std::vector<AnalysisRow>> analyze(const GraphProfile& profile, const AnalysisQuery& query);

/// Shape of an operator's first output ("1×64×112×112") and its dtype, as far as the profile tells; empty otherwise.
[[nodiscard]] std::string output_shape_text(const GraphProfile& profile, ProfileOprId opr);
[[nodiscard]] std::string output_dtype_text(const GraphProfile& profile, ProfileOprId opr);
/// "backbone.stage1.conv1" → "backbone.stage1"; empty when there is no dot or slash, or only behind '('.
[[nodiscard]] std::string_view scope_of_opr_name(std::string_view name);

} // namespace megascope
