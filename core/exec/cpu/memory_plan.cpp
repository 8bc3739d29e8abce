#include "exec/cpu/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace megascope {

MemoryPlan plan_memory(std::span<const MemoryDemand> demands) {
    constexpr std::size_t alignment = 64;
    const auto rounded = [](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
    MemoryPlan plan;
    plan.offsets.assign(demands.size(), 0);
    std::vector<std::size_t> by_size(demands.size());
    std::iota(by_size.begin(), by_size.end(), std::size_t{0});
    std::ranges::stable_sort(by_size, [&](std::size_t a, std::size_t b) { return demands[a].bytes > demands[b].bytes; });

    std::vector<std::size_t> placed; // ordered by offset
    for (const std::size_t next : by_size) {
        const MemoryDemand& demand = demands[next];
        if (demand.bytes == 0) continue;
        const std::size_t need = rounded(demand.bytes);
        std::size_t gap_begin = 0;
        std::size_t best = SIZE_MAX;
        std::size_t best_gap = SIZE_MAX;
        for (const std::size_t other : placed) {
            if (demands[other].last < demand.first || demands[other].first > demand.last) continue;
            const std::size_t begin = plan.offsets[other];
            if (begin > gap_begin && begin - gap_begin >= need && begin - gap_begin < best_gap) {
                best = gap_begin;
                best_gap = begin - gap_begin;
            }
            gap_begin = std::max(gap_begin, begin + rounded(demands[other].bytes));
        }
        if (best == SIZE_MAX) best = gap_begin;
        plan.offsets[next] = best;
        plan.bytes = std::max(plan.bytes, best + need);
        placed.insert(std::ranges::upper_bound(placed, best, {}, [&](std::size_t i) { return plan.offsets[i]; }), next);
    }
    return plan;
}

} // namespace megascope
