#include "layout/layer_routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace megascope {

namespace {

constexpr double stub_length = 16;
constexpr double port_margin = 8;
constexpr double port_gap = 16;
constexpr double most_below_top = 24;

struct PortWish {
    std::uint32_t key = 0;   ///< edge or net
    double wish = 0;         ///< relative to the middle
    double order = 0;        ///< from left to right
    bool straight = false;   ///< the line would be vertical at `wish`
};

/// Places ports of one border, in the order of `order`, at least a gap apart and as near to their wishes as least squares
/// allows; a straight line keeps its place.
void place_ports(std::vector<PortWish>& ports, double width) {
    std::sort(ports.begin(), ports.end(), [](const PortWish& a, const PortWish& b) { return a.order < b.order; });
    const double room = std::max(0.0, width / 2 - port_margin);
    const std::size_t n = ports.size();
    const double gap = n > 1 ? std::min(port_gap, 2 * room / static_cast<double>(n - 1)) : 0;
    const double reach = std::min(room, gap * static_cast<double>(n - 1));
    struct Run {
        double weight, value;
        std::size_t count;
    };
    std::vector<Run> runs;
    for (std::size_t i = 0; i < n; ++i) {
        const double wish = std::clamp(ports[i].wish, -reach, reach) - gap * static_cast<double>(i);
        Run run{ports[i].straight ? 1e6 : 1.0, wish, 1};
        while (!runs.empty() && runs.back().value > run.value) {
            const Run& left = runs.back();
            run.value = (left.value * left.weight + run.value * run.weight) / (left.weight + run.weight);
            run.weight += left.weight;
            run.count += left.count;
            runs.pop_back();
        }
        runs.push_back(run);
    }
    std::size_t i = 0;
    for (const Run& run : runs)
        for (std::size_t k = 0; k < run.count; ++k, ++i) {
            const double low = -room + gap * static_cast<double>(i), high = room - gap * static_cast<double>(n - 1 - i);
            ports[i].wish = std::clamp(run.value + gap * static_cast<double>(i), std::min(low, high), std::max(low, high));
        }
}

/// Collects a chain of curves; vertical pieces that follow each other become one.
class PathBuilder {
public:
    explicit PathBuilder(std::vector<LayoutPoint>& points) : points_(points) {}

    void start(LayoutPoint p) {
        points_.push_back(p);
        at_ = p;
        vertical_ = false;
    }
    void vertical_to(double y) {
        if (std::abs(y - at_.y) < 1e-9) return;
        if (vertical_) {
            const LayoutPoint from = points_[points_.size() - 4];
            points_.resize(points_.size() - 3);
            at_ = from;
        }
        const double dy = y - at_.y;
        points_.push_back({at_.x, at_.y + dy / 3});
        points_.push_back({at_.x, at_.y + 2 * dy / 3});
        points_.push_back({at_.x, y});
        at_ = points_.back();
        vertical_ = true;
    }
    void bend_to(LayoutPoint p) {
        if (std::abs(p.x - at_.x) < 0.01) return vertical_to(p.y);
        const double dy = p.y - at_.y;
        points_.push_back({at_.x, at_.y + 0.5 * dy});
        points_.push_back({p.x, p.y - 0.5 * dy});
        points_.push_back(p);
        at_ = p;
        vertical_ = false;
    }

private:
    std::vector<LayoutPoint>& points_;
    LayoutPoint at_;
    bool vertical_ = false;
};

class Router {
public:
    Router(const FlatProblem& problem, const Ranking& ranking, const LayeredGraph& graph, const std::vector<double>& x,
           const LayoutOptions& options)
        : problem_(problem), ranking_(ranking), g_(graph), x_(x), options_(options) {}

    FlatResult run() {
        place_bands();
        place_boxes();
        choose_ports();
        draw();
        shift_into_view();
        return std::move(result_);
    }

private:
    void place_bands() {
        const std::size_t ranks = g_.layers.size();
        std::vector<double> height(ranks, 0), widest(ranks, 0);
        for (std::uint32_t v = 0; v < g_.node_count; ++v)
            height[g_.rank[v]] = std::max(height[g_.rank[v]], problem_.nodes[v].height);
        for (const LayeredSegment& s : g_.segments) {
            double& w = widest[g_.rank[s.upper]];
            w = std::max(w, std::abs(x_[s.upper] + s.upper_dx - x_[s.lower] - s.lower_dx));
        }
        top_.resize(ranks);
        bottom_.resize(ranks);
        double y = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            top_[r] = y;
            bottom_[r] = y + height[r];
            // Wide bends get more height, or they would run almost flat.
            const bool ports = r + 1 < ranks && (height[r] == 0 || height[r + 1] == 0);
            y = bottom_[r] + (ports ? options_.port_spacing : options_.rank_spacing) + std::min(70.0, std::max(0.0, widest[r] - 60) * 0.14);
        }
    }

    void place_boxes() {
        result_.nodes.resize(g_.node_count);
        result_.ranks = ranking_.ranks;
        for (std::uint32_t v = 0; v < g_.node_count; ++v) {
            const FlatNode& node = problem_.nodes[v];
            const std::size_t r = g_.rank[v];
            // In the middle of its band, but not far from what is above when a frame makes the band tall.
            const double down = std::min((bottom_[r] - top_[r] - node.height) / 2, most_below_top);
            result_.nodes[v] = {x_[v] - node.width / 2, top_[r] + down, node.width, node.height};
        }
    }

    /// Absolute x where a segment's upper end lies; valid for boxes once lower ports are chosen.
    double upper_x(const LayeredSegment& s, std::uint32_t net) const {
        return g_.is_dummy(s.upper) ? x_[s.upper] : x_[s.upper] + net_dx_[net];
    }

    void choose_ports() {
        // Lower borders: one port per net.
        net_dx_.assign(ranking_.net_count, 0);
        edge_dx_.assign(ranking_.edges.size(), 0);
        struct NetEnd {
            std::uint32_t source, net;
            double sum = 0;
            std::uint32_t count = 0;
            bool fixed = false, taken = true;
        };
        std::vector<NetEnd> ends(ranking_.net_count);
        std::vector<std::uint8_t> seen(ranking_.net_count, 0);
        for (const RankedEdge& e : ranking_.edges) {
            if (e.self_loop) continue;
            NetEnd& end = ends[e.net];
            seen[e.net] = 1;
            end.source = e.upper;
            end.net = e.net;
            end.fixed |= e.upper_fixed;
            if (e.upper_fixed) net_dx_[e.net] = e.upper_dx;
            if (e.taken_out) continue;
            const bool direct = g_.rank[e.lower] == g_.rank[e.upper] + 1;
            end.sum += direct ? x_[e.lower] : x_[g_.dummy_at(e, g_.rank[e.upper] + 1)];
            ++end.count;
            end.taken = false;
        }
        std::vector<NetEnd> free;
        for (std::size_t i = 0; i < ends.size(); ++i)
            if (seen[i] && !ends[i].fixed) free.push_back(ends[i]);
        std::sort(free.begin(), free.end(), [](const NetEnd& a, const NetEnd& b) { return a.source != b.source ? a.source < b.source : a.net < b.net; });
        std::vector<PortWish> ports;
        for (std::size_t i = 0; i < free.size();) {
            const std::uint32_t v = free[i].source;
            std::size_t next = i;
            ports.clear();
            for (; next < free.size() && free[next].source == v; ++next) {
                const NetEnd& end = free[next];
                // A net without a line goes to the right of the others.
                const double wish = end.taken ? 1e9 : end.sum / end.count - x_[v];
                ports.push_back({end.net, wish, wish, !end.taken && std::abs(wish) < 0.5});
            }
            if (ports.size() == 1) ports[0].wish = 0;
            else place_ports(ports, problem_.nodes[v].width);
            for (const PortWish& p : ports) net_dx_[p.key] = p.wish;
            i = next;
        }

        // Upper borders: one port per edge.
        std::vector<std::uint32_t> begin(g_.node_count + 1, 0);
        for (const RankedEdge& e : ranking_.edges)
            if (!e.self_loop && !e.lower_fixed) ++begin[e.lower + 1];
        for (std::uint32_t v = 0; v < g_.node_count; ++v) begin[v + 1] += begin[v];
        std::vector<std::uint32_t> list(begin.back()), next(begin.begin(), begin.end() - 1);
        for (std::uint32_t i = 0; i < ranking_.edges.size(); ++i) {
            const RankedEdge& e = ranking_.edges[i];
            if (e.self_loop) continue;
            if (e.lower_fixed) edge_dx_[i] = e.lower_dx;
            else list[next[e.lower]++] = i;
        }
        for (std::uint32_t v = 0; v < g_.node_count; ++v) {
            ports.clear();
            for (std::uint32_t k = begin[v]; k < begin[v + 1]; ++k) {
                const RankedEdge& e = ranking_.edges[list[k]];
                const double wish = e.taken_out ? 1e9 : upper_x(g_.segments[g_.last_segment[list[k]]], e.net) - x_[v];
                ports.push_back({list[k], wish, wish, !e.taken_out && std::abs(wish) < 0.5});
            }
            if (ports.size() == 1) ports[0].wish = 0;
            else if (!ports.empty()) place_ports(ports, problem_.nodes[v].width);
            for (const PortWish& p : ports) edge_dx_[p.key] = p.wish;
        }
    }

    void draw() {
        result_.routes.resize(ranking_.edges.size());
        for (std::uint32_t i = 0; i < ranking_.edges.size(); ++i) {
            const RankedEdge& e = ranking_.edges[i];
            if (e.self_loop) continue;
            FlatRoute& route = result_.routes[i];
            route.against_flow = e.against_flow;
            const LayoutPoint from{x_[e.upper] + net_dx_[e.net], result_.nodes[e.upper].bottom()};
            const LayoutPoint to{x_[e.lower] + edge_dx_[i], result_.nodes[e.lower].y};
            PathBuilder path(route.points);
            path.start(from);
            if (e.taken_out) {
                path.vertical_to(from.y + stub_length);
                route.second = static_cast<std::uint32_t>(route.points.size());
                path.start({to.x, to.y - stub_length});
                path.vertical_to(to.y);
            } else {
                std::uint32_t r = g_.rank[e.upper];
                path.vertical_to(bottom_[r]);
                while (++r < g_.rank[e.lower]) {
                    path.bend_to({x_[g_.dummy_at(e, r)], top_[r]});
                    path.vertical_to(bottom_[r]);
                }
                path.bend_to({to.x, top_[r]});
                path.vertical_to(to.y);
            }
        }
    }

    void shift_into_view() {
        double left = std::numeric_limits<double>::infinity(), right = -left, low = 0;
        for (const LayoutRect& r : result_.nodes) {
            left = std::min(left, r.x);
            right = std::max(right, r.right());
            low = std::max(low, r.bottom());
        }
        double top = 0;
        for (const FlatRoute& route : result_.routes)
            for (const LayoutPoint& p : route.points) {
                left = std::min(left, p.x);
                right = std::max(right, p.x);
                low = std::max(low, p.y);
                top = std::min(top, p.y);
            }
        if (left > right) left = right = 0;
        for (LayoutRect& r : result_.nodes) {
            r.x -= left;
            r.y -= top;
        }
        for (FlatRoute& route : result_.routes)
            for (LayoutPoint& p : route.points) {
                p.x -= left;
                p.y -= top;
            }
        result_.width = right - left;
        result_.height = low - top;
    }

    const FlatProblem& problem_;
    const Ranking& ranking_;
    const LayeredGraph& g_;
    const std::vector<double>& x_;
    const LayoutOptions& options_;
    FlatResult result_;
    std::vector<double> top_, bottom_; ///< per rank: its band
    std::vector<double> net_dx_;       ///< per net: port on the lower border of its source
    std::vector<double> edge_dx_;      ///< per edge: port on the upper border of its target
};

} // namespace

FlatResult route_edges(const FlatProblem& problem, const Ranking& ranking, const LayeredGraph& graph, const std::vector<double>& x,
                       const LayoutOptions& options) {
    return Router(problem, ranking, graph, x, options).run();
}

} // namespace megascope
