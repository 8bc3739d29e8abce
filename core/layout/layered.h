#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "layout/flat_problem.h"
#include "layout/layout.h"

namespace megascope {

// The layered engine
// ==================
//
// Draws directed graphs the way people draw networks: data flows down, operators stand in ranks, lines run between ranks.
// It follows Sugiyama, Tagawa and Toda (1981) with changes for compute graphs, which are long, mostly narrow, and full of
// values that are read again far below (residuals, masks, activations that a backward pass needs).
//
// Terms. A *rank* is a row of boxes, a *layer* the same row together with the lines that pass through it. A *net* is one value
// with all its readers. A *dummy* is the place that a line occupies in a layer it passes. A *segment* joins neighbouring layers.
//
// Steps, each in a file of its own:
//
//  1. ranking. Edges that close cycles are taken out (cycles appear only when groups are collapsed into one box). Ranks are
//     longest paths from the sources; then nodes slide down where more values leave than enter, sources above all, so that a
//     constant stands beside its reader. Linear.
//     Very long edges make the cost explode: keeping all dummies of a training graph takes N² of them, and all engines that do
//     (dot, dagre, elk) fall over there. When the sum exceeds a few per node, the longest edges are taken out: they are drawn as
//     a stub at either end.
//  2. layered_graph. All readers of a value share one trunk of dummies that branches at the readers. A value that k operators
//     read costs its longest way instead of the sum of all ways; dense blocks and shared masks shrink by that. The same upside
//     down: the values of a bundle that leave a frame (the activations that a backward pass reads) come together at once and run
//     to the frame's border as one line, not as a sheaf of parallel ones.
//  3. layer_order. Depth-first initial orders, then barycentre and median sweeps with transposition of neighbours, the best of
//     several starts. Layers with a single vertex cut the graph into pieces that do not influence each other; each is solved by
//     itself with an effort that depends on its size, and equal pieces (the repeated blocks of a network) once.
//     Boxes that stood in a former drawing keep their order: only lines and new boxes move past them. So opening a group pushes
//     others aside but never swaps two of them.
//  4. layer_coordinates. Brandes and Köpf, with the main chains and the trunks aligned first. The main chain is the tallest one,
//     frames counting by their height; inside a frame it is one that comes in and leaves again.
//  5. layer_routing. Ports, bands, curves.
//
// A drawing is laid out as a whole, never the visible part of it first: 100,000 operators with everything open take 0.1 to 0.4 s
// of processor time (bench_layout --first), first pictures of as many 0.1 to 0.2 s, nearly all of it for finding groups. The
// former picture stays meanwhile. A part drawn first would have to be moved when its surroundings become known, for a gain of a
// fraction of a second.
//
// Cost: O(V + E) in all steps except for sorting and crossing counts, O(E log V) per sweep, where V includes dummies
// (at most a few per node by step 1) and the number of sweeps has a fixed bound.

/// Errors: cancelled.
[[nodiscard]] Expected<FlatResult> layered_layout(const FlatProblem& problem, const LayoutOptions& options, const CancelToken& cancel);

} // namespace megascope
