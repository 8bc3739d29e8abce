#pragma once

// Sizes of a timeline's parts in pixels, shared by its files.

namespace megascope::timeline_metrics {

inline constexpr int headerWidth = 180;
inline constexpr int rulerHeight = 24;
inline constexpr int laneHeight = 18;
inline constexpr int groupHeight = 22;
inline constexpr int counterHeight = 44;
inline constexpr int rowGap = 6;

} // namespace megascope::timeline_metrics
