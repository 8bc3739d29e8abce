#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "layout/layout.h"

namespace megascope {

// Which engine draws better was measured on 228 genuine dumps (first pictures, and flat drawings where they are small enough):
//
//   boxes     drawings   crossings, own   crossings, dot   lines of dot through foreign boxes   longest run, own / dot
//   12–60     224        149              246              0                                    3 / 20 ms
//   60–150    58         259              10,794           1,315                                14 / 40 ms
//   150–400   50         430              999              295                                  25 / 220 ms
//
// (three more took dot longer than 8 s). Widths agree within a tenth; dot's drawings are 5 to 15 % less tall. On the graphs of the
// layout bench of 100 and 300 operators the layered engine has at most 1.08 times dot's crossings, on the training graph of 300 52
// (and 48 edges taken out) against 668. So the automatic choice is always the layered engine; dot remains for those who want its
// looks, and for DOT files.

/// Lays out with Graphviz' dot in this process. libgvc keeps global state, so calls wait for each other, and a running layout
/// cannot be stopped: `cancel` is asked before and after. dot's time grows with the square of the number of long edges,
/// hence the limit on nodes, and on the rounds that it may take to place them. Splines are never orthogonal (that mode can abort the process).
/// Errors: invalid_argument above `graphviz_node_limit` nodes; unsupported when the dot plugin is missing or dot refuses;
/// cancelled. Precondition: `input` was checked by `run_layout`.
[[nodiscard]] Expected<LayoutResult> graphviz_layout(const LayoutInput& input, const LayoutOptions& options, const CancelToken& cancel);

} // namespace megascope
