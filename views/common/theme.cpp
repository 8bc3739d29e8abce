#include "views/common/theme.h"

#include <QApplication>
#include <QStyleFactory>
#include <QStyleHints>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace megascope {

namespace {

double linearToSrgb(double v) {
    v = std::clamp(v, 0.0, 1.0);
    return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}

double srgbToLinear(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }

struct LinearRgb {
    double r, g, b;
    [[nodiscard]] bool inGamut() const {
        const auto in = [](double v) { return v >= -1e-6 && v <= 1 + 1e-6; };
        return in(r) && in(g) && in(b);
    }
};

/// OKLab (Björn Ottosson, 2020) in polar form to linear sRGB.
LinearRgb fromOklch(double lightness, double chroma, double hueDegrees) {
    const double hue = hueDegrees * std::numbers::pi / 180;
    const double a = chroma * std::cos(hue);
    const double b = chroma * std::sin(hue);
    const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

QColor oklch(double lightness, double chroma, double hueDegrees) {
    LinearRgb rgb = fromOklch(lightness, chroma, hueDegrees);
    while (!rgb.inGamut() && chroma > 0.001) { // give up colourfulness, never lightness
        chroma *= 0.95;
        rgb = fromOklch(lightness, chroma, hueDegrees);
    }
    return QColor::fromRgbF(static_cast<float>(linearToSrgb(rgb.r)), static_cast<float>(linearToSrgb(rgb.g)),
                            static_cast<float>(linearToSrgb(rgb.b)));
}

struct CategoryHue {
    double hue;
    double chroma;
};

/// Frequent categories lie on the blue–yellow axis, which red–green blindness leaves alone, or differ in colourfulness.
CategoryHue categoryHue(OprCategory category) {
    switch (category) {
    case OprCategory::convolution: return {255, 0.115};
    case OprCategory::matmul: return {300, 0.115};
    case OprCategory::elementwise: return {92, 0.11};
    case OprCategory::normalisation: return {165, 0.085};
    case OprCategory::pooling: return {52, 0.115};
    case OprCategory::shape: return {255, 0.022};
    case OprCategory::data: return {205, 0.06};
    case OprCategory::reduction: return {15, 0.105};
    case OprCategory::indexing: return {275, 0.055};
    case OprCategory::image: return {345, 0.10};
    case OprCategory::random: return {125, 0.10};
    case OprCategory::rnn: return {322, 0.085};
    case OprCategory::quantization: return {72, 0.06};
    case OprCategory::control: return {30, 0.03};
    case OprCategory::external: return {230, 0.035};
    case OprCategory::other: return {0, 0.0};
    }
    return {0, 0};
}

constexpr std::array<QRgb, 9> viridisStops = {0xff440154, 0xff472d7b, 0xff3b528b, 0xff2c728e, 0xff21918c,
                                              0xff28ae80, 0xff5ec962, 0xffaddc30, 0xfffde725};

QColor mix(const QColor& a, const QColor& b, double t) {
    const auto channel = [t](float x, float y) { return static_cast<float>(x + (y - x) * t); };
    return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()), channel(a.blueF(), b.blueF()));
}

double luminance(const QColor& c) {
    return 0.2126 * srgbToLinear(c.redF()) + 0.7152 * srgbToLinear(c.greenF()) + 0.0722 * srgbToLinear(c.blueF());
}

QPalette makePalette(const QColor& window, const QColor& base, const QColor& alternate, const QColor& text, const QColor& dimmed,
                     const QColor& separator, const QColor& button, const QColor& accent, const QColor& accentText) {
    QPalette p;
    p.setColor(QPalette::Window, window);
    p.setColor(QPalette::WindowText, text);
    p.setColor(QPalette::Base, base);
    p.setColor(QPalette::AlternateBase, alternate);
    p.setColor(QPalette::Text, text);
    p.setColor(QPalette::PlaceholderText, dimmed);
    p.setColor(QPalette::Button, button);
    p.setColor(QPalette::ButtonText, text);
    p.setColor(QPalette::BrightText, text);
    p.setColor(QPalette::ToolTipBase, base);
    p.setColor(QPalette::ToolTipText, text);
    p.setColor(QPalette::Highlight, accent);
    p.setColor(QPalette::HighlightedText, accentText);
    p.setColor(QPalette::Link, accent);
    p.setColor(QPalette::LinkVisited, accent);
    p.setColor(QPalette::Light, base);
    p.setColor(QPalette::Midlight, window);
    p.setColor(QPalette::Mid, separator);
    p.setColor(QPalette::Dark, separator.darker(115));
    p.setColor(QPalette::Shadow, separator.darker(140));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) p.setColor(QPalette::Disabled, role, mix(dimmed, window, 0.25));
    p.setColor(QPalette::Disabled, QPalette::Highlight, separator);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, text);
    return p;
}

/// Thin separators and quiet docks; colours come from the palette so that both themes share one sheet.
QString styleSheet(const QPalette& p) {
    const ThemeColours c = themeColours(p);
    return QStringLiteral(
               "QMainWindow::separator { background: %1; width: 1px; height: 1px; }"
               "QMainWindow::separator:hover { background: %2; }"
               "QToolBar { border: 0; border-bottom: 1px solid %1; spacing: 4px; padding: 4px 8px; }"
               "QToolBar::separator { width: 1px; background: %1; margin: 4px 4px; }"
               "QStatusBar { border-top: 1px solid %1; }"
               "QStatusBar::item { border: 0; }"
               "QDockWidget { titlebar-close-icon: none; titlebar-normal-icon: none; }"
               "QDockWidget::title { background: %3; padding: 6px 8px; border-bottom: 1px solid %1; }"
               "QTabBar::tab { padding: 6px 12px; border: 0; border-bottom: 2px solid transparent; background: transparent; }"
               "QTabBar::tab:selected { border-bottom: 2px solid %2; }"
               "QTabBar::tab:!selected { color: %4; }"
               "QTabBar::tab:hover:!selected { color: %5; }"
               "QTabWidget::pane { border: 0; border-top: 1px solid %1; }"
               "QHeaderView { background: %3; }"
               "QHeaderView::section { background: %3; color: %4; padding: 4px 6px; border: 0; border-right: 1px solid %1;"
               " border-bottom: 1px solid %1; }"
               "QAbstractItemView { outline: 0; }"
               "QAbstractScrollArea::corner { background: transparent; border: 0; }"
               "QTreeView::item, QListView::item { padding: 2px 0; }"
               "QScrollBar { background: transparent; border: 0; }"
               "QScrollBar:vertical { width: 12px; } QScrollBar:horizontal { height: 12px; }"
               "QScrollBar::handle { background: %1; border-radius: 4px; margin: 2px; }"
               "QScrollBar::handle:vertical { min-height: 24px; } QScrollBar::handle:horizontal { min-width: 24px; }"
               "QScrollBar::handle:hover { background: %4; }"
               "QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }"
               "QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }"
               "QToolTip { border: 1px solid %1; padding: 4px; background: %6; color: %5; }"
               "QMenuBar { border-bottom: 1px solid %1; }")
        .arg(c.separator.name(), c.accent.name(), p.color(QPalette::Window).name(), c.dimmedText.name(),
             p.color(QPalette::Text).name(), p.color(QPalette::Base).name());
}

} // namespace

QPalette lightPalette() {
    return makePalette(QColor(0xf5, 0xf6, 0xf8), Qt::white, QColor(0xf8, 0xf9, 0xfb), QColor(0x1b, 0x1f, 0x24), QColor(0x5b, 0x65, 0x70),
                       QColor(0xd7, 0xdb, 0xe0), QColor(0xfb, 0xfc, 0xfd), QColor(0x1f, 0x5f, 0xbf), Qt::white);
}

QPalette darkPalette() {
    return makePalette(QColor(0x20, 0x23, 0x28), QColor(0x18, 0x1a, 0x1e), QColor(0x1d, 0x20, 0x24), QColor(0xe6, 0xe9, 0xed),
                       QColor(0x9c, 0xa6, 0xb1), QColor(0x36, 0x3b, 0x43), QColor(0x2b, 0x2f, 0x36), QColor(0x7a, 0xb2, 0xff),
                       QColor(0x10, 0x14, 0x1a));
}

bool isDark(const QPalette& palette) { return luminance(palette.color(QPalette::Base)) < 0.2; }

void applyTheme(QApplication& app, ThemeMode mode) {
    // The system's own palette, before this function replaced it for the first time.
    static const bool systemIsDark = isDark(QApplication::palette());
    const bool dark = mode == ThemeMode::dark || (mode == ThemeMode::system && systemIsDark);
    app.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    const QPalette palette = dark ? darkPalette() : lightPalette();
    QApplication::setPalette(palette);
    app.setStyleSheet(styleSheet(palette));
}

ThemeColours themeColours(const QPalette& palette) {
    ThemeColours c;
    c.dimmedText = palette.color(QPalette::PlaceholderText);
    c.dimmedText.setAlpha(255);
    c.separator = palette.color(QPalette::Mid);
    c.accent = palette.color(QPalette::Highlight);
    if (isDark(palette)) {
        c.good = QColor(0x63, 0xc7, 0x8b);
        c.bad = QColor(0xff, 0x8f, 0x87);
        c.caution = QColor(0xe8, 0xb9, 0x5c);
        c.badFill = QColor(0x4a, 0x25, 0x27);
        c.cautionFill = QColor(0x45, 0x38, 0x1c);
    } else {
        c.good = QColor(0x17, 0x7a, 0x46);
        c.bad = QColor(0xb8, 0x25, 0x2c);
        c.caution = QColor(0x8a, 0x5a, 0x00);
        c.badFill = QColor(0xfd, 0xe8, 0xe8);
        c.cautionFill = QColor(0xfd, 0xf2, 0xd6);
    }
    return c;
}

QColor categoryFill(OprCategory category, bool dark) {
    const auto [hue, chroma] = categoryHue(category);
    return dark ? oklch(0.40, chroma * 0.75, hue) : oklch(0.89, chroma * 0.62, hue);
}

QColor categoryOutline(OprCategory category, bool dark) {
    const auto [hue, chroma] = categoryHue(category);
    return dark ? oklch(0.70, chroma, hue) : oklch(0.58, chroma * 1.1, hue);
}

QColor viridis(double t) {
    t = std::isnan(t) ? 0 : std::clamp(t, 0.0, 1.0);
    const double at = t * (viridisStops.size() - 1);
    const auto i = std::min(static_cast<std::size_t>(at), viridisStops.size() - 2);
    return mix(QColor::fromRgb(viridisStops[i]), QColor::fromRgb(viridisStops[i + 1]), at - static_cast<double>(i));
}

QColor diverging(double t, bool dark) {
    t = std::isnan(t) ? 0 : std::clamp(t, -1.0, 1.0);
    const QColor neutral = dark ? QColor(0x3d, 0x3e, 0x41) : QColor(0xee, 0xee, 0xee);
    const QColor end = t < 0 ? (dark ? oklch(0.68, 0.13, 250) : oklch(0.52, 0.14, 255)) : (dark ? oklch(0.72, 0.14, 60) : oklch(0.60, 0.15, 50));
    return mix(neutral, end, std::abs(t));
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor readableOn(const QColor& background) {
    return contrastRatio(Qt::black, background) >= contrastRatio(Qt::white, background) ? QColor(Qt::black) : QColor(Qt::white);
}

} // namespace megascope
