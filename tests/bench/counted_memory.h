#pragma once

#include <cstdint>

namespace megascope::bench {

// Every allocation of the whole program, counted: linking counted_memory.cpp replaces malloc and its relatives. Bytes are what the
// allocator really hands out (malloc_usable_size). Not for programs with sanitizers.

struct CountedMemory {
    std::int64_t live = 0; ///< bytes that are allocated now
    std::int64_t peak = 0; ///< the most since `restart_peak`
};
[[nodiscard]] CountedMemory counted_memory();
void restart_peak();

} // namespace megascope::bench
