#pragma once

#include <algorithm>

namespace megascope {

// Layout coordinates: device-independent pixels at 100 % zoom, x to the right, y down. Doubles, because a drawing of 100,000
// operators is several million pixels long.

struct LayoutPoint {
    double x = 0;
    double y = 0;
    friend bool operator==(const LayoutPoint&, const LayoutPoint&) = default;
};

struct LayoutRect {
    double x = 0; ///< left
    double y = 0; ///< top
    double width = 0;
    double height = 0;

    [[nodiscard]] double right() const { return x + width; }
    [[nodiscard]] double bottom() const { return y + height; }
    [[nodiscard]] double center_x() const { return x + width / 2; }
    [[nodiscard]] double center_y() const { return y + height / 2; }
    [[nodiscard]] bool empty() const { return width <= 0 || height <= 0; }
    [[nodiscard]] bool contains(LayoutPoint p) const { return p.x >= x && p.x <= right() && p.y >= y && p.y <= bottom(); }
    /// Touching borders do not count as an intersection.
    [[nodiscard]] bool intersects(const LayoutRect& o) const {
        return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom();
    }
    /// The smallest rectangle around both; an empty one (zero width and height) does not count.
    [[nodiscard]] LayoutRect united(const LayoutRect& o) const {
        if (width == 0 && height == 0) return o;
        if (o.width == 0 && o.height == 0) return *this;
        const double left = std::min(x, o.x), top = std::min(y, o.y);
        return {left, top, std::max(right(), o.right()) - left, std::max(bottom(), o.bottom()) - top};
    }
    [[nodiscard]] LayoutRect grown(double d) const { return {x - d, y - d, width + 2 * d, height + 2 * d}; }
    friend bool operator==(const LayoutRect&, const LayoutRect&) = default;
};

} // namespace megascope
