#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace megascope {

/// Two samples compared by rank: do they come from the same distribution?
struct RankTest {
    double u = 0;         ///< Mann and Whitney's U of the first sample: pairs (a, b) with a > b, ties counted one half
    double p = 1;         ///< two-sided: how often chance alone moves U at least as far from its mean
    bool exact = false;   ///< `p` counts all assignments; otherwise it is the normal approximation
    double smallest_p = 1; ///< what `p` would be if the samples of these sizes did not overlap at all
};

/// Mann–Whitney U test (Mann, Whitney, Ann. Math. Statist. 18, 1947). Up to `rank_test_exact` values in both samples together
/// all assignments of the pooled midranks are counted, so that ties are exact, too. Beyond that the normal approximation with tie
/// and continuity correction (Lehmann, Nonparametrics, 1975, ch. 1):
///   mean = mn/2,  variance = mn/12 · (N + 1 − Σ(t³ − t) / (N (N − 1))),  z = (|U − mean| − ½) / √variance
/// where N = m + n and t runs over the sizes of groups of equal values. Nothing when a sample is empty.
[[nodiscard]] std::optional<RankTest> rank_test(std::span<const double> a, std::span<const double> b);
inline constexpr std::size_t rank_test_exact = 20;

/// The middle value; the mean of the two middle ones for an even count. Precondition: not empty.
[[nodiscard]] double median_of(std::span<const double> values);

} // namespace megascope
