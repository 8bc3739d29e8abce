#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "profile/compare_side.h"

namespace megascope {

enum class CompareBy : std::uint8_t { opr, type, scope, shape, dtype };

/// What the numbers allow to say about a change.
enum class CompareVerdict : std::uint8_t {
    faster, ///< of one sample (an iteration, a slice); the sum may still grow when there are more of them
    slower,
    not_distinguishable, ///< the samples overlap so much that chance explains the difference
    too_few,             ///< even samples that do not overlap at all could be chance: measure more often
    not_tested,          ///< groups of a trace: there are no repetitions to test
    added,               ///< only in the second
    removed,             ///< only in the first
};
[[nodiscard]] std::string_view verdict_text(CompareVerdict verdict); ///< "not distinguishable"

struct CompareOptions {
    CompareBy by = CompareBy::opr;
    /// Share of false alarms to live with among the changes that are called one (Benjamini, Hochberg, J. R. Stat. Soc. B 57, 1995:
    /// with sorted p₁ ≤ … ≤ p_k, those up to the last p_i ≤ α i / k count).
    double alpha = 0.05;
    /// "change" (absolute difference), "relative", "a", "b", "p", "name"; "+" in front: ascending.
    std::string order_by = "change";
    std::size_t top = 0; ///< rows to keep; 0 = all
};

/// One operator or group on both sides. Times are seconds.
struct CompareRow {
    std::string name; ///< operator name (the second's where they differ), or the group
    std::string type;
    std::string track;
    std::string shape;
    std::optional<std::uint32_t> a; ///< item of the first side; nothing for groups and where it is not there
    std::optional<std::uint32_t> b;
    std::size_t count_a = 0; ///< slices, or operators of a group
    std::size_t count_b = 0;
    double time_a = 0; ///< `CompareItem::total`; for groups the sum of `self`
    double time_b = 0;
    std::optional<double> median_a; ///< one sample: an iteration or a slice
    std::optional<double> median_b;
    std::optional<double> p; ///< of the rank test
    CompareVerdict verdict = CompareVerdict::too_few;

    [[nodiscard]] double change() const { return time_b - time_a; }
    /// Nothing when the first time is 0.
    [[nodiscard]] std::optional<double> relative() const { return time_a > 0 ? std::optional(change() / time_a) : std::nullopt; }
};

struct ProfileComparison {
    CompareBy by = CompareBy::opr;
    bool traces = false;
    std::vector<CompareRow> rows; ///< sorted and cut as asked
    std::size_t all_rows = 0;     ///< before `top`
    std::size_t matched = 0, added = 0, removed = 0; ///< operators, whatever `by` is
    std::size_t by_id = 0, by_name = 0, by_structure = 0, elsewhere = 0; ///< how they were matched; elsewhere: on another track
    double total_a = 0; ///< seconds: `CompareSide::total`
    double total_b = 0;
    std::vector<std::string> notes;
    /// By item: its partner on the other side.
    std::vector<std::optional<std::uint32_t>> b_of_a, a_of_b;
};

/// Matches operators (by id and name, then name, then output var name, then structure: the longest common subsequence of type and
/// output shape; slices by name and category on tracks that do alike things, then on any track) and compares their times.
/// Errors: invalid_argument (a profile against a trace, an unknown order), cancelled.
[[nodiscard]] Expected<ProfileComparison> compare_profiles(const CompareSide& a, const CompareSide& b, const CompareOptions& options = {},
                                                           const CancelToken& cancel = {});

} // namespace megascope
