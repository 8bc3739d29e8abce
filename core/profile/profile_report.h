#pragma once

#include <string>

#include "profile/profile_analysis.h"

namespace megascope {

/// Total times, as the head of MegEngine's profile_analyze prints them. `copy_time`: also sum and mean of Copy operators that
/// pass the query's filters. Errors: those of `analyze`; run_failed when the profile has no device time at all.
[[nodiscard]] Expected<std::string> summary_text(const GraphProfile& profile, const AnalysisQuery& query, bool copy_time, bool wiki);

/// The rows as MegEngine's profile_analyze prints them. `wiki`: for wikis, one line a row.
[[nodiscard]] Expected<std::string> details_text(const GraphProfile& profile, const AnalysisQuery& query, bool wiki);

/// "name type id" a line, for comparing two filtered profiles with diff.
[[nodiscard]] Expected<std::string> opr_list_text(const GraphProfile& profile, const AnalysisQuery& query);

} // namespace megascope
