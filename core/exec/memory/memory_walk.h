#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/memory/memory_model.h"
#include "exec/memory/schedule.h"

namespace megascope {

/// Goes through the operators of a model and writes a schedule: what is read but was dropped is computed again first. A policy
/// says what to drop. One walk makes one schedule.
class MemoryWalk {
public:
    /// When the schedule becomes `longest` times as long as the plain one, nothing is dropped early any more. When the peak passes
    /// `bound`, the walk ends: its schedule is not whole and only says that it is no better.
    MemoryWalk(const Graph& graph, const MemoryModel& model, std::size_t longest = 20, std::size_t bound = SIZE_MAX);
    virtual ~MemoryWalk() = default;
    MemoryWalk(const MemoryWalk&) = delete;
    MemoryWalk& operator=(const MemoryWalk&) = delete;

    /// Runs the walk. Call once.
    [[nodiscard]] MemoryPlanResult run();

protected:
    /// Before a step allocates `bytes`: a policy may call `evict`.
    virtual void make_room(std::size_t /*bytes*/) {}
    /// After the walk's step at `position()`: is a piece that somebody will still read dropped until then? Asked for the pieces that
    /// the step read or made, those of computing again included.
    [[nodiscard]] virtual bool drop_after(std::uint32_t /*piece*/) const { return false; }
    /// A piece that is kept although nobody reads it any more (computing others again will).
    [[nodiscard]] virtual bool keep_for_others(std::uint32_t /*piece*/) const { return false; }

    /// Drops a piece that is not pinned.
    void evict(std::uint32_t piece);
    [[nodiscard]] bool frozen() const { return frozen_; }
    [[nodiscard]] bool resident(std::uint32_t piece) const { return resident_[piece]; }
    [[nodiscard]] bool pinned(std::uint32_t piece) const { return pins_[piece] > 0; }
    /// The next position, from the current one on, whose operator reads the piece; `MemoryModel::none` when there is none. The
    /// operator that is about to run counts.
    [[nodiscard]] std::uint32_t next_use(std::uint32_t piece) const;
    [[nodiscard]] std::uint32_t position() const { return position_; }
    [[nodiscard]] std::size_t in_use() const { return in_use_; }
    [[nodiscard]] const MemoryModel& model() const { return model_; }
    [[nodiscard]] const std::vector<std::uint32_t>& resident_pieces() const { return resident_list_; }

private:
    /// Makes all vars that the operator reads available: what has to run again runs once each, inputs before their readers.
    void provide_inputs(std::uint32_t step);
    void execute(std::uint32_t step, bool again);
    /// One reader less; the last one lets the piece go.
    void unpin(std::uint32_t piece);
    void settle(std::uint32_t piece);
    void drop_now(std::uint32_t piece);
    void add(std::uint32_t piece);

    const Graph& graph_;
    const MemoryModel& model_;
    MemoryPlanResult result_;
    std::vector<bool> have_;     ///< by VarId: its value is at hand
    std::vector<bool> resident_; ///< by piece
    std::vector<std::uint32_t> pins_; ///< by piece: readers that wait for it, the operator at `position_` included
    std::vector<std::uint32_t> resident_list_;
    std::vector<std::uint32_t> place_; ///< by piece: where in `resident_list_`
    std::vector<std::uint32_t> step_of_; ///< by OprId
    std::vector<std::uint32_t> listed_;  ///< by step: the last position for which it was put on the list to run again
    std::vector<std::uint32_t> held_;    ///< by piece: the last position at which a piece that cannot be made again may be read
    std::vector<std::uint32_t> touched_; ///< pieces that the current step read or made
    std::size_t longest_;
    std::size_t bound_;
    std::uint32_t position_ = 0;
    bool frozen_ = false;        ///< nothing is dropped early any more
    bool done_ = false;          ///< the operator at `position_` has run
    std::size_t in_use_ = 0;
};

/// Every operator once, values until their last reader.
[[nodiscard]] MemoryPlanResult plan_plain(const Graph& graph, const MemoryModel& model);

} // namespace megascope
