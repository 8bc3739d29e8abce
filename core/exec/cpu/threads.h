#pragma once

#include <cstddef>
#include <type_traits>

namespace megascope {

/// The threads of the OpenMP runtime that oneDNN brought into the process; Megascope's own loops run on the same ones, so
/// that two pools never compete for the cores. A value type; a count of 1 starts no thread.
class CpuThreads {
public:
    /// 0 = one per core.
    explicit CpuThreads(int count = 1);
    [[nodiscard]] int count() const { return count_; }

    /// While it lives, oneDNN uses `threads.count()` threads for primitives made and run on this thread.
    class Scope {
    public:
        explicit Scope(const CpuThreads& threads);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        int before_ = 0;
    };

    /// Calls `body(begin, end, piece)` for disjoint pieces of [0, count), numbered from 0; at most one per thread and none
    /// shorter than `grain` (unless there is only one). The pieces depend only on count, grain and the number of threads.
    /// `body` must not throw.
    template <class Body>
    void parallel_for(std::size_t count, std::size_t grain, Body&& body) const {
        const std::size_t pieces = pieces_of(count, grain);
        if (pieces <= 1) {
            if (count > 0) body(std::size_t{0}, count, std::size_t{0});
            return;
        }
        struct Job {
            std::remove_reference_t<Body>* body;
            std::size_t count, pieces;
        } job{&body, count, pieces};
        run_pieces(
            [](void* data, std::size_t piece) {
                const Job& j = *static_cast<Job*>(data);
                (*j.body)(j.count * piece / j.pieces, j.count * (piece + 1) / j.pieces, piece);
            },
            &job, pieces);
    }

private:
    [[nodiscard]] std::size_t pieces_of(std::size_t count, std::size_t grain) const;
    void run_pieces(void (*body)(void*, std::size_t), void* data, std::size_t pieces) const;

    int count_ = 1;
};

} // namespace megascope
