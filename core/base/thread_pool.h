#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace megascope {

/// Threads that share loops. The caller of `parallel_for` works, too, so a pool of n threads starts n - 1; a pool of one
/// starts none and runs everything on the caller. The object may be used by one caller at a time.
class ThreadPool {
public:
    /// `threads` <= 0: one per core. Where the system refuses a thread the pool is smaller; see `threads()`.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] int threads() const;

    /// Calls `body(begin, end)` for disjoint pieces that cover [0, count), none shorter than `grain` except the last one, and
    /// returns after all of them. Which thread takes which piece is not determined; the pieces themselves depend only on count,
    /// grain and `threads()`, so a result that is computed per piece does not change from run to run.
    /// A call from inside a body runs on the calling thread. The first exception of a body is thrown again here.
    void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

    /// Cores that this process may use (its affinity mask), at least 1.
    [[nodiscard]] static int available_cores();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace megascope
