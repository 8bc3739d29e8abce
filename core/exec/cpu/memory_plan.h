#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// A piece of memory that is needed from one step to another, both included.
struct MemoryDemand {
    std::size_t bytes = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

struct MemoryPlan {
    std::vector<std::size_t> offsets; ///< parallel to the demands, multiples of 64
    std::size_t bytes = 0;            ///< of the whole arena
};

/// Places demands so that no two that overlap in time overlap in space: largest first, each at the lowest gap where it fits
/// best. Deterministic. O(n²) in the number of demands.
[[nodiscard]] MemoryPlan plan_memory(std::span<const MemoryDemand> demands);

} // namespace megascope
