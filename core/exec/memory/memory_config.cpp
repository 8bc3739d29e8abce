#include "exec/memory/memory_config.h"

namespace megascope {

Expected<void> SublinearMemoryConfig::check() const {
    if (thresh_nr_try < 0) return fail(ErrorCode::invalid_argument, "thresh_nr_try must be greater or equal to zero.");
    if (genetic_nr_iter < 0) return fail(ErrorCode::invalid_argument, "genetic_nr_iter must be greater or equal to zero.");
    if (genetic_pool_size < 0) return fail(ErrorCode::invalid_argument, "genetic_pool_size must be greater or equal to zero.");
    if (lb_memory_mb < 0) return fail(ErrorCode::invalid_argument, "lb_memory_mb must be greater or equal to zero.");
    if (num_worker < 0) return fail(ErrorCode::invalid_argument, "num_worker must be greater or equal to zero.");
    return {};
}

Expected<void> DtrConfig::check() const {
    if (eviction_threshold == 0) return fail(ErrorCode::invalid_argument, "eviction_threshold must be greater than zero.");
    if (recomp_memory_factor < 0) return fail(ErrorCode::invalid_argument, "recomp_memory_factor must be greater or equal to zero.");
    if (recomp_time_factor < 0) return fail(ErrorCode::invalid_argument, "recomp_time_factor must be greater or equal to zero.");
    return {};
}

} // namespace megascope
