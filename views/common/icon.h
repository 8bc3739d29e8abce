#pragma once

#include <QIcon>
#include <QString>

namespace megascope {

/// An icon of the set in resources/icons: monochrome SVG drawn in the palette's text colour at the moment of painting, so that it
/// follows the theme. `name` without folder and suffix: "open". An unknown name gives an empty picture.
[[nodiscard]] QIcon themedIcon(const QString& name);

} // namespace megascope
