#include "views/graph/edge_labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "views/common/number_text.h"
#include "views/common/visible_text.h"
#include "views/graph/node_text.h"

namespace megascope {

namespace {

constexpr double widest_name = 170;
constexpr double beside = 4;   ///< from the line to the text
constexpr double pad = 2;      ///< around the text
constexpr double cell = 160;   ///< of the grid that finds labels placed before
constexpr double shortest = 44;
constexpr int most_tried = 24; ///< places along one line

/// Rectangles by the cells that they touch.
class Taken {
public:
    [[nodiscard]] bool free(const LayoutRect& r) const {
        bool hit = false;
        cells(r, [&](std::uint64_t key) {
            const auto it = cells_.find(key);
            if (it == cells_.end()) return;
            for (const LayoutRect& other : it->second) hit = hit || other.intersects(r);
        });
        return !hit;
    }
    void add(const LayoutRect& r) {
        cells(r, [&](std::uint64_t key) { cells_[key].push_back(r); });
    }

private:
    template <class Visit>
    static void cells(const LayoutRect& r, Visit&& visit) {
        for (auto y = static_cast<std::int64_t>(std::floor(r.y / cell)); y <= static_cast<std::int64_t>(std::floor(r.bottom() / cell)); ++y)
            for (auto x = static_cast<std::int64_t>(std::floor(r.x / cell)); x <= static_cast<std::int64_t>(std::floor(r.right() / cell)); ++x)
                visit((static_cast<std::uint64_t>(y) << 32U) ^ (static_cast<std::uint64_t>(x) & 0xffffffffU));
    }
    std::unordered_map<std::uint64_t, std::vector<LayoutRect>> cells_;
};

/// Calls `visit` with the index of the first point of every curve of an edge among its points.
template <class Visit>
void for_curves(const LayoutResult& layout, std::uint32_t edge, Visit&& visit) {
    const EdgeRoute& route = layout.edges[edge];
    for (std::uint32_t i = 0; i + 3 < route.count; i += 3) {
        if (route.second != 0 && i + 1 == route.second) {
            i -= 2; // the gap of an edge that was taken out
            continue;
        }
        if (!visit(i)) return;
    }
}

/// All curves by where they are: an edge as a whole has a box that half the drawing touches.
struct Curves {
    explicit Curves(const GraphPicture& p) {
        std::vector<LayoutRect> boxes;
        for (std::uint32_t e = 0; e < p.layout.edges.size(); ++e)
            for_curves(p.layout, e, [&](std::uint32_t i) {
                first.push_back(p.layout.edges[e].first + i);
                edges.push_back(e);
                boxes.push_back(route_bounds(std::span(p.layout.points).subspan(first.back(), 4)));
                return true;
            });
        index = SpatialIndex(boxes);
    }
    std::vector<std::uint32_t> edges, first; ///< by curve: its edge, and its first point in the layout
    SpatialIndex index;
};

LayoutPoint on_curve(std::span<const LayoutPoint> p, double t) {
    const double s = 1 - t, a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
    return {a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x, a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y};
}

} // namespace

std::vector<EdgeLabel> place_edge_labels(const GraphPicture& p, const EdgeTexts& texts, const GraphFonts& fonts, const CancelToken& cancel) {
    std::vector<EdgeLabel> labels;
    if (!texts.any()) return labels;
    const Graph& graph = p.graph();
    const TextMeasure& measure = fonts.small_measure;
    const double height = measure.height() + 2;
    std::vector<std::uint32_t> order(p.scene.edges.size());
    for (std::uint32_t e = 0; e < order.size(); ++e) order[e] = e;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return p.scene.edges[a].var < p.scene.edges[b].var; });
    const auto text_of = [&](VarId v) {
        QStringList parts;
        if (texts.name) parts << measure.elided(visibleText(text(graph.display_name(v))), widest_name);
        QString layout;
        if (texts.shape)
            if (const auto shape = known_shape(graph, p.info.get(), v)) layout = text(shape->text());
        if (texts.dtype)
            if (const auto dtype = known_dtype(graph, p.info.get(), v)) layout += (layout.isEmpty() ? QString() : QStringLiteral(" ")) + text(dtype->name());
        if (!layout.isEmpty()) parts << layout;
        return parts.join(QStringLiteral("  "));
    };
    Taken taken;
    const auto free = [&](const LayoutRect& r) {
        if (r.x < p.layout.bounds.x - 200 || !taken.free(r)) return false;
        bool hit = false;
        p.node_index.query(r, [&](std::uint32_t i) { hit = hit || p.layout.nodes[i].grown(1).intersects(r); });
        if (hit) return false;
        p.frame_index.query(r, [&](std::uint32_t i) {
            LayoutRect title = p.layout.clusters[i];
            title.height = std::min(title.height, p.scene.layout.clusters[i].header + 4);
            title.width = std::min(title.width, fonts.bold_measure.width(p.frame_titles[i]) + 24);
            hit = hit || (!title.empty() && title.intersects(r));
        });
        return !hit;
    };
    const Curves curves(p);
    if (cancel.cancelled()) return labels;
    // How many curves a label would lie on; `own` does not count.
    const auto crossed = [&](const LayoutRect& r, std::optional<VarId> own) {
        int count = 0;
        curves.index.query(r, [&](std::uint32_t k) {
            if (own && p.scene.edges[curves.edges[k]].var == *own) return;
            const std::span<const LayoutPoint> curve = std::span(p.layout.points).subspan(curves.first[k], 4);
            bool inside = curve[0].x == curve[3].x || curve[0].y == curve[3].y; // straight: its box is the line
            for (int t = 1; t < 8 && !inside; ++t) inside = r.contains(on_curve(curve, t / 8.0));
            count += inside;
        });
        return count;
    };
    struct Candidate {
        LayoutRect rect;
        double cost = 0;
        bool on_lines = false;
    };
    for (std::size_t at = 0; at < order.size();) {
        if ((at & 1023U) == 0 && cancel.cancelled()) break;
        const VarId var = p.scene.edges[order[at]].var;
        std::size_t end = at;
        while (end < order.size() && p.scene.edges[order[end]].var == var) ++end;
        QString label = text_of(var);
        const double full = label.isEmpty() ? 0 : measure.width(label) + 2 * pad;
        std::optional<EdgeLabel> best;
        // The whole text anywhere along any of its lines before a shortened one.
        for (double width = full; !best && width >= std::min(full, shortest) && full > 0; width = width > 1.2 * shortest ? std::max(shortest, width * 0.6) : 0) {
            Candidate least;
            least.cost = 1e9;
            std::uint32_t of = 0;
            for (std::size_t k = at; k < std::min(end, at + 4) && least.cost > 0.5; ++k) {
                const std::uint32_t e = order[k];
                const auto route = p.layout.route(e);
                if (route.size() < 4) continue;
                int tried = 0;
                double along = 0;
                for_curves(p.layout, e, [&](std::uint32_t i) {
                    const std::span<const LayoutPoint> curve = route.subspan(i, 4);
                    const double length = std::hypot(curve[3].x - curve[0].x, curve[3].y - curve[0].y);
                    // As close together as a label is high, but long lines are not searched to their end.
                    const int steps = std::clamp(static_cast<int>(length / height) + 1, 1, 8);
                    for (int s = 0; s <= steps && tried < most_tried; ++s) {
                        const double t = static_cast<double>(s) / steps;
                        const LayoutPoint q = on_curve(curve, t);
                        const bool level = std::abs(curve[3].y - curve[0].y) < 0.3 * std::abs(curve[3].x - curve[0].x);
                        // Right of the line, left of it, on it; beside a level line above and below.
                        const std::array<LayoutRect, 5> spots = {{
                            {q.x + beside, q.y - height / 2, width, height},
                            {q.x + beside, q.y + 2, width, height},
                            {q.x - beside - width, q.y - height / 2, width, height},
                            {q.x - width / 2, q.y - height - 2, width, height},
                            {q.x - width / 2, q.y - height / 2, width, height},
                        }};
                        for (std::size_t c = 0; c < spots.size(); ++c) {
                            if (level ? c < 3 : c == 3) continue;
                            ++tried;
                            const double base = 0.002 * (along + t * length) + 0.15 * static_cast<double>(c) + (c == 4 ? 0.6 : 0) + 0.5 * static_cast<double>(k - at);
                            if (base >= least.cost || !free(spots[c])) continue;
                            const int lines = crossed(spots[c], c == 4 ? std::optional(var) : std::nullopt);
                            if (base + lines < least.cost) {
                                least = {spots[c], base + lines, lines > 0 || c == 4};
                                of = e;
                            }
                        }
                    }
                    along += length;
                    return tried < most_tried;
                });
            }
            if (least.cost < 1e9) best = EdgeLabel{of, width < full ? measure.elided(label, width - 2 * pad) : label, least.rect, least.on_lines};
        }
        if (best) {
            taken.add(best->rect);
            labels.push_back(std::move(*best));
        }
        at = end;
    }
    return labels;
}

} // namespace megascope
