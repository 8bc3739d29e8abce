#include "exec/cpu/threads.h"

#include <algorithm>
#include <atomic>

#include <dlfcn.h>

#include "base/thread_pool.h"

namespace megascope {
namespace {

/// The entry points of the OpenMP runtime of oneDNN (libgomp, or a runtime that takes its place). Looked up by name so that
/// the program never brings a second runtime, whichever compiler built it.
struct OpenMp {
    void (*set_num_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    int (*get_max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    void (*parallel)(void (*)(void*), void*, unsigned,
                     unsigned) = reinterpret_cast<void (*)(void (*)(void*), void*, unsigned, unsigned)>(dlsym(RTLD_DEFAULT,
                                                                                                              "GOMP_parallel"));
};

const OpenMp& openmp() {
    static const OpenMp functions;
    return functions;
}

} // namespace

CpuThreads::CpuThreads(int count) : count_(count > 0 ? count : ThreadPool::available_cores()) {}

CpuThreads::Scope::Scope(const CpuThreads& threads) {
    if (!openmp().set_num_threads || !openmp().get_max_threads) return;
    before_ = openmp().get_max_threads();
    openmp().set_num_threads(threads.count());
}

CpuThreads::Scope::~Scope() {
    if (before_ > 0) openmp().set_num_threads(before_);
}

std::size_t CpuThreads::pieces_of(std::size_t count, std::size_t grain) const {
    if (count_ == 1 || !openmp().parallel) return 1;
    return std::min<std::size_t>(static_cast<std::size_t>(count_), count / std::max<std::size_t>(grain, 1));
}

void CpuThreads::run_pieces(void (*body)(void*, std::size_t), void* data, std::size_t pieces) const {
    struct Shared {
        void (*body)(void*, std::size_t);
        void* data;
        std::size_t pieces;
        std::atomic<std::size_t> next;
    } shared{body, data, pieces, 0};
    // Threads take pieces in turn: should the runtime give fewer threads than asked for, every piece still runs.
    openmp().parallel(
        [](void* p) {
            Shared& s = *static_cast<Shared*>(p);
            for (std::size_t piece = s.next.fetch_add(1); piece < s.pieces; piece = s.next.fetch_add(1)) s.body(s.data, piece);
        },
        &shared, static_cast<unsigned>(pieces), 0);
}

} // namespace megascope
