#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/timeline.h"

namespace megascope {

/// A run of slices that one pixel (or one rectangle) stands for.
struct LaneRun {
    double start = 0;          ///< microseconds
    double end = 0;
    std::uint32_t slice = 0;   ///< index into the row: the only one, or one of several
    std::uint32_t count = 1;   ///< how many slices the run may stand for; 1 = exactly `slice`
    StringId name;             ///< of `slice`
};

/// One depth of one row: indices of its slices, which do not overlap and are sorted by start.
struct TimelineLane {
    /// A stretch of `block` neighbours (fewer at the lane's end).
    struct Block {
        double start = 0;        ///< microseconds, of its first slice
        double end = 0;          ///< microseconds, of its last one
        std::uint32_t slice = 0; ///< the longest one
        StringId name;           ///< of `slice`
    };
    static constexpr std::size_t block = 16;

    std::vector<std::uint32_t> slices;
    /// What a view of everything is drawn from: a pixel that covers hundreds of slices looks at some blocks that stand side by side,
    /// not at slices all over the row's columns.
    std::vector<Block> blocks;
};

/// Index for drawing: per row, per depth.
struct TimelineLanes {
    std::vector<std::vector<TimelineLane>> rows;
};
[[nodiscard]] TimelineLanes build_lanes(const Timeline& timeline);

/// What to draw of a lane between two times when a pixel covers `microseconds_per_pixel`. Slices narrower than a pixel are merged:
/// the work is O(pixels × log n), whatever the number of slices. Runs come in time order. Where a pixel covers whole blocks, runs end
/// where blocks do.
void collect_runs(const TimelineRow& row, const TimelineLane& lane, double begin, double end, double microseconds_per_pixel,
                  std::vector<LaneRun>& out);

/// The slice of the lane at `time` (with `slack` microseconds to either side), or nothing.
[[nodiscard]] std::optional<std::uint32_t> slice_at(const TimelineRow& row, const TimelineLane& lane, double time, double slack);

/// Statistics of the slices that start in [begin, end), by name; sorted by total time.
struct RangeStatistic {
    StringId name;
    std::size_t count = 0;
    double total = 0;   ///< microseconds, cut to the range
    double longest = 0; ///< microseconds, whole slice
};
[[nodiscard]] std::vector<RangeStatistic> range_statistics(const Timeline& timeline, double begin, double end);

} // namespace megascope
