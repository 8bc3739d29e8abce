#pragma once

#include <QString>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "layout/graph_scene.h"
#include "layout/layout.h"
#include "opr/infer.h"
#include "views/graph/density_pyramid.h"
#include "views/graph/spatial_index.h"
#include "views/graph/text_measure.h"

namespace megascope {

struct GraphPicture;

/// What boxes say.
struct NodeTexts {
    bool type = true, name = true, attributes = true;
    bool priority = true; ///< where it is not 0
    bool order = false;   ///< execution index
    friend bool operator==(const NodeTexts&, const NodeTexts&) = default;
};

/// What lines say: "conv1:out  1×64×56×56 float32".
struct EdgeTexts {
    bool name = false, shape = false, dtype = false;
    [[nodiscard]] bool any() const { return name || shape || dtype; }
    friend bool operator==(const EdgeTexts&, const EdgeTexts&) = default;
};

/// What is to be drawn and how; copied into the job that makes the picture.
struct PictureRequest {
    std::shared_ptr<const Graph> graph;
    std::shared_ptr<const GraphInfo> info;           ///< may be null
    std::shared_ptr<const GraphStructure> structure; ///< null: found by the job
    std::shared_ptr<const std::vector<std::optional<std::uint32_t>>> steps; ///< by OprId: execution index; may be null
    NodeTexts node_texts;
    EdgeTexts edge_texts;
    SceneOptions scene;
    bool choose_expansion = false; ///< ignore `scene.expanded` and open groups up to `box_limit` boxes
    std::size_t box_limit = 160;
    LayoutOptions layout;
    std::shared_ptr<const GraphPicture> former; ///< of the same graph, or null: what stands in it keeps its order
};

struct NodeText {
    QString title;     ///< bold
    QString attribute; ///< beside the title
    QString name;      ///< dimmed, below
    QString facts;     ///< dimmed, below: priority, execution index
    float title_width = 0;
    [[nodiscard]] bool has_head() const { return !title.isEmpty() || !attribute.isEmpty(); }
};

/// What a line says, beside or on it where there is room.
struct EdgeLabel {
    std::uint32_t edge = 0;
    QString text;
    LayoutRect rect;
    bool on_lines = false; ///< it lies on its own line or on others
};

/// A stretch of an edge's route: its points from `begin` to `end`, counted from the route's first, 1 + 3k of them. A way past thousands of
/// boxes is looked at where it is in sight, not all along. No piece reaches over the gap of an edge that was taken out.
struct EdgePiece {
    std::uint32_t edge = 0, begin = 0, end = 0;
};

/// A laid out graph with everything that painting and hit tests need. Immutable; made by a job, painted by the GUI thread.
struct GraphPicture {
    GraphScene scene;
    std::shared_ptr<const GraphInfo> info;
    LayoutResult layout;
    std::vector<NodeText> texts;        ///< by node
    std::vector<QString> pill_texts;    ///< parallel to scene.pills
    std::vector<LayoutRect> pill_rects; ///< relative to the node's top left corner; empty = no room, counted in the last one
    std::vector<QString> frame_titles;  ///< parallel to scene.frames
    std::vector<EdgePiece> edge_pieces; ///< all edges, edge by edge
    std::vector<EdgeLabel> edge_labels; ///< one a value, as far as there is room; none lies on a box or on another label
    SpatialIndex label_index;           ///< of their rectangles
    SpatialIndex node_index, piece_index, frame_index;
    DensityPyramid density;

    [[nodiscard]] std::span<const std::uint32_t> out_edges(std::uint32_t node) const { return list(out_, out_begin_, node); }
    [[nodiscard]] std::span<const std::uint32_t> in_edges(std::uint32_t node) const { return list(in_, in_begin_, node); }
    [[nodiscard]] const Graph& graph() const { return scene.graph(); }

private:
    friend Expected<std::shared_ptr<const GraphPicture>> make_picture(const PictureRequest&, const GraphFonts&, const CancelToken&,
                                                                      const Progress&);
    void connect_edges();
    void cut_edges();
    static std::span<const std::uint32_t> list(const std::vector<std::uint32_t>& items, const std::vector<std::uint32_t>& begin,
                                               std::uint32_t node) {
        return std::span(items).subspan(begin[node], begin[node + 1] - begin[node]);
    }
    std::vector<std::uint32_t> out_begin_, out_, in_begin_, in_;
};

/// Blocking; any thread. Errors: those of `run_layout`.
[[nodiscard]] Expected<std::shared_ptr<const GraphPicture>> make_picture(const PictureRequest& request, const GraphFonts& fonts,
                                                                         const CancelToken& cancel, const Progress& progress);

/// Least and greatest coordinates of a route's points; a Bézier curve lies inside the box of its points.
[[nodiscard]] LayoutRect route_bounds(std::span<const LayoutPoint> points);

} // namespace megascope
