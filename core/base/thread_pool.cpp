#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace megascope {

namespace {

/// Set while a thread runs a piece: nested loops then stay on that thread.
thread_local bool inside_piece = false;

struct Loop {
    const std::function<void(std::size_t, std::size_t)>* body = nullptr;
    std::size_t count = 0;
    std::size_t piece = 0;
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure; ///< guarded by the pool's mutex
};

} // namespace

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable idle;
    Loop* loop = nullptr;      ///< the running loop; guarded by `mutex`
    std::uint64_t generation = 0;
    std::size_t busy = 0;      ///< threads that still look at `loop`
    bool stop = false;
    std::vector<std::thread> threads;

    void work(Loop& current) {
        inside_piece = true;
        while (true) {
            const std::size_t begin = current.next.fetch_add(current.piece, std::memory_order_relaxed);
            if (begin >= current.count) break;
            try {
                (*current.body)(begin, std::min(begin + current.piece, current.count));
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!current.failure) current.failure = std::current_exception();
                current.next.store(current.count, std::memory_order_relaxed);
            }
        }
        inside_piece = false;
    }

    void thread_main() {
        std::uint64_t seen = 0;
        std::unique_lock lock(mutex);
        while (true) {
            wake.wait(lock, [&] { return stop || (loop && generation != seen); });
            if (stop) return;
            seen = generation;
            Loop& current = *loop;
            ++busy;
            lock.unlock();
            work(current);
            lock.lock();
            if (--busy == 0) idle.notify_one();
        }
    }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
    const int wanted = threads > 0 ? threads : available_cores();
    try {
        for (int i = 1; i < wanted; ++i) state_->threads.emplace_back([state = state_.get()] { state->thread_main(); });
    } catch (const std::system_error&) {
        // Fewer threads than asked for: slower, not wrong.
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stop = true;
    }
    state_->wake.notify_all();
    for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
    if (count == 0) return;
    grain = std::max<std::size_t>(grain, 1);
    const auto workers = static_cast<std::size_t>(threads());
    if (workers == 1 || count <= grain || inside_piece) {
        body(0, count);
        return;
    }
    // About four pieces per thread even out pieces of unequal cost.
    const std::size_t piece = std::max(grain, (count + workers * 4 - 1) / (workers * 4));
    Loop loop;
    loop.body = &body;
    loop.count = count;
    loop.piece = piece;
    {
        const std::lock_guard lock(state_->mutex);
        state_->loop = &loop;
        ++state_->generation;
    }
    state_->wake.notify_all();
    state_->work(loop);
    std::unique_lock lock(state_->mutex);
    state_->loop = nullptr; // a thread that wakes late finds no loop
    state_->idle.wait(lock, [&] { return state_->busy == 0; });
    if (loop.failure) std::rethrow_exception(loop.failure);
}

int ThreadPool::available_cores() {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

} // namespace megascope
