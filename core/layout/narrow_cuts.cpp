#include "layout/narrow_cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace megascope {

namespace {

/// Cuts members [begin, end) by size alone, each time at the narrowest place near the target.
void cut_by_size(const NarrowCutInput& input, std::size_t begin, std::size_t end, double target, std::vector<std::uint32_t>& cuts) {
    std::size_t at = begin;
    while (static_cast<double>(end - at) > 1.6 * target) {
        const std::size_t low = at + std::max<std::size_t>(1, static_cast<std::size_t>(0.6 * target));
        const std::size_t high = std::min(end - 1, at + static_cast<std::size_t>(1.6 * target));
        std::size_t best = low;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = low; i <= high; ++i) {
            const double off = std::abs(static_cast<double>(i - at) - target) / target;
            const double cost = input.live[i - 1] * (1 + 0.5 * off) + 0.1 * off;
            if (cost < least) {
                least = cost;
                best = i;
            }
        }
        cuts.push_back(static_cast<std::uint32_t>(best));
        at = best;
    }
}

/// Places that look alike (same width, same types around them) and come back at about the target distance.
std::vector<std::uint32_t> repeated_places(const NarrowCutInput& input, double target) {
    const std::size_t n = input.live.size();
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places;
    for (std::size_t i = 1; i + 2 < n; ++i) {
        std::uint64_t h = static_cast<std::uint64_t>(input.live[i - 1]) + 1;
        for (std::size_t k = i < 2 ? 0 : i - 2; k < i + 3; ++k) h = (h ^ input.signature[k]) * 1099511628211ULL + (h >> 29);
        places[h].push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<std::uint32_t> best;
    double best_score = 0;
    for (auto& [hash, list] : places) {
        if (list.size() < 3) continue;
        // Of places that follow each other closely, keep the first of each target distance.
        std::vector<std::uint32_t> kept;
        for (std::uint32_t p : list)
            if (kept.empty() || p - kept.back() >= 0.5 * target) kept.push_back(p);
        if (kept.size() < 3) continue;
        const double covered = kept.back() - kept.front();
        const double mean = covered / static_cast<double>(kept.size() - 1);
        if (mean > 2.5 * target) continue;
        double deviation = 0;
        for (std::size_t i = 1; i < kept.size(); ++i) deviation += std::abs(kept[i] - kept[i - 1] - mean);
        deviation /= covered;
        const double narrow = 1.0 / (1 + std::max(0, input.live[kept.front() - 1] - 1));
        const double score = covered / static_cast<double>(n) * (1 - 0.5 * std::min(1.0, deviation)) * (0.2 + 0.8 * narrow);
        // Ties go to the earliest place, whatever the order of the map.
        if (score > best_score + 1e-9 || (score > best_score - 1e-9 && !best.empty() && kept.front() < best.front())) {
            best_score = std::max(best_score, score);
            best = std::move(kept);
        }
    }
    return best_score > 0.15 ? best : std::vector<std::uint32_t>();
}

} // namespace

std::vector<std::uint32_t> narrow_cuts(const NarrowCutInput& input, std::size_t target) {
    const std::size_t n = input.live.size();
    const auto size = static_cast<double>(target);
    std::vector<std::uint32_t> anchors = repeated_places(input, size);
    anchors.insert(anchors.begin(), 0);
    anchors.push_back(static_cast<std::uint32_t>(n));
    std::vector<std::uint32_t> cuts{0};
    for (std::size_t i = 0; i + 1 < anchors.size(); ++i) {
        cut_by_size(input, anchors[i], anchors[i + 1], size, cuts);
        if (anchors[i + 1] > cuts.back()) cuts.push_back(anchors[i + 1]);
    }
    return cuts;
}

} // namespace megascope
