#pragma once

#include "profile/timeline.h"

namespace megascope {

/// A slice before it has its place in a row.
struct TimelineSlice {
    double start = 0;
    double end = 0;
    StringId name;
    std::uint32_t source = 0;
    bool instant = false;
};

/// Sorts the slices by (start, longest first), gives each its depth and fills the row. Returns how many overlap their
/// predecessor without being inside it; they are drawn one level deeper.
std::size_t fill_row(TimelineRow& row, std::vector<TimelineSlice>& slices);

} // namespace megascope
