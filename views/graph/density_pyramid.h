#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/geometry.h"

namespace megascope {

/// Where boxes are, at ever coarser resolution: what a view paints when boxes are smaller than a few pixels, so that the cost of a
/// picture follows its pixels and not its boxes. Immutable; any thread.
class DensityPyramid {
public:
    static constexpr double finest = 64; ///< side of a cell of level 0, in layout units; each level doubles it

    struct Cell {
        std::uint32_t x = 0, y = 0; ///< in cells of the level
        std::uint32_t node = 0;     ///< the box that covers most of it
        float coverage = 0;         ///< part of the cell that boxes cover, 0..1
    };

    DensityPyramid() = default;
    explicit DensityPyramid(const std::vector<LayoutRect>& boxes);

    /// The finest level whose cells are at least `size` wide.
    [[nodiscard]] std::size_t level_for(double size) const;
    [[nodiscard]] static double cell_size(std::size_t level) { return finest * static_cast<double>(std::uint64_t{1} << level); }
    [[nodiscard]] bool empty() const { return levels_.empty(); }

    /// Calls `visit(cell)` for all cells of a level that touch the region.
    template <class Visit>
    void query(std::size_t level, const LayoutRect& region, Visit&& visit) const;

private:
    struct Level {
        std::vector<Cell> cells;               ///< by row, then column
        std::vector<std::uint32_t> row_begin;  ///< index of the first cell of each row, plus an end
    };
    std::vector<Level> levels_;
};

template <class Visit>
void DensityPyramid::query(std::size_t level, const LayoutRect& region, Visit&& visit) const {
    const Level& l = levels_[level];
    const double size = cell_size(level);
    const auto clamp_row = [&](double y) {
        return static_cast<std::size_t>(std::clamp(y / size, 0.0, static_cast<double>(l.row_begin.size() - 1)));
    };
    const std::size_t first = clamp_row(region.y), last = std::min(l.row_begin.size() - 1, clamp_row(region.bottom()) + 1);
    const double left = region.x / size - 1, right = region.right() / size;
    for (std::size_t row = first; row < last; ++row)
        for (std::uint32_t i = l.row_begin[row]; i < l.row_begin[row + 1]; ++i)
            if (l.cells[i].x >= left && l.cells[i].x <= right) visit(l.cells[i]);
}

} // namespace megascope
