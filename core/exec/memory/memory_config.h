#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace megascope {

/// MegEngine's SublinearMemoryConfig: names and defaults are its own.
struct SublinearMemoryConfig {
    int thresh_nr_try = 10;     ///< block sizes that the threshold search tries
    int genetic_nr_iter = 0;    ///< rounds of the genetic search that follows
    int genetic_pool_size = 20; ///< plans that a round keeps
    int lb_memory_mb = 0;       ///< MiB; below it plans are compared by their extra computation, not by memory
    int num_worker = 0;         ///< threads that evaluate plans; 0: half of the cores
    std::uint64_t seed = 1;     ///< of the genetic search

    /// Errors: invalid_argument, when a number is negative.
    [[nodiscard]] Expected<void> check() const;
};

/// MegEngine's DTRConfig.
struct DtrConfig {
    std::size_t eviction_threshold = 0;        ///< bytes, must be > 0: above it values are dropped and computed again
    std::size_t evictee_minimum_size = 1048576; ///< bytes; smaller values are never dropped
    double recomp_memory_factor = 1;           ///< exponent of the memory that computing again takes
    double recomp_time_factor = 1;             ///< … of the time

    /// Errors: invalid_argument.
    [[nodiscard]] Expected<void> check() const;
};

} // namespace megascope
