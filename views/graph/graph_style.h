#pragma once

#include <QColor>
#include <QPalette>

#include <array>
#include <cstdint>

#include "opr/catalogue.h"

namespace megascope {

/// Colours of a graph drawing, derived from a palette so that light and dark follow the window.
struct GraphStyle {
    explicit GraphStyle(const QPalette& palette);

    bool dark = false;
    QColor background, text, dimmed, edge, frame_border, accent;
    QColor group_fill, group_border, pill_fill, pill_border;
    QColor upstream, downstream; ///< edges and outlines before and after the selection
    QColor found;                ///< search hits

    [[nodiscard]] QColor frame_fill(std::uint32_t depth) const;
    [[nodiscard]] QColor fill(OprCategory category) const { return fills_[static_cast<std::size_t>(category)]; }
    [[nodiscard]] QColor outline(OprCategory category) const { return outlines_[static_cast<std::size_t>(category)]; }

private:
    std::array<QColor, 16> fills_, outlines_;
};

[[nodiscard]] QColor mixed(const QColor& a, const QColor& b, double part_of_b);

} // namespace megascope
