#pragma once

#include <QImage>
#include <QString>

#include <memory>
#include <optional>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "views/graph/graph_painter.h"

namespace megascope {

/// A drawing that is to be written, with all that a job needs for it. A value; `picture` is never null.
struct GraphDrawing {
    std::shared_ptr<const GraphPicture> picture;
    GraphStyle style;
    GraphFonts fonts;
    GraphPaintOptions options;
    GraphHighlight highlight;       ///< nothing for the whole drawing
    std::optional<LayoutRect> part; ///< only what touches it; nothing: the whole drawing with a margin around it

    /// Where the drawing lies on the sheet, and below it what its colours mean (`options.legend`; empty without one). Layout units.
    struct Sheet {
        LayoutRect area, legend;
        LayoutRect whole;
    };
    [[nodiscard]] Sheet sheet() const;
};

/// Writes a drawing; a file appears whole or not at all. The suffix decides: .svg, .pdf, .png for the drawing as it is expanded;
/// .dot and .json for all operators as text, whatever is drawn.
/// A PNG has `png_scale` pixels per layout unit; 0: one, less when that would pass `png_side` or `png_pixels`. PDF pages shrink to 200
/// inches. Blocking; any thread. Errors: io with the system's reason; invalid_argument for another suffix, or for a PNG scale that
/// passes the limits (it says which scale fits); out_of_memory; cancelled.
[[nodiscard]] Expected<void> export_graph(const GraphDrawing& drawing, const QString& path, double png_scale = 0, const CancelToken& cancel = {},
                                          const Progress& progress = {});

inline constexpr double png_side = 30000;   ///< most pixels of one side of a PNG
inline constexpr double png_pixels = 2.5e8; ///< and altogether: 1 GB while it is painted

struct PngSize {
    double width = 0, height = 0; ///< pixels at the scale asked for
    double scale = 1;             ///< the largest scale within the limits, at most the one asked for
};
[[nodiscard]] PngSize png_size(const GraphDrawing& drawing, double scale);
/// The drawing as an image with `scale` pixels per layout unit. Errors: invalid_argument when it passes the limits; out_of_memory;
/// cancelled.
[[nodiscard]] Expected<QImage> graph_image(const GraphDrawing& drawing, double scale, const CancelToken& cancel = {}, const Progress& progress = {});
/// Errors: io.
[[nodiscard]] Expected<void> save_png(const QImage& image, const QString& path);

} // namespace megascope
