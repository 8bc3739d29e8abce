#include "exec/memory/memory_map.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "exec/cpu/memory_plan.h"

namespace megascope {

void MemoryMap::settle() {
    std::vector<std::uint32_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return blocks[a].first < blocks[b].first; });
    std::vector<std::uint32_t> place(blocks.size());
    std::vector<MemoryBlock> sorted;
    sorted.reserve(blocks.size());
    for (const std::uint32_t i : order) {
        place[i] = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(std::move(blocks[i]));
    }
    blocks = std::move(sorted);
    std::vector<std::int64_t> change(steps.size() + 1);
    area = 0;
    for (MemoryBlock& block : blocks) {
        if (block.overwrites) block.overwrites = *block.overwrites < place.size() ? std::optional(place[*block.overwrites]) : std::nullopt;
        area = std::max(area, block.address + block.bytes);
        const std::uint32_t from = block.first + (block.overwrites ? 1U : 0U);
        if (from > block.last || block.last >= steps.size()) continue;
        change[from] += static_cast<std::int64_t>(block.bytes);
        change[block.last + 1] -= static_cast<std::int64_t>(block.bytes);
    }
    live.assign(steps.size(), 0);
    std::int64_t now = 0;
    peak = 0;
    peak_step = 0;
    for (std::size_t step = 0; step < live.size(); ++step) {
        now += change[step];
        live[step] = static_cast<std::uint64_t>(now);
        if (live[step] <= peak) continue;
        peak = live[step];
        peak_step = static_cast<std::uint32_t>(step);
    }
}

std::vector<std::uint32_t> MemoryMap::alive_at(std::uint32_t step) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].first + (blocks[i].overwrites ? 1U : 0U) <= step && step <= blocks[i].last) found.push_back(i);
    std::ranges::stable_sort(found, [&](std::uint32_t a, std::uint32_t b) { return blocks[a].bytes > blocks[b].bytes; });
    return found;
}

namespace {

constexpr std::uint64_t alignment = 64;
std::uint64_t rounded(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// First step first, into the smallest free gap that is large enough. O(n log n).
void place_by_time(std::vector<MemoryBlock>& blocks) {
    std::vector<std::uint32_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return blocks[a].first < blocks[b].first; });
    using Ending = std::pair<std::uint32_t, std::uint32_t>; // last step, block
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
    std::map<std::uint64_t, std::uint64_t> gaps;           // begin → size
    std::set<std::pair<std::uint64_t, std::uint64_t>> by_size; // size, begin
    std::uint64_t top = 0;
    const auto add_gap = [&](std::uint64_t begin, std::uint64_t size) {
        const auto next = gaps.lower_bound(begin);
        if (next != gaps.end() && begin + size == next->first) {
            size += next->second;
            by_size.erase({next->second, next->first});
            gaps.erase(next);
        }
        if (const auto after = gaps.lower_bound(begin); after != gaps.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == begin) {
                begin = before->first;
                size += before->second;
                by_size.erase({before->second, before->first});
                gaps.erase(before);
            }
        }
        if (begin + size == top) {
            top = begin;
            return;
        }
        gaps.emplace(begin, size);
        by_size.emplace(size, begin);
    };
    for (const std::uint32_t i : order) {
        while (!alive.empty() && alive.top().first < blocks[i].first) {
            const MemoryBlock& gone = blocks[alive.top().second];
            alive.pop();
            if (gone.bytes > 0) add_gap(gone.address, rounded(gone.bytes));
        }
        const std::uint64_t need = rounded(blocks[i].bytes);
        if (const auto fit = by_size.lower_bound({need, 0}); fit != by_size.end() && need > 0) {
            const auto [size, begin] = *fit;
            by_size.erase(fit);
            gaps.erase(begin);
            blocks[i].address = begin;
            if (size > need) {
                gaps.emplace(begin + need, size - need);
                by_size.emplace(size - need, begin + need);
            }
        } else {
            blocks[i].address = top;
            top += need;
        }
        alive.emplace(blocks[i].last, i);
    }
}

} // namespace

void place_blocks(MemoryMap& map) {
    if (map.blocks.size() > exact_limit) {
        place_by_time(map.blocks);
        return;
    }
    std::vector<MemoryDemand> demands;
    demands.reserve(map.blocks.size());
    for (const MemoryBlock& block : map.blocks) demands.push_back({static_cast<std::size_t>(block.bytes), block.first, block.last});
    const MemoryPlan plan = plan_memory(demands);
    for (std::size_t i = 0; i < map.blocks.size(); ++i) map.blocks[i].address = plan.offsets[i];
}

} // namespace megascope
