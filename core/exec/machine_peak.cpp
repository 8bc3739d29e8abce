#include "exec/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <oneapi/dnnl/dnnl.hpp>

#include "base/thread_pool.h"
#include "exec/cpu/threads.h"

namespace megascope {
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

constexpr int tries = 5;
constexpr int most_tries = 40;        ///< on a machine that others use, too
constexpr double most_seconds = 4;    ///< of those
constexpr double undisturbed = 0.97;  ///< share of the processor in a try that nothing took part of

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Rate {
    double per_second = 0;
    double share = 0; ///< see MachinePeak
};

/// Best rate of several tries; `run` does `work` once, on `threads` threads. Goes on while others take the processor away.
template <class Run>
Expected<Rate> best_rate(double work, int threads, const CancelToken& cancel, Run&& run) {
    Rate best;
    run(); // pages and caches
    const auto first = Clock::now();
    for (int i = 0; i < tries || (best.share < undisturbed && i < most_tries && seconds_since(first) < most_seconds); ++i) {
        if (cancel.cancelled()) return CancelToken::error();
        const double before = processor_seconds();
        const auto begin = Clock::now();
        run();
        const double seconds = seconds_since(begin);
        if (work / seconds <= best.per_second) continue;
        best = {work / seconds, std::min(1.0, (processor_seconds() - before) / (seconds * threads))};
    }
    return best;
}

Expected<Rate> triad(const CpuThreads& threads, int running, const CancelToken& cancel) {
    constexpr std::size_t count = std::size_t{32} << 20; // 128 MiB an array
    // The threads that read the pages later touch them first.
    const std::unique_ptr<float[]> a(new float[count]), b(new float[count]), c(new float[count]);
    threads.parallel_for(count, 1U << 16, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            a[i] = 0;
            b[i] = 1;
            c[i] = 2;
        }
    });
    float scale = 0.5F;
    return best_rate(3.0 * sizeof(float) * count, running, cancel, [&] {
        scale += 0.25F;
        threads.parallel_for(count, 1U << 16, [&](std::size_t begin, std::size_t end, std::size_t) {
            float* __restrict to = a.get();
            const float* from = b.get();
            const float* by = c.get();
            const float s = scale;
            for (std::size_t i = begin; i < end; ++i) to[i] = from[i] + s * by[i];
        });
    });
}

/// Operations per second of n×n by n×n. Nothing when oneDNN only has its plain reference loops.
Expected<std::optional<Rate>> gemm(dnnl::memory::data_type left, dnnl::memory::data_type right, dnnl::memory::data_type result, int threads, const CancelToken& cancel) {
    constexpr dnnl::memory::dim n = 1536;
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl::memory::dims size = {n, n};
    // Weights in whatever form the kernel likes best, as they are held for running.
    const dnnl::memory::desc a(size, left, dnnl::memory::format_tag::ab), b(size, right, dnnl::memory::format_tag::any), c(size, result, dnnl::memory::format_tag::ab);
    try {
        const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), engine);
        if (std::string(description.impl_info_str()).find("ref") != std::string::npos) return std::optional<Rate>();
        const dnnl::matmul multiply(description);
        const dnnl::memory from(a, engine), by(description.weights_desc(), engine), to(c, engine);
        for (const dnnl::memory& memory : {from, by, to}) std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
        MGS_ASSIGN(const Rate rate, best_rate(2.0 * n * n * n, threads, cancel, [&] {
            multiply.execute(stream, {{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, by}, {DNNL_ARG_DST, to}});
            stream.wait();
        }));
        return std::optional<Rate>(rate);
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_unimplemented) return std::optional<Rate>();
        return fail(ErrorCode::unsupported, std::string("oneDNN cannot multiply matrices here: ") + error.what() + ".");
    }
}

} // namespace

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const auto colon = line.find(':');
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return colon == std::string::npos || begin == std::string::npos ? std::string() : line.substr(begin);
    }
    return {};
}

double multiply_add_peak() {
    double best = peak(run_plain);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) best = std::max(best, peak(run_avx2));
    if (__builtin_cpu_supports("avx512f")) best = std::max(best, peak(run_avx512));
#endif
    return best;
}

double copy_bandwidth() {
    constexpr std::size_t size = std::size_t{256} << 20;
    std::vector<char> from(size, 1), to(size, 2);
    double best = 0;
    for (int i = 0; i < tries; ++i) {
        const auto begin = Clock::now();
        std::memcpy(to.data(), from.data(), size);
        best = std::max(best, 2.0 * size / seconds_since(begin));
    }
    return best;
}

Expected<MachinePeak> measure_machine_peak(int count, const CancelToken& cancel, const Progress& progress) {
    const CpuThreads threads(count);
    const CpuThreads::Scope scope(threads);
    MachinePeak peak;
    peak.cpu = cpu_model();
    peak.threads = threads.count();
    const int running = std::min(peak.threads, ThreadPool::available_cores()); // more can never have the processor at once
    using Type = dnnl::memory::data_type;
    try {
        progress.report("measuring the memory bandwidth", 0, 3);
        MGS_ASSIGN(const Rate memory, triad(threads, running, cancel));
        peak.bandwidth = memory.per_second;
        peak.share = memory.share;
        progress.report("measuring float32 arithmetic", 1, 3);
        MGS_ASSIGN(const std::optional<Rate> float32, gemm(Type::f32, Type::f32, Type::f32, running, cancel));
        if (!float32) return fail(ErrorCode::unsupported, "oneDNN has no fast float32 matrix multiplication for this processor.");
        peak.float32 = float32->per_second;
        peak.share = std::min(peak.share, float32->share);
        progress.report("measuring int8 arithmetic", 2, 3);
        MGS_ASSIGN(const std::optional<Rate> int8, gemm(Type::u8, Type::s8, Type::s32, running, cancel));
        if (int8) {
            peak.int8 = int8->per_second;
            peak.share = std::min(peak.share, int8->share);
        }
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "There is not enough memory to measure the memory bandwidth.");
    }
    return peak;
}

} // namespace megascope
