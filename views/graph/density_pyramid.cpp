#include "views/graph/density_pyramid.h"

#include <algorithm>
#include <cmath>

namespace megascope {

namespace {

using Cell = DensityPyramid::Cell;

bool before(const Cell& a, const Cell& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

/// Joins cells of the same place; the one with the largest part names the node.
void merge(std::vector<Cell>& cells) {
    std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
        if (a.y != b.y || a.x != b.x) return before(a, b);
        return a.coverage != b.coverage ? a.coverage > b.coverage : a.node < b.node;
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (kept > 0 && cells[kept - 1].x == cells[i].x && cells[kept - 1].y == cells[i].y) {
            cells[kept - 1].coverage = std::min(1.0F, cells[kept - 1].coverage + cells[i].coverage);
        } else {
            cells[kept++] = cells[i];
        }
    }
    cells.resize(kept);
}

} // namespace

DensityPyramid::DensityPyramid(const std::vector<LayoutRect>& boxes) {
    std::vector<Cell> cells;
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        const LayoutRect& b = boxes[i];
        const auto x0 = static_cast<std::uint32_t>(std::max(0.0, b.x / finest)), x1 = static_cast<std::uint32_t>(std::max(0.0, b.right() / finest));
        const auto y0 = static_cast<std::uint32_t>(std::max(0.0, b.y / finest)), y1 = static_cast<std::uint32_t>(std::max(0.0, b.bottom() / finest));
        for (std::uint32_t y = y0; y <= y1; ++y)
            for (std::uint32_t x = x0; x <= x1; ++x) {
                const double w = std::min(b.right(), (x + 1) * finest) - std::max(b.x, x * finest);
                const double h = std::min(b.bottom(), (y + 1) * finest) - std::max(b.y, y * finest);
                const auto part = static_cast<float>(w * h / (finest * finest));
                if (part > 0) cells.push_back({x, y, i, part});
            }
    }
    while (!cells.empty()) {
        merge(cells);
        Level level;
        level.cells = cells;
        level.row_begin.assign(std::size_t{cells.back().y} + 2, 0);
        for (const Cell& c : cells) ++level.row_begin[c.y + 1];
        for (std::size_t r = 1; r < level.row_begin.size(); ++r) level.row_begin[r] += level.row_begin[r - 1];
        levels_.push_back(std::move(level));
        if (cells.size() < 64 || levels_.size() > 20) break;
        for (Cell& c : cells) {
            c.x /= 2;
            c.y /= 2;
            c.coverage /= 4;
        }
    }
}

std::size_t DensityPyramid::level_for(double size) const {
    std::size_t level = 0;
    while (level + 1 < levels_.size() && cell_size(level) < size) ++level;
    return level;
}

} // namespace megascope
