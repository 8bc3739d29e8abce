#include "views/graph/graph_hits.h"

#include <cmath>
#include <limits>

#include "views/graph/graph_painter.h"

namespace megascope {

namespace {

double distance_to_segment(LayoutPoint p, LayoutPoint a, LayoutPoint b) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0;
    return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

double distance_to_piece(const GraphPicture& picture, const EdgePiece& piece, LayoutPoint p) {
    const auto points = picture.layout.route(piece.edge);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = piece.begin; i < piece.end; i += 3) {
        LayoutPoint last = points[i];
        constexpr int steps = 8;
        for (int k = 1; k <= steps; ++k) {
            const double t = static_cast<double>(k) / steps, s = 1 - t;
            const double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
            const LayoutPoint q{a * points[i].x + b * points[i + 1].x + c * points[i + 2].x + d * points[i + 3].x,
                                a * points[i].y + b * points[i + 1].y + c * points[i + 2].y + d * points[i + 3].y};
            best = std::min(best, distance_to_segment(p, last, q));
            last = q;
        }
    }
    return best;
}

} // namespace

GraphHit hit_test(const GraphPicture& p, LayoutPoint point, double tolerance) {
    GraphHit hit;
    const LayoutRect at{point.x, point.y, 0, 0};
    p.node_index.query(at, [&](std::uint32_t i) {
        if (p.layout.nodes[i].contains(point)) hit.node = i;
    });
    if (hit.node) {
        const SceneNode& node = p.scene.nodes[*hit.node];
        const LayoutRect& box = p.layout.nodes[*hit.node];
        double row = 0;
        for (std::uint32_t k = 0; k < node.pill_count; ++k)
            row = std::max(row, p.pill_rects[node.first_pill + k].right() - p.pill_rects[node.first_pill].x);
        for (std::uint32_t k = 0; k < node.pill_count; ++k) {
            const LayoutRect& pill = p.pill_rects[node.first_pill + k];
            if (pill.empty()) break;
            const double shift = (box.width - row) / 2 - p.pill_rects[node.first_pill].x;
            if (LayoutRect{box.x + pill.x + shift, box.y + pill.y, pill.width, pill.height}.contains(point)) hit.pill = node.first_pill + k;
        }
        return hit;
    }
    double nearest = tolerance;
    p.piece_index.query(at.grown(tolerance), [&](std::uint32_t i) {
        const double d = distance_to_piece(p, p.edge_pieces[i], point);
        if (d <= nearest) {
            nearest = d;
            hit.edge = p.edge_pieces[i].edge;
        }
    });
    if (!hit.edge) // the text of a line stands for it
        p.label_index.query(at, [&](std::uint32_t i) {
            if (p.edge_labels[i].rect.contains(point)) hit.edge = p.edge_labels[i].edge;
        });
    if (hit.edge) return hit;
    p.frame_index.query(at, [&](std::uint32_t i) {
        LayoutRect title = p.layout.clusters[i];
        title.height = std::min(title.height, p.scene.layout.clusters[i].header + 4);
        if (!title.empty() && title.contains(point) && (!hit.frame || i > *hit.frame)) hit.frame = i;
    });
    return hit;
}

std::optional<std::uint32_t> walk(const GraphPicture& p, std::uint32_t from, Walk direction) {
    const LayoutRect& here = p.layout.nodes[from];
    std::optional<std::uint32_t> best;
    double least = std::numeric_limits<double>::infinity();
    if (direction == Walk::up || direction == Walk::down) {
        const bool down = direction == Walk::down;
        for (const std::uint32_t e : down ? p.out_edges(from) : p.in_edges(from)) {
            const std::uint32_t other = down ? p.scene.edges[e].to : p.scene.edges[e].from;
            const LayoutRect& r = p.layout.nodes[other];
            const double cost = std::hypot(r.center_x() - here.center_x(), 0.5 * (r.center_y() - here.center_y()));
            if (cost < least) {
                least = cost;
                best = other;
            }
        }
        return best;
    }
    // Sideways: the nearest box whose height range overlaps this one's.
    const bool right = direction == Walk::right;
    LayoutRect band{right ? here.right() : p.layout.bounds.x, here.y - 10, 0, here.height + 20};
    band.width = right ? p.layout.bounds.right() - band.x : here.x - band.x;
    p.node_index.query(band, [&](std::uint32_t i) {
        const double dx = (p.layout.nodes[i].center_x() - here.center_x()) * (right ? 1 : -1);
        if (i == from || dx <= 1) return;
        const double cost = dx + 2 * std::abs(p.layout.nodes[i].center_y() - here.center_y());
        if (cost < least) {
            least = cost;
            best = i;
        }
    });
    return best;
}

std::vector<std::uint8_t> relations(const GraphPicture& p, const std::vector<std::uint32_t>& upstream_of,
                                    const std::vector<std::uint32_t>& downstream_of) {
    std::vector<std::uint8_t> relation(p.scene.nodes.size(), GraphHighlight::unrelated);
    std::vector<std::uint32_t> open = upstream_of;
    while (!open.empty()) {
        const std::uint32_t v = open.back();
        open.pop_back();
        for (const std::uint32_t e : p.in_edges(v)) {
            const std::uint32_t u = p.scene.edges[e].from;
            if (relation[u] != GraphHighlight::unrelated) continue;
            relation[u] = GraphHighlight::upstream;
            open.push_back(u);
        }
    }
    open = downstream_of;
    while (!open.empty()) {
        const std::uint32_t v = open.back();
        open.pop_back();
        for (const std::uint32_t e : p.out_edges(v)) {
            const std::uint32_t w = p.scene.edges[e].to;
            if (relation[w] == GraphHighlight::downstream) continue;
            relation[w] = GraphHighlight::downstream;
            open.push_back(w);
        }
    }
    for (const auto* list : {&upstream_of, &downstream_of})
        for (const std::uint32_t v : *list) relation[v] = GraphHighlight::itself;
    return relation;
}

std::vector<std::uint8_t> neighbourhood(const Graph& graph, OprId opr, int steps) { return neighbourhood(graph, std::vector<OprId>{opr}, steps); }

std::vector<std::uint8_t> neighbourhood(const Graph& graph, const std::vector<OprId>& oprs, int steps) {
    std::vector<std::uint8_t> near(graph.oprs().size(), 0);
    std::vector<OprId> ring = oprs, next;
    for (const OprId opr : oprs) near[opr.index()] = 1;
    const auto reach = [&](OprId other) {
        if (near[other.index()]) return;
        near[other.index()] = 1;
        next.push_back(other);
    };
    for (int k = 0; k < steps; ++k) {
        next.clear();
        for (OprId id : ring) {
            for (VarId v : graph.opr(id).inputs) reach(graph.var(v).producer);
            for (VarId v : graph.opr(id).outputs)
                for (OprId reader : graph.consumers(v)) reach(reader);
        }
        // From a value that half the graph reads everything is near; such ways are not followed further.
        std::erase_if(next, [&](OprId id) { return graph.opr(id).inputs.empty(); });
        ring.swap(next);
    }
    // What the boxes need for their pills.
    for (std::size_t i = graph.oprs().size(); i-- > 0;)
        if (near[i])
            for (VarId v : graph.oprs()[i].inputs)
                if (graph.producer(v).inputs.empty() && !graph.producer(v).tensors.empty()) near[graph.producer(v).id.index()] = 1;
    return near;
}

} // namespace megascope
