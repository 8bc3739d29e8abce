#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "layout/layout.h"

namespace megascope {

// Which engine draws better was measured on 228 genuine dumps (their first pictures, and flat drawings where they are small enough):
//
//   boxes     drawings   crossings, own / dot   lines of dot through foreign boxes   longest run, own / dot
//   12–60     226        146 / 976              676                                  11 / 20 ms
//   60–150    58         324 / 11,277           1,587                                13 / 190 ms
//   150–400   57         863 / 4,344            25                                   53 / 700 ms
//
// In 37 drawings the layered engine has fewer crossings, in 11 dot; the layered engine's lines never run through boxes. Widths agree
// within a tenth; dot's drawings are 8 to 18 % less tall. On the generated graphs of 100 and 300 operators (bench_layout) the
// layered engine has at most 1.08 times dot's crossings, and on the training graph of 300 it has 52, and 48 edges taken out, where
// dot has 668. So the automatic choice is always the layered engine; dot remains for those who want its looks, and for DOT files.

/// Lays out with Graphviz' dot in this process. libgvc keeps global state, so calls wait for each other, and a running layout
/// cannot be stopped: `cancel` is asked before and after. dot's time grows with the square of the number of long edges,
/// hence the limit on nodes, and on the rounds that it may take to place them. Splines are never orthogonal (that mode can abort the process).
/// Errors: invalid_argument above `graphviz_node_limit` nodes; unsupported when the dot plugin is missing or dot refuses;
/// cancelled. Precondition: `input` was checked by `run_layout`.
[[nodiscard]] Expected<LayoutResult> graphviz_layout(const LayoutInput& input, const LayoutOptions& options, const CancelToken& cancel);

} // namespace megascope
