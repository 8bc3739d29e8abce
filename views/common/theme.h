#pragma once

#include <QColor>
#include <QPalette>

#include "opr/catalogue.h"

class QApplication;

namespace megascope {

/// What the user chose under View > Theme.
enum class ThemeMode { system, light, dark };

/// Sets style, palette and style sheet of the whole program. GUI thread.
void applyTheme(QApplication& app, ThemeMode mode);

/// Is the palette a dark one?
[[nodiscard]] bool isDark(const QPalette& palette);

[[nodiscard]] QPalette lightPalette();
[[nodiscard]] QPalette darkPalette();

/// Colours with a meaning that QPalette has no role for. Text colours have a contrast of at least 4.5 on base and window.
struct ThemeColours {
    QColor dimmedText; ///< defaults, units, secondary lines
    QColor separator;
    QColor accent;     ///< selection outline, links
    QColor good;       ///< passed
    QColor bad;        ///< failed, errors
    QColor caution;    ///< warnings
    QColor badFill;    ///< background of an error bar; palette text on it has a contrast of at least 4.5
    QColor cautionFill;
};
[[nodiscard]] ThemeColours themeColours(const QPalette& palette);

/// Fill of a node or swatch of this category. All fills of one theme share one perceptual lightness (OKLab), so that none stands
/// out by brightness; hues keep apart for the common kinds of colour blindness. Palette text on it has a contrast of at least 4.5.
[[nodiscard]] QColor categoryFill(OprCategory category, bool dark);
/// The same hue, strong enough for an outline or a small swatch.
[[nodiscard]] QColor categoryOutline(OprCategory category, bool dark);

/// Sequential data: viridis, `t` in 0..1 (clamped).
[[nodiscard]] QColor viridis(double t);
/// Differences: blue, neutral, orange; `t` in -1..1 (clamped).
[[nodiscard]] QColor diverging(double t, bool dark);
/// Black or white, whichever reads better on `background`.
[[nodiscard]] QColor readableOn(const QColor& background);
/// WCAG contrast ratio, 1..21.
[[nodiscard]] double contrastRatio(const QColor& a, const QColor& b);

} // namespace megascope
