#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "profile/graph_profile.h"

namespace megascope {

/// Questions to a profile, in the terms of MegEngine's profile_analyze.
struct AnalysisQuery {
    enum class Side : std::uint8_t { device, host };
    enum class EndKey : std::uint8_t { end, kern }; ///< whole time, or only the waiting before the first kernel
    enum class Aggregate : std::uint8_t { none, max, min, sum, mean };

    Side side = Side::device;
    EndKey end_key = EndKey::end;
    Aggregate aggregate = Aggregate::none;
    bool by_type = false;             ///< aggregate per operator type, otherwise over all
    std::vector<std::string> types;   ///< keep these types; empty = all
    std::string name_pattern;         ///< regular expression (ECMAScript), matched from the start of the name; empty = all
    std::string input_dtype;          ///< some input has this dtype ("Float32"); empty = all
    double min_time = -std::numeric_limits<double>::infinity(); ///< seconds
    double max_time = std::numeric_limits<double>::infinity();
    std::string order_by = "time";    ///< time, computation, memory, flops, bandwidth, opr_id; "+" in front: ascending
    std::size_t top = 0;              ///< 0 = all
};

/// One operator, or one group of operators.
struct AnalysisRow {
    ProfileOprId opr;                  ///< invalid for a group
    std::string name;                  ///< empty for a group
    std::string type;                  ///< "all" for one group of everything
    std::size_t count = 1;
    double time = 0;                   ///< seconds
    std::optional<double> computation; ///< nothing when unknown or 0, and for a group when any member has none
    double memory = 0;                 ///< bytes

    /// May be infinite or NaN when the time is 0.
    [[nodiscard]] std::optional<double> flops() const { return computation ? std::optional(*computation / time) : std::nullopt; }
    [[nodiscard]] double bandwidth() const { return memory / time; }
};

/// Selects, aggregates, sorts (missing numbers last), cuts. An operator's time is its longest record.
/// Errors: invalid_argument for a broken pattern, an unknown column, or by_type without an aggregate.
[[nodiscard]] Expected<std::vector<AnalysisRow>> analyze(const GraphProfile& profile, const AnalysisQuery& query);

} // namespace megascope
