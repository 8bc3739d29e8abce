#pragma once

#include <QPainter>
#include <QPointF>
#include <QRectF>

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "views/graph/colour_legend.h"
#include "views/graph/graph_picture.h"
#include "views/graph/graph_style.h"

namespace megascope {

/// Where a drawing lies on a device: device = (layout - origin) * scale.
struct GraphTransform {
    double scale = 1;
    double x = 0, y = 0; ///< layout coordinates of the device's top left corner

    [[nodiscard]] QPointF to_device(LayoutPoint p) const { return {(p.x - x) * scale, (p.y - y) * scale}; }
    [[nodiscard]] LayoutPoint to_layout(QPointF p) const { return {p.x() / scale + x, p.y() / scale + y}; }
    [[nodiscard]] QRectF to_device(const LayoutRect& r) const {
        return {(r.x - x) * scale, (r.y - y) * scale, r.width * scale, r.height * scale};
    }
    [[nodiscard]] LayoutRect to_layout(const QRectF& r) const {
        return {r.x() / scale + x, r.y() / scale + y, r.width() / scale, r.height() / scale};
    }
};

/// What is highlighted; all indices belong to the picture.
struct GraphHighlight {
    enum Relation : std::uint8_t { unrelated, upstream, downstream, itself };

    std::optional<std::uint32_t> node;      ///< selected
    std::optional<std::uint32_t> frame;     ///< selected
    std::optional<std::uint32_t> hovered;   ///< node
    VarId var;                              ///< selected: its edges are strong
    std::vector<std::uint8_t> relation;     ///< by node, empty without a selection
    std::vector<std::uint8_t> found;        ///< by node, empty without a search
    std::vector<std::uint8_t> several;      ///< by node: selected together with others; empty when at most one is selected
};

struct GraphPaintOptions {
    std::vector<std::optional<QColor>> colours; ///< by node: replaces the category's fill; empty = categories
    ColourLegend legend; ///< what the colours mean; part of exported pictures
    bool edge_width_by_bytes = false;
    double opacity = 1;
    /// While boxes glide: where those in sight are now and how visible they are, by node. Other boxes are not painted; lines and frames
    /// are as visible as `arrived` (0 to 1) says. Null: everything is where it belongs.
    struct Gliding {
        LayoutRect rect;
        double visible = 1;
    };
    const std::unordered_map<std::uint32_t, Gliding>* gliding = nullptr;
    double arrived = 1;
    /// Asked now and then while a long drawing is painted, with how many of its parts are done: false leaves the rest out.
    std::function<bool(std::size_t done, std::size_t total)> go_on;
};

/// Paints what is visible of a picture. Detail follows the scale: text, then boxes, then density. Stateless between calls.
class GraphPainter {
public:
    GraphPainter(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts, const GraphHighlight& highlight,
                 const GraphPaintOptions& options)
        : p_(picture), style_(style), fonts_(fonts), highlight_(highlight), options_(options) {}

    /// Paints everything that touches `area` (device coordinates of `painter`), background included.
    void paint(QPainter& painter, const GraphTransform& transform, const QRectF& area);
    /// Boxes only, as density: for a minimap.
    void paint_density(QPainter& painter, double scale_x, double scale_y) const;

    /// Below this many device pixels for a unit, boxes are painted as density.
    static constexpr double density_scale = 0.05;
    static constexpr double text_scale = 0.42;

private:
    void frames(QPainter& painter);
    /// Titles of frames whose upper border is out of sight stand at the upper border of the view, nested ones below each other.
    void sticky_titles(QPainter& painter);
    [[nodiscard]] double sticky_shift(std::uint32_t frame) const; ///< how far below its place a title stands, in layout units
    void edges(QPainter& painter);
    void arrow(QPainter& painter, const EdgeRoute& route, const QColor& colour);
    void stub_mark(QPainter& painter, std::uint32_t edge, const QColor& colour);
    void edge_labels(QPainter& painter);
    void boxes(QPainter& painter);
    void box(QPainter& painter, std::uint32_t node);
    void box_text(QPainter& painter, std::uint32_t node, const QColor& text, const QColor& dimmed);
    void density(QPainter& painter);
    /// False when the rest is to be left out.
    [[nodiscard]] bool step();
    [[nodiscard]] QColor fill_of(std::uint32_t node) const;
    [[nodiscard]] const LayoutRect& rect_of(std::uint32_t node) const;
    [[nodiscard]] QColor outline_of(std::uint32_t node) const;
    [[nodiscard]] bool faded(std::uint32_t node) const {
        return !highlight_.relation.empty() && highlight_.relation[node] == GraphHighlight::unrelated;
    }
    [[nodiscard]] QRectF snapped(const QRectF& r) const;
    [[nodiscard]] double edge_width(std::uint32_t edge) const;

    const GraphPicture& p_;
    const GraphStyle& style_;
    const GraphFonts& fonts_;
    const GraphHighlight& highlight_;
    const GraphPaintOptions& options_;
    GraphTransform t_;
    QRectF area_;
    LayoutRect visible_;
    double ratio_ = 1; ///< device pixels per logical pixel
    std::size_t done_ = 0, total_ = 0;
};

} // namespace megascope
