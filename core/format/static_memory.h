#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace megascope {

/// StaticMemoryInfo.json: when which chunk of a graph's static memory is alive.
struct StaticMemory {
    struct Chunk {
        std::uint32_t id = 0;
        bool is_weight = false;        ///< "weight_mem": alive all the time; otherwise "static_mem"
        std::uint32_t time_begin = 0;  ///< positions in the execution sequence, end exclusive
        std::uint32_t time_end = 0;
        std::uint64_t begin = 0;       ///< logical address in bytes
        std::uint64_t end = 0;
        std::optional<std::uint32_t> overwrites; ///< the chunk that this one takes over in place
    };
    std::vector<std::string> oprs; ///< operator names by position in the execution sequence
    std::vector<Chunk> chunks;     ///< by id

    /// Largest end address of the static chunks.
    [[nodiscard]] std::uint64_t peak_bytes() const;
    /// Sum of the weight chunks.
    [[nodiscard]] std::uint64_t weight_bytes() const;
    /// Bytes of the static chunks that are alive at each operator. A chunk that overwrites another counts from its second step
    /// on, as in MegEngine's own analysis.
    [[nodiscard]] std::vector<std::uint64_t> used_bytes() const;
};

/// Does this look like static memory info? Looks for its keys in the first few hundred kilobytes.
[[nodiscard]] bool looks_like_static_memory(std::span<const std::byte> bytes);

/// Errors: foreign, when it is no such JSON; corrupt, with the chunk or operator.
[[nodiscard]] Expected<StaticMemory> read_static_memory(std::span<const std::byte> json);

} // namespace megascope
