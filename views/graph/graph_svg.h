#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "views/graph/graph_export.h"

class QIODevice;

namespace megascope {

/// Writes a drawing (one layout unit per SVG unit) as a document that other programs can take apart:
///
///   <g class="frame" | "opr" | "input" | "output" | "constant" | "group" | "edge">
///     <title>everything it is called, unshortened</title> … what GraphPainter paints at 100 % …
///
/// One group per frame, box and line; a line that stands for several values names all of them. Browsers show titles as tooltips. What
/// the colours mean stands in a group "legend" below.
/// Blocking; any thread. Errors: io when the device does not take it; cancelled.
[[nodiscard]] Expected<void> write_svg(const GraphDrawing& drawing, QIODevice& device, const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
