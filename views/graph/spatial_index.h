#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/geometry.h"

namespace megascope {

/// Finds the rectangles that touch a region: a packed R-tree (sort-tile-recursive), built once. Immutable; any thread.
class SpatialIndex {
public:
    SpatialIndex() = default;
    explicit SpatialIndex(const std::vector<LayoutRect>& rects);

    /// Calls `visit(index)` for every rectangle that touches `region`, in no particular order.
    template <class Visit>
    void query(const LayoutRect& region, Visit&& visit) const {
        if (levels_.empty()) return;
        descend(levels_.size() - 1, 0, static_cast<std::uint32_t>(levels_.back().size()), region, visit);
    }

private:
    static constexpr std::uint32_t fan_out = 16;
    struct Box {
        double left = 0, top = 0, right = 0, bottom = 0;
        [[nodiscard]] bool touches(const LayoutRect& r) const {
            return left <= r.right() && r.x <= right && top <= r.bottom() && r.y <= bottom;
        }
    };

    template <class Visit>
    void descend(std::size_t level, std::uint32_t begin, std::uint32_t end, const LayoutRect& region, Visit& visit) const {
        for (std::uint32_t i = begin; i < end; ++i) {
            if (!levels_[level][i].touches(region)) continue;
            if (level == 0) {
                visit(items_[i]);
                continue;
            }
            const auto child_end = std::min<std::size_t>(std::size_t{i + 1} * fan_out, levels_[level - 1].size());
            descend(level - 1, i * fan_out, static_cast<std::uint32_t>(child_end), region, visit);
        }
    }

    std::vector<std::vector<Box>> levels_; ///< the leaves first
    std::vector<std::uint32_t> items_;     ///< leaf -> rectangle
};

} // namespace megascope
