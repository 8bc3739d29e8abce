#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope {

/// A sequence in topological order that is to be cut into stretches. Any stretch of such an order is convex: no way leaves it
/// and comes back, so collapsing it cannot make a cycle.
struct NarrowCutInput {
    std::vector<std::int32_t> live;       ///< per member: values that are alive between it and the next one
    std::vector<std::uint32_t> signature; ///< per member: a number for what it is (its type)
};

/// Where stretches begin, from 0 to the size of the sequence inclusive, so that they have about `target` members each, begin at
/// narrow places, and begin alike where the sequence repeats itself (the blocks of a network). O(n log n).
[[nodiscard]] std::vector<std::uint32_t> narrow_cuts(const NarrowCutInput& input, std::size_t target);

} // namespace megascope
