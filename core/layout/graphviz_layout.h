#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "layout/layout.h"

namespace megascope {

/// Lays out with Graphviz' dot in this process. libgvc keeps global state, so calls wait for each other, and a running layout
/// cannot be stopped: `cancel` is asked before and after. dot's time grows with the square of the number of long edges,
/// hence the limit on nodes. Splines are never orthogonal (that mode can abort the process).
/// Errors: invalid_argument above `graphviz_node_limit` nodes; unsupported when the dot plugin is missing or dot refuses;
/// cancelled. Precondition: `input` was checked by `run_layout`.
[[nodiscard]] Expected<LayoutResult> graphviz_layout(const LayoutInput& input, const LayoutOptions& options, const CancelToken& cancel);

} // namespace megascope
