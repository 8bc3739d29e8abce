#pragma once

#include <QImage>
#include <QString>

#include "base/error.h"
#include "views/graph/graph_painter.h"

namespace megascope {

/// Writes the whole drawing, never only what a view shows, and below it what its colours mean (`options.legend`). The suffix decides: .svg, .pdf, .png for the drawing as it is expanded;
/// .dot and .json for all operators as text.
/// A PNG has `png_scale` pixels per layout unit; 0: one, less when that would pass `png_side` or `png_pixels`. PDF pages shrink to 200
/// inches. GUI thread (fonts). Errors: io with the system's reason; invalid_argument for another suffix, or for a PNG scale that passes
/// the limits (it says which scale fits); out_of_memory.
[[nodiscard]] Expected<void> export_graph(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts,
                                          const GraphPaintOptions& options, const QString& path, double png_scale = 0);

inline constexpr double png_side = 30000;   ///< most pixels of one side of a PNG
inline constexpr double png_pixels = 2.5e8; ///< and altogether: 1 GB while it is painted

struct PngSize {
    double width = 0, height = 0; ///< pixels at the scale asked for
    double scale = 1;             ///< the largest scale within the limits, at most the one asked for
};
[[nodiscard]] PngSize png_size(const GraphPicture& picture, const GraphFonts& fonts, const GraphPaintOptions& options, double scale);
/// The whole drawing with its legend; null when there is not enough memory for it or it passes the limits.
[[nodiscard]] QImage graph_image(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts, const GraphPaintOptions& options,
                                 double scale);

} // namespace megascope
