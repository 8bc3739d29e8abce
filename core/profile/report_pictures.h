#pragma once

#include <string>
#include <vector>

#include "profile/timeline.h"

namespace megascope {

// Pictures of reports, as SVG elements for a page that defines the classes `bar`, `good`, `bad`, `label`, `dim` and `axis`.

struct ChartBar {
    std::string label;
    double value = 0;  ///< negative bars go to the left of the axis
    std::string text;  ///< at the end of the bar
    int tone = 0;      ///< -1 good, 1 bad, 0 neither
};
/// Horizontal bars, one per line.
[[nodiscard]] std::string bar_chart(const std::vector<ChartBar>& bars);

/// The whole timeline, row under row; slices narrower than a pixel are merged. At most `rows` rows, the busiest ones.
[[nodiscard]] std::string timeline_picture(const Timeline& timeline, std::size_t rows = 24);

/// Text for HTML and SVG; bytes that are no UTF-8 become U+FFFD, control characters spaces.
[[nodiscard]] std::string html_escaped(std::string_view text);

} // namespace megascope
