#pragma once


#include "profile/compare_side.h"
#include "profile/profile_analysis.h"
#include "profile/report_table.h"

namespace megascope {

/// The rows of an analysis: time, share of the total and cumulative share, computation and its rate, memory and its rate, shapes.
/// Errors: those of `analyze`.
[[nodiscard]] Expected<ReportTable> analysis_table(const GraphProfile& profile, const AnalysisQuery& query);

/// What profile_analyze's head tells, a name and a value a row: times, computation, what has no record.
[[nodiscard]] ReportTable summary_table(const GraphProfile& profile);

/// Slices of a trace by name and category: count, total, self time, median, longest.
[[nodiscard]] ReportTable slices_table(const CompareSide& trace);

/// The device total of MegEngine's summary: the sum over all operators of their longest record.
[[nodiscard]] double total_time(const GraphProfile& profile, AnalysisQuery::Side side);

} // namespace megascope
