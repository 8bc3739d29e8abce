#pragma once

#include <QString>

#include "base/error.h"
#include "views/graph/graph_painter.h"

namespace megascope {

/// Writes the whole drawing, never only what a view shows. The suffix decides: .svg, .pdf, .png for the drawing as it is expanded;
/// .dot and .json for all operators as text.
/// A PNG has one pixel per layout unit, less when a side would pass 30,000 pixels; PDF pages shrink to 200 inches. GUI thread
/// (fonts). Errors: io with the system's reason; invalid_argument for another suffix; out_of_memory.
[[nodiscard]] Expected<void> export_graph(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts,
                                          const GraphPaintOptions& options, const QString& path);

} // namespace megascope
