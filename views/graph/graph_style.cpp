#include "views/graph/graph_style.h"

#include <algorithm>

#include "views/common/theme.h"

namespace megascope {

QColor mixed(const QColor& a, const QColor& b, double t) {
    const auto channel = [t](float x, float y) { return static_cast<float>(x + (y - x) * t); };
    return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()), channel(a.blueF(), b.blueF()),
                            channel(a.alphaF(), b.alphaF()));
}

GraphStyle::GraphStyle(const QPalette& palette) : dark(isDark(palette)) {
    const ThemeColours theme = themeColours(palette);
    background = palette.color(QPalette::Base);
    text = palette.color(QPalette::Text);
    dimmed = theme.dimmedText;
    accent = theme.accent;
    edge = mixed(background, text, dark ? 0.45 : 0.42);
    frame_border = mixed(background, text, dark ? 0.24 : 0.18);
    group_fill = mixed(background, text, dark ? 0.13 : 0.07);
    group_border = mixed(background, text, dark ? 0.48 : 0.42);
    pill_fill = mixed(background, text, dark ? 0.08 : 0.02);
    pill_border = mixed(background, text, dark ? 0.32 : 0.28);
    upstream = dark ? QColor(0x6f, 0xc3, 0xe8) : QColor(0x1b, 0x7f, 0xb0);
    downstream = dark ? QColor(0xf2, 0xa6, 0x5e) : QColor(0xb8, 0x5c, 0x0c);
    found = dark ? QColor(0xff, 0xd5, 0x4a) : QColor(0xe0, 0x9b, 0x00);
    for (std::size_t i = 0; i < fills_.size(); ++i) {
        fills_[i] = categoryFill(static_cast<OprCategory>(i), dark);
        outlines_[i] = categoryOutline(static_cast<OprCategory>(i), dark);
    }
}

QColor GraphStyle::frame_fill(std::uint32_t depth) const {
    return mixed(background, text, (dark ? 0.030 : 0.022) * std::min<std::uint32_t>(depth + 1, 5));
}

} // namespace megascope
