#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "layout/geometry.h"

namespace megascope {

// Layout as a function: sizes in, positions and curves out. Nothing here knows operators; see graph_scene.h for the way from a
// Graph to a LayoutInput.

/// A box to be placed.
struct LayoutNode {
    double width = 0;
    double height = 0;
    std::int32_t cluster = -1; ///< the innermost cluster it lies in; -1 = none
    bool bundles = false;      ///< stands for a part of the graph: many edges to the same neighbour are drawn as one line
    /// Where its middle lay across the flow (x when drawn downwards) in a former drawing. Boxes and frames of one frame and one rank
    /// that have such a place keep their order. NaN = none. Graphviz takes no notice.
    double former = std::numeric_limits<double>::quiet_NaN();
};

/// A connection. Edges that share `from` and `from_port` carry the same value (one var with several readers); engines may draw
/// them as one trunk that branches. Parallel edges and self loops are allowed; self loops get an empty route.
struct LayoutEdge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t from_port = 0; ///< which output of `from`
    std::uint32_t to_port = 0;   ///< which input of `to`
};

/// A titled frame around nodes and other clusters. No foreign box overlaps it.
struct LayoutCluster {
    std::int32_t parent = -1; ///< index of the surrounding cluster, smaller than its own index; -1 = none
    double header = 20;       ///< height kept free for the title
    double min_width = 0;     ///< room for the title
    double former = std::numeric_limits<double>::quiet_NaN(); ///< as in LayoutNode
};

struct LayoutInput {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    std::vector<LayoutCluster> clusters;
};

enum class LayoutEngine : std::uint8_t {
    automatic, ///< the layered engine
    layered,   ///< Megascope's own, near linear (see layered.h)
    graphviz,  ///< dot, in-process, for up to `graphviz_node_limit` nodes; bigger inputs are an invalid_argument error
};
enum class LayoutDirection : std::uint8_t { down, right };

inline constexpr std::size_t graphviz_node_limit = 400;

struct LayoutOptions {
    LayoutDirection direction = LayoutDirection::down;
    LayoutEngine engine = LayoutEngine::automatic;
    double node_spacing = 22;    ///< between boxes of a rank
    double line_spacing = 12;    ///< between two lines, or a line and a box
    double rank_spacing = 30;    ///< least distance between ranks
    double cluster_padding = 14; ///< between a frame and what it holds
    double port_spacing = 16;    ///< least distance between a frame's border, where lines cross it, and the first boxes
    /// More values than this between the same two boxes run as one line, if one of the boxes is a frame or bundles.
    std::uint32_t bundle_above = 3;
    /// Edges over at most this many ranks always stay in the drawing; longer ones are taken out (stubs at both ends) when all
    /// of them together would cost more than a few times the number of nodes.
    std::uint32_t long_edge_ranks = 20;
    /// How hard to work on crossings: 0 = one pass, 1 = sweeps, 2 = also jumps between sweeps, in drawings of at most 5,000 boxes.
    int effort = 2;
};

/// How an edge runs: a chain of cubic Bézier curves from the border of `from` to the border of `to`.
struct EdgeRoute {
    std::uint32_t first = 0;    ///< index into LayoutResult::points
    std::uint32_t count = 0;    ///< 0 (self loop), else 1 + 3k points: start, then (control, control, end) per curve
    /// For an edge that was taken out: its second part starts at this point (counted from `first`; both parts have 1 + 3k
    /// points). 0 = the edge is drawn from end to end.
    std::uint32_t second = 0;
    bool against_flow = false;  ///< the edge closes a cycle (the layered engine takes it out, Graphviz draws it upwards)
    std::uint32_t values = 1;   ///< how many values run along the line; edges of one bundle may share their points

    [[nodiscard]] bool taken_out() const { return second != 0; }
};

struct LayoutResult {
    std::vector<LayoutRect> nodes;     ///< parallel to LayoutInput::nodes
    std::vector<LayoutRect> clusters;  ///< parallel to LayoutInput::clusters; empty rectangles for clusters without nodes
    std::vector<EdgeRoute> edges;      ///< parallel to LayoutInput::edges
    std::vector<LayoutPoint> points;
    std::vector<std::uint32_t> ranks;  ///< per node: its rank inside the innermost cluster
    LayoutRect bounds;                 ///< around everything; starts at (0, 0)
    LayoutDirection direction = LayoutDirection::down;

    [[nodiscard]] std::span<const LayoutPoint> route(std::size_t edge) const {
        return std::span(points).subspan(edges[edge].first, edges[edge].count);
    }
};

/// Lays the graph out. Blocking, any thread, deterministic. Errors: cancelled; invalid_argument for indices out of range, a
/// cluster whose parent does not come before it, sizes that are not between 0 and 10⁹, or too many nodes for Graphviz; unsupported when
/// Graphviz has no dot plugin. A layout with Graphviz cannot be stopped while it runs and waits for others of its kind.
[[nodiscard]] Expected<LayoutResult> run_layout(const LayoutInput& input, const LayoutOptions& options = {},
                                                const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
