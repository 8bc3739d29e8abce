#include "bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace megascope::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Independent chains of vectors hide the latency of a multiply-add: 4 cycles on two units need 8 of them, 16 leave room.
constexpr std::size_t chains = 16;

double run_plain(std::size_t rounds, float* result) {
    using Float4 = float __attribute__((vector_size(16)));
    Float4 sums[chains] = {};
    const Float4 factor = Float4{} + 0.9999F;
    const Float4 addend = Float4{} + 1e-6F;
    for (std::size_t r = 0; r < rounds; ++r)
        for (std::size_t i = 0; i < chains; ++i) sums[i] = sums[i] * factor + addend;
    Float4 total{};
    for (std::size_t i = 0; i < chains; ++i) total += sums[i];
    *result = total[0];
    return static_cast<double>(rounds) * chains * 4 * 2;
}

// The standard keeps the compiler from contracting a * b + c by itself, so the instruction is asked for by name.
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double run_avx2(std::size_t rounds, float* result) {
    __m256 sums[chains];
    for (std::size_t i = 0; i < chains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 factor = _mm256_set1_ps(0.9999F);
    const __m256 addend = _mm256_set1_ps(1e-6F);
    for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < chains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
    }
    for (std::size_t i = 1; i < chains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
    *result = _mm256_cvtss_f32(sums[0]);
    return static_cast<double>(rounds) * chains * 8 * 2;
}

__attribute__((target("avx512f"))) double run_avx512(std::size_t rounds, float* result) {
    __m512 sums[chains];
    for (std::size_t i = 0; i < chains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 factor = _mm512_set1_ps(0.9999F);
    const __m512 addend = _mm512_set1_ps(1e-6F);
    for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < chains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
    }
    for (std::size_t i = 1; i < chains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    *result = _mm512_cvtss_f32(sums[0]);
    return static_cast<double>(rounds) * chains * 16 * 2;
}
#endif

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
    limits.flops = peak(run_plain);
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
