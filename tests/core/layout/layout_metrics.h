#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "layout/layout.h"

namespace megascope::test {

// What a drawing looks like, as numbers, measured on the final rectangles and curves whatever engine made them.

struct LayoutMetrics {
    std::size_t overlaps = 0;       ///< pairs of boxes that overlap
    std::size_t through_boxes = 0;  ///< (edge, box) pairs where the edge runs through a box it does not belong to
    std::size_t through_frames = 0; ///< boxes outside a cluster that overlap its frame, and inside that leave it
    std::size_t crossings = 0;      ///< of lines whose edges share no node
    std::size_t taken_out = 0;
    double straight = 0;            ///< share of the drawn edges that are one vertical line
    double bends_per_edge = 0;
};

struct MetricLine {
    double x0, y0, x1, y1;
    std::uint32_t edge;
};

/// The routes as short lines.
inline std::vector<MetricLine> flatten(const LayoutResult& r, int steps = 8) {
    std::vector<MetricLine> lines;
    for (std::uint32_t e = 0; e < r.edges.size(); ++e) {
        const auto points = r.route(e);
        const auto part = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i + 3 < end; i += 3) {
                const LayoutPoint *p = &points[i];
                if (p[0].x == p[3].x && p[1].x == p[0].x) {
                    lines.push_back({p[0].x, p[0].y, p[3].x, p[3].y, e});
                    continue;
                }
                LayoutPoint last = p[0];
                for (int k = 1; k <= steps; ++k) {
                    const double t = static_cast<double>(k) / steps, s = 1 - t;
                    const double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
                    const LayoutPoint q{a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x,
                                        a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y};
                    lines.push_back({last.x, last.y, q.x, q.y, e});
                    last = q;
                }
            }
        };
        if (r.edges[e].taken_out()) {
            part(0, r.edges[e].second);
            part(r.edges[e].second, points.size());
        } else {
            part(0, points.size());
        }
    }
    return lines;
}

inline bool cross(const MetricLine& a, const MetricLine& b) {
    const auto side = [](const MetricLine& l, double x, double y) { return (l.x1 - l.x0) * (y - l.y0) - (l.y1 - l.y0) * (x - l.x0); };
    const double eps = 1e-6;
    const double s0 = side(a, b.x0, b.y0), s1 = side(a, b.x1, b.y1), t0 = side(b, a.x0, a.y0), t1 = side(b, a.x1, a.y1);
    return ((s0 > eps && s1 < -eps) || (s0 < -eps && s1 > eps)) && ((t0 > eps && t1 < -eps) || (t0 < -eps && t1 > eps));
}

/// Clips the line against the rectangle, shrunk by a small margin.
inline bool runs_through(const MetricLine& l, const LayoutRect& box) {
    const LayoutRect r = box.grown(-0.5);
    double t0 = 0, t1 = 1;
    const auto clip = [&](double p, double q) {
        if (p == 0) return q >= 0;
        const double t = q / p;
        if (p < 0) t0 = std::max(t0, t);
        else t1 = std::min(t1, t);
        return t0 <= t1;
    };
    const double dx = l.x1 - l.x0, dy = l.y1 - l.y0;
    return clip(-dx, l.x0 - r.x) && clip(dx, r.right() - l.x0) && clip(-dy, l.y0 - r.y) && clip(dy, r.bottom() - l.y0);
}

/// `crossings` costs most; leave it out for large drawings.
inline LayoutMetrics measure(const LayoutInput& input, const LayoutResult& r, bool crossings = true) {
    LayoutMetrics m;
    std::vector<std::uint32_t> order(r.nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return r.nodes[a].y < r.nodes[b].y; });
    double tallest = 0;
    for (const LayoutRect& n : r.nodes) tallest = std::max(tallest, n.height);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t k = i + 1; k < order.size() && r.nodes[order[k]].y < r.nodes[order[i]].bottom(); ++k)
            m.overlaps += r.nodes[order[i]].grown(-0.01).intersects(r.nodes[order[k]]);

    std::vector<MetricLine> lines = flatten(r);
    std::sort(lines.begin(), lines.end(), [](const MetricLine& a, const MetricLine& b) { return std::min(a.y0, a.y1) < std::min(b.y0, b.y1); });
    std::set<std::pair<std::uint32_t, std::uint32_t>> through;
    std::vector<double> tops;
    for (std::uint32_t v : order) tops.push_back(r.nodes[v].y);
    for (const MetricLine& l : lines) {
        const double low = std::min(l.y0, l.y1), high = std::max(l.y0, l.y1);
        for (auto i = static_cast<std::size_t>(std::lower_bound(tops.begin(), tops.end(), low - tallest) - tops.begin());
             i < order.size() && tops[i] < high; ++i) {
            const std::uint32_t v = order[i];
            if (input.edges[l.edge].from != v && input.edges[l.edge].to != v && runs_through(l, r.nodes[v])) through.emplace(l.edge, v);
        }
    }
    m.through_boxes = through.size();

    for (std::size_t c = 0; c < r.clusters.size(); ++c) {
        if (r.clusters[c].empty()) continue;
        for (std::size_t v = 0; v < r.nodes.size(); ++v) {
            bool inside = false;
            for (std::int32_t k = input.nodes[v].cluster; k >= 0; k = input.clusters[static_cast<std::size_t>(k)].parent)
                inside |= static_cast<std::size_t>(k) == c;
            const LayoutRect frame = r.clusters[c].grown(0.01), &box = r.nodes[v];
            const bool within = box.x >= frame.x && box.y >= frame.y && box.right() <= frame.right() && box.bottom() <= frame.bottom();
            m.through_frames += inside ? !within : r.clusters[c].grown(-0.01).intersects(box);
        }
    }

    std::size_t drawn = 0, straight = 0, bends = 0;
    for (std::size_t e = 0; e < r.edges.size(); ++e) {
        if (r.edges[e].taken_out()) {
            ++m.taken_out;
            continue;
        }
        if (r.edges[e].count == 0) continue;
        const auto p = r.route(e);
        ++drawn;
        bool vertical = true;
        for (std::size_t i = 0; i + 3 < p.size(); i += 3) {
            const bool bend = std::abs(p[i].x - p[i + 3].x) > 0.5;
            bends += bend;
            vertical &= !bend;
        }
        straight += vertical;
    }
    if (drawn) {
        m.straight = static_cast<double>(straight) / static_cast<double>(drawn);
        m.bends_per_edge = static_cast<double>(bends) / static_cast<double>(drawn);
    }

    if (!crossings) return m;
    // Lines of one value that coincide are one line on paper: they count once.
    std::sort(lines.begin(), lines.end(), [&](const MetricLine& a, const MetricLine& b) {
        const auto key = [&](const MetricLine& l) { return std::tuple(std::min(l.y0, l.y1), input.edges[l.edge].from, l.x0, l.y0, l.x1, l.y1, l.edge); };
        return key(a) < key(b);
    });
    lines.erase(std::unique(lines.begin(), lines.end(),
                            [&](const MetricLine& a, const MetricLine& b) {
                                return input.edges[a.edge].from == input.edges[b.edge].from && a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1;
                            }),
                lines.end());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const double high = std::max(lines[i].y0, lines[i].y1);
        for (std::size_t k = i + 1; k < lines.size() && std::min(lines[k].y0, lines[k].y1) < high; ++k) {
            const LayoutEdge &a = input.edges[lines[i].edge], &b = input.edges[lines[k].edge];
            if (lines[i].edge == lines[k].edge || a.from == b.from || a.to == b.to || a.from == b.to || a.to == b.from) continue;
            if (cross(lines[i], lines[k])) ++m.crossings;
        }
    }
    return m;
}

} // namespace megascope::test
