#include "bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace megascope::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

#if defined(__x86_64__)
#define MGS_BENCH_TARGET(name) __attribute__((target(name)))
#else
#define MGS_BENCH_TARGET(name)
#endif

// Sixteen independent chains of vectors hide the latency of a multiply-add on every current core.
template <class Vector>
__attribute__((always_inline)) inline double multiply_adds(std::size_t rounds, float* result) {
    constexpr std::size_t chains = 16;
    Vector sums[chains];
    for (std::size_t i = 0; i < chains; ++i) sums[i] = Vector{} + static_cast<float>(i);
    const Vector factor = Vector{} + 0.9999F;
    const Vector addend = Vector{} + 1e-6F;
    for (std::size_t r = 0; r < rounds; ++r)
        for (std::size_t i = 0; i < chains; ++i) sums[i] = sums[i] * factor + addend;
    Vector total{};
    for (std::size_t i = 0; i < chains; ++i) total += sums[i];
    *result = total[0];
    return static_cast<double>(rounds) * chains * (sizeof(Vector) / sizeof(float)) * 2;
}

using Float8 = float __attribute__((vector_size(32)));
using Float16 = float __attribute__((vector_size(64)));
using Float4 = float __attribute__((vector_size(16)));

double run_sse(std::size_t rounds, float* result) { return multiply_adds<Float4>(rounds, result); }
MGS_BENCH_TARGET("avx2,fma") double run_avx2(std::size_t rounds, float* result) { return multiply_adds<Float8>(rounds, result); }
MGS_BENCH_TARGET("avx512f") double run_avx512(std::size_t rounds, float* result) {
    return multiply_adds<Float16>(rounds, result);
}

double peak(double (*run)(std::size_t, float*)) {
    double best = 0;
    float sink = 0;
    for (int i = 0; i < 20; ++i) {
        const auto begin = Clock::now();
        const double done = run(200000, &sink);
        best = std::max(best, done / seconds_since(begin));
    }
    volatile float used = sink;
    static_cast<void>(used);
    return best;
}

} // namespace

MachineLimits measure_machine() {
    MachineLimits limits;
    limits.flops = peak(run_sse);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) limits.flops = std::max(limits.flops, peak(run_avx2));
    if (__builtin_cpu_supports("avx512f")) limits.flops = std::max(limits.flops, peak(run_avx512));
#endif
    constexpr std::size_t size = std::size_t{256} << 20;
    std::vector<char> from(size, 1), to(size, 2);
    for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        std::memcpy(to.data(), from.data(), size);
        limits.bytes = std::max(limits.bytes, 2.0 * size / seconds_since(begin));
    }
    return limits;
}

} // namespace megascope::bench
