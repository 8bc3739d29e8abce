#pragma once

namespace megascope::bench {

/// What one thread of this machine can do, measured for a moment each.
struct MachineLimits {
    double flops = 0;          ///< float multiply-adds per second, times two
    double bytes = 0;          ///< bytes read plus bytes written per second when copying far more than the caches hold
};
[[nodiscard]] MachineLimits measure_machine();

} // namespace megascope::bench
