#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"

namespace megascope {

/// A stretch of memory that is taken from one step to another.
struct MemoryBlock {
    enum class Kind : std::uint8_t {
        var,       ///< values of one var, or of several that share the memory in turn
        workspace, ///< needed by one operator while it runs
    };
    Kind kind = Kind::var;
    std::string name;            ///< the var that it was first taken for; for a workspace the operator
    VarId var;                   ///< the same, in the graph that the map is of; invalid when there is none
    OprId opr;                   ///< who takes it; invalid when it is not known
    std::uint64_t address = 0;   ///< bytes from the begin of the area
    std::uint64_t bytes = 0;
    std::uint32_t first = 0;     ///< steps, both included
    std::uint32_t last = 0;
    std::vector<VarId> sharing;  ///< further vars that live in it: forwarded, or computed in place
    std::uint32_t shared_by = 0; ///< how many they are, also where the source does not say which
    std::optional<std::uint32_t> overwrites; ///< block whose memory it takes over in place at `first`
};

/// What memory is taken over the steps of a run: planned or measured. Weights and inputs, which stand apart, are sums.
struct MemoryMap {
    std::string source;                 ///< "plan of the graph", "profile.json"
    std::vector<std::string> steps;     ///< operator names in execution order
    std::vector<OprId> step_oprs;       ///< parallel; invalid where the graph has no such operator
    std::vector<MemoryBlock> blocks;    ///< by `first`
    std::uint64_t area = 0;             ///< largest end address; at least the peak, more where gaps remain
    bool placed = true;                 ///< false: the source tells no addresses and they were planned here
    std::uint64_t weight_bytes = 0;
    std::uint64_t input_bytes = 0;
    std::size_t unknown = 0;            ///< vars whose size is not known; they are not counted
    std::vector<std::string> notes;     ///< sentences about what the numbers leave out
    // From the blocks, by `settle`:
    std::vector<std::uint64_t> live;    ///< bytes that are alive at each step. A block that overwrites another counts from its second step
    std::uint32_t peak_step = 0;        ///< the first step with the most
    std::uint64_t peak = 0;             ///< bytes alive there

    /// Sorts the blocks by first step and fills what follows from them. `overwrites` is kept right.
    void settle();
    /// Blocks alive at a step, the largest first.
    [[nodiscard]] std::vector<std::uint32_t> alive_at(std::uint32_t step) const;
};

/// Gives every block an address such that no two that are alive together overlap. Up to `exact_limit` blocks: largest first into
/// the gap that fits best; beyond: in the order of their first steps, which is faster and leaves more gaps.
inline constexpr std::size_t exact_limit = 20000;
void place_blocks(MemoryMap& map);

} // namespace megascope
