#include "profile/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace megascope {

namespace {

/// How many of all subsets of `size` of the doubled midranks have a U at least as far from the mean as `distance` (doubled).
/// Subsets are counted by size and sum, one midrank after the other.
double share_as_far(const std::vector<int>& doubled_ranks, std::size_t size, double distance) {
    int all = 0;
    for (const int r : doubled_ranks) all += r;
    const auto sums = static_cast<std::size_t>(all) + 1;
    std::vector<double> ways((size + 1) * sums, 0.0);
    ways[0] = 1;
    for (const int rank : doubled_ranks)
        for (std::size_t k = size; k-- > 0;)
            for (std::size_t s = sums - static_cast<std::size_t>(rank); s-- > 0;)
                ways[(k + 1) * sums + s + static_cast<std::size_t>(rank)] += ways[k * sums + s];
    // The mean of the rank sum is size (N + 1) / 2, doubled: size (N + 1).
    const double mean = static_cast<double>(size * (doubled_ranks.size() + 1));
    double total = 0;
    double far = 0;
    for (std::size_t s = 0; s < sums; ++s) {
        const double count = ways[size * sums + s];
        total += count;
        if (std::abs(static_cast<double>(s) - mean) >= distance) far += count;
    }
    return far / total;
}

double two_sided_normal(double distance, double variance) {
    if (variance <= 0) return 1; // all values are equal
    const double z = std::max(0.0, distance - 0.5) / std::sqrt(variance);
    return std::erfc(z / std::numbers::sqrt2);
}

} // namespace

std::optional<RankTest> rank_test(std::span<const double> a, std::span<const double> b) {
    if (a.empty() || b.empty()) return std::nullopt;
    struct Value {
        double value;
        bool of_a;
    };
    std::vector<Value> pool;
    pool.reserve(a.size() + b.size());
    for (const double v : a) pool.push_back({v, true});
    for (const double v : b) pool.push_back({v, false});
    std::ranges::sort(pool, {}, &Value::value);

    const std::size_t all = pool.size();
    std::vector<int> doubled; // midranks times two, only for small samples
    double doubled_sum_a = 0;
    double ties = 0;
    for (std::size_t i = 0; i < all;) {
        std::size_t j = i + 1;
        while (j < all && pool[j].value == pool[i].value) ++j;
        const auto twice = static_cast<double>(i + 1 + j); // first rank + last rank
        for (std::size_t k = i; k < j; ++k) {
            if (pool[k].of_a) doubled_sum_a += twice;
            if (all <= rank_test_exact) doubled.push_back(static_cast<int>(i + 1 + j));
        }
        const auto t = static_cast<double>(j - i);
        ties += t * t * t - t;
        i = j;
    }
    const auto m = static_cast<double>(a.size());
    const auto n = static_cast<double>(b.size());
    const auto total = static_cast<double>(all);
    RankTest test;
    test.u = doubled_sum_a / 2 - m * (m + 1) / 2;
    const double distance = std::abs(test.u - m * n / 2);
    test.exact = all <= rank_test_exact;
    if (test.exact) {
        test.p = share_as_far(doubled, a.size(), 2 * distance);
        double assignments = 1; // binomial coefficient (N over m)
        for (std::size_t k = 1; k <= a.size(); ++k) assignments = assignments * static_cast<double>(b.size() + k) / static_cast<double>(k);
        test.smallest_p = std::min(1.0, 2 / assignments);
    } else {
        test.p = two_sided_normal(distance, m * n / 12 * (total + 1 - ties / (total * (total - 1))));
        test.smallest_p = two_sided_normal(m * n / 2, m * n / 12 * (total + 1));
    }
    return test;
}

double median_of(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    if (sorted.size() % 2 == 1) return *middle;
    return (*std::max_element(sorted.begin(), middle) + *middle) / 2;
}

} // namespace megascope
