#pragma once

#include <string>
#include <vector>

#include "profile/profile_compare.h"
#include "profile/report_table.h"

namespace megascope {

/// The rows of a comparison. `a` and `b` are its sides.
[[nodiscard]] ReportTable comparison_table(const ProfileComparison& comparison, const CompareSide& a, const CompareSide& b);

/// Sentences: how long both took, what was matched how, how many rows got which verdict, and the notes.
[[nodiscard]] std::vector<std::string> comparison_summary(const ProfileComparison& comparison, const CompareSide& a, const CompareSide& b);

/// "type", "opr", …
[[nodiscard]] std::string_view compare_by_text(CompareBy by);

/// "+12.3 %", "−4.0 %"; three significant digits.
[[nodiscard]] std::string percent_change(double relative);

} // namespace megascope
