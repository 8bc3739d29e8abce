#include "views/graph/spatial_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megascope {

SpatialIndex::SpatialIndex(const std::vector<LayoutRect>& rects) : items_(rects.size()) {
    if (rects.empty()) return;
    std::iota(items_.begin(), items_.end(), 0U);
    std::sort(items_.begin(), items_.end(), [&](std::uint32_t a, std::uint32_t b) { return rects[a].center_y() < rects[b].center_y(); });
    // Slices of the y order, each sorted by x: leaves of 16 neighbours are then roughly square.
    const auto leaves = static_cast<double>((rects.size() + fan_out - 1) / fan_out);
    const auto slice = static_cast<std::size_t>(std::ceil(std::sqrt(leaves))) * fan_out;
    for (std::size_t begin = 0; begin < items_.size(); begin += slice) {
        const auto first = items_.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = items_.begin() + static_cast<std::ptrdiff_t>(std::min(items_.size(), begin + slice));
        std::sort(first, last, [&](std::uint32_t a, std::uint32_t b) { return rects[a].center_x() < rects[b].center_x(); });
    }
    std::vector<Box> level;
    level.reserve(items_.size());
    for (std::uint32_t i : items_) level.push_back({rects[i].x, rects[i].y, rects[i].right(), rects[i].bottom()});
    levels_.push_back(std::move(level));
    while (levels_.back().size() > fan_out) {
        const std::vector<Box>& below = levels_.back();
        std::vector<Box> above;
        for (std::size_t i = 0; i < below.size(); i += fan_out) {
            Box box = below[i];
            for (std::size_t k = i + 1; k < std::min(below.size(), i + fan_out); ++k) {
                box.left = std::min(box.left, below[k].left);
                box.top = std::min(box.top, below[k].top);
                box.right = std::max(box.right, below[k].right);
                box.bottom = std::max(box.bottom, below[k].bottom);
            }
            above.push_back(box);
        }
        levels_.push_back(std::move(above));
    }
}

} // namespace megascope
