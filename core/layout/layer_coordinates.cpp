#include "layout/layer_coordinates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace megascope {

namespace {

constexpr std::uint32_t none = 0xffffffffU;

/// The segments that are straight in every assignment: at most one above and one below a vertex, none of them crossing.
struct StrongSegments {
    std::vector<std::uint32_t> above; ///< per vertex: segment or none
    std::vector<std::uint32_t> below;
    std::vector<std::uint32_t> before_upper; ///< per vertex: strong segments that start left of it on its layer
    std::vector<std::uint32_t> before_lower; ///< per vertex: strong segments that end left of it on its layer
};

/// Marks, per vertex, the neighbour on the longest way up and down; a segment both ends prefer belongs to a main chain.
StrongSegments find_strong(const LayeredGraph& g) {
    const std::uint32_t n = g.vertex_count();
    std::vector<std::uint32_t> depth(n, 0), height(n, 0), prefer_up(n, none), prefer_down(n, none);
    // Length in operators: dummies count nothing, so that the way through operators wins over a line beside them, and a frame counts
    // by its height.
    // Of equally long ways the one that changes its place in the layers least, all in all, so that parallel branches run side by side.
    // Both ends of a way add up the same numbers (whole ones, therefore) and so prefer the same way. The root makes one wide step
    // cheaper than several small ones.
    const auto skew = [&](const LayeredSegment& s) {
        const auto place = [&](std::uint32_t v, double dx) {
            const double inside = g.width[v] > 0 ? std::clamp(dx / g.width[v], -0.5, 0.5) : 0;
            return (g.position[v] + 0.5 + inside) / static_cast<double>(g.layers[g.rank[v]].size());
        };
        return static_cast<std::uint64_t>(std::llround(4096 * std::sqrt(std::abs(place(s.upper, s.upper_dx) - place(s.lower, s.lower_dx)))));
    };
    std::vector<std::uint64_t> skew_above(n, 0), skew_below(n, 0);
    for (const auto& layer : g.layers)
        for (std::uint32_t v : layer) {
            std::uint32_t& best = prefer_up[v];
            // A trunk that collects lines runs on straight; what joins it bends.
            const bool joins = g.is_dummy(v) && g.up(v).size() > 1 &&
                               std::any_of(g.up(v).begin(), g.up(v).end(), [&](std::uint32_t s) { return g.is_dummy(g.segments[s].upper); });
            for (std::uint32_t s : g.up(v)) {
                if (joins && !g.is_dummy(g.segments[s].upper)) continue;
                const std::uint32_t u = g.segments[s].upper, length = best == none ? 0 : depth[g.segments[best].upper];
                const std::uint64_t sum = skew_above[u] + skew(g.segments[s]);
                if (best != none && (depth[u] < length || (depth[u] == length && sum >= skew_above[v]))) continue;
                best = s;
                skew_above[v] = sum;
            }
            depth[v] = g.weight[v] + (best == none ? 0 : depth[g.segments[best].upper]);
        }
    for (std::size_t r = g.layers.size(); r-- > 0;)
        for (std::uint32_t v : g.layers[r]) {
            std::uint32_t& best = prefer_down[v];
            for (std::uint32_t s : g.down(v)) {
                const std::uint32_t w = g.segments[s].lower, length = best == none ? 0 : height[g.segments[best].lower];
                const std::uint64_t sum = skew_below[w] + skew(g.segments[s]);
                if (best != none && (height[w] < length || (height[w] == length && sum >= skew_below[v]))) continue;
                best = s;
                skew_below[v] = sum;
            }
            height[v] = g.weight[v] + (best == none ? 0 : height[g.segments[best].lower]);
        }

    StrongSegments strong;
    strong.above.assign(n, none);
    strong.below.assign(n, none);
    strong.before_upper.assign(n, 0);
    strong.before_lower.assign(n, 0);
    struct Candidate {
        std::uint32_t segment;
        std::uint32_t weight;
    };
    std::vector<Candidate> candidates;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> accepted; // positions above and below, ascending in both
    for (std::size_t r = 0; r + 1 < g.layers.size(); ++r) {
        candidates.clear();
        accepted.clear();
        for (std::uint32_t v : g.layers[r])
            for (std::uint32_t s : g.down(v)) {
                const LayeredSegment& segment = g.segments[s];
                const bool inner = g.is_dummy(segment.upper) && g.is_dummy(segment.lower);
                const bool main = prefer_down[segment.upper] == s && prefer_up[segment.lower] == s && !inner;
                if (!inner && !main) continue;
                // The longer the way through a segment, the more it matters; trunks come after every main chain that reaches
                // further than a few boxes.
                candidates.push_back({s, main ? depth[segment.upper] + height[segment.lower] : 3 * LayeredGraph::operator_weight});
            }
        std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
        for (const Candidate& c : candidates) {
            const LayeredSegment& s = g.segments[c.segment];
            if (strong.below[s.upper] != none || strong.above[s.lower] != none) continue;
            const std::pair<std::uint32_t, std::uint32_t> ends{g.position[s.upper], g.position[s.lower]};
            const auto at = std::lower_bound(accepted.begin(), accepted.end(), ends);
            if (at != accepted.end() && at->second < ends.second) continue;
            if (at != accepted.begin() && std::prev(at)->second > ends.second) continue;
            accepted.insert(at, ends);
            strong.below[s.upper] = c.segment;
            strong.above[s.lower] = c.segment;
        }
        std::uint32_t count = 0;
        for (std::uint32_t v : g.layers[r]) {
            strong.before_upper[v] = count;
            count += strong.below[v] != none;
        }
        count = 0;
        for (std::uint32_t v : g.layers[r + 1]) {
            strong.before_lower[v] = count;
            count += strong.above[v] != none;
        }
    }
    return strong;
}

struct Blocks {
    std::vector<std::uint32_t> root;  ///< per vertex
    std::vector<double> shift;        ///< per vertex: x minus the x of its root
};

/// One of the four alignments. `to_upper`: vertices align with neighbours above; `from_left`: left ones first.
Blocks align(const LayeredGraph& g, const StrongSegments& strong, bool to_upper, bool from_left) {
    const std::uint32_t n = g.vertex_count();
    std::vector<std::uint32_t> partner(n, none); // segment towards the neighbour it aligned with
    std::vector<std::uint32_t> taken(n, none);   // segment of the vertex on the next layer that aligned with it
    const auto& strong_in = to_upper ? strong.above : strong.below;
    const auto& strong_out = to_upper ? strong.below : strong.above;
    const auto& before_self = to_upper ? strong.before_lower : strong.before_upper;
    const auto& before_other = to_upper ? strong.before_upper : strong.before_lower;
    std::vector<std::pair<double, std::uint32_t>> ends;
    const std::size_t layers = g.layers.size();
    for (std::size_t k = 1; k < layers; ++k) {
        const auto& layer = g.layers[to_upper ? k : layers - 1 - k];
        std::int64_t limit = from_left ? -1 : std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < layer.size(); ++i) {
            const std::uint32_t v = layer[from_left ? i : layer.size() - 1 - i];
            const auto other_of = [&](std::uint32_t s) { return to_upper ? g.segments[s].upper : g.segments[s].lower; };
            const auto take = [&](std::uint32_t s) {
                partner[v] = s;
                taken[other_of(s)] = s;
                limit = g.position[other_of(s)];
            };
            if (strong_in[v] != none) {
                take(strong_in[v]);
                continue;
            }
            const auto list = to_upper ? g.up(v) : g.down(v);
            if (list.empty()) continue;
            ends.clear();
            for (std::uint32_t s : list) {
                const double dx = to_upper ? g.segments[s].upper_dx : g.segments[s].lower_dx;
                const std::uint32_t u = other_of(s);
                ends.emplace_back(g.position[u] + (g.width[u] > 0 ? std::clamp(dx / g.width[u], -0.5, 0.5) * 0.9 : 0), s);
            }
            std::sort(ends.begin(), ends.end());
            const std::size_t low = (ends.size() - 1) / 2, high = ends.size() / 2;
            for (const std::size_t m : {from_left ? low : high, from_left ? high : low}) {
                const std::uint32_t s = ends[m].second, u = other_of(s);
                if (taken[u] != none || strong_out[u] != none) continue;
                if (before_self[v] != before_other[u]) continue; // it would cross a strong segment
                const std::int64_t p = g.position[u];
                if (from_left ? p <= limit : p >= limit) continue;
                take(s);
                break;
            }
        }
    }
    Blocks blocks;
    blocks.root.resize(n);
    blocks.shift.assign(n, 0);
    for (std::size_t k = 0; k < layers; ++k)
        for (std::uint32_t v : g.layers[to_upper ? k : layers - 1 - k]) {
            if (partner[v] == none) {
                blocks.root[v] = v;
                continue;
            }
            const LayeredSegment& s = g.segments[partner[v]];
            const std::uint32_t u = to_upper ? s.upper : s.lower;
            const double difference = s.upper_dx - s.lower_dx; // x of lower minus x of upper when the segment is vertical
            blocks.root[v] = blocks.root[u];
            blocks.shift[v] = blocks.shift[u] + (to_upper ? difference : -difference);
        }
    return blocks;
}

/// Packs blocks to the left by longest paths, then lets each move right as far as its right neighbours allow without pushing
/// them (blocks would otherwise cling to the left border).
std::vector<double> pack(const LayeredGraph& g, const Blocks& blocks, bool to_left) {
    const std::uint32_t n = g.vertex_count();
    struct Neighbour {
        std::uint32_t from, to; // roots
        double distance;
    };
    std::vector<Neighbour> neighbours;
    neighbours.reserve(n);
    std::vector<std::uint32_t> begin(n + 1, 0), missing(n, 0);
    for (const auto& layer : g.layers)
        for (std::size_t i = 0; i + 1 < layer.size(); ++i) {
            const std::uint32_t a = layer[i], b = layer[i + 1];
            const double distance = g.width[a] / 2 + g.spacing(a, b) + g.width[b] / 2;
            if (blocks.root[a] == blocks.root[b]) continue;
            // Packing to the right is packing to the left of the mirrored picture: x counts from the right then.
            if (to_left) neighbours.push_back({blocks.root[a], blocks.root[b], distance + blocks.shift[a] - blocks.shift[b]});
            else neighbours.push_back({blocks.root[b], blocks.root[a], distance - blocks.shift[b] + blocks.shift[a]});
        }
    for (const Neighbour& e : neighbours) {
        ++begin[e.from + 1];
        ++missing[e.to];
    }
    for (std::uint32_t v = 0; v < n; ++v) begin[v + 1] += begin[v];
    std::vector<std::uint32_t> list(neighbours.size()), next(begin.begin(), begin.end() - 1);
    for (std::uint32_t i = 0; i < neighbours.size(); ++i) list[next[neighbours[i].from]++] = i;

    std::vector<double> x(n, 0);
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < n; ++v)
        if (blocks.root[v] == v && missing[v] == 0) order.push_back(v);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::uint32_t k = begin[order[i]]; k < begin[order[i] + 1]; ++k) {
            const Neighbour& e = neighbours[list[k]];
            x[e.to] = std::max(x[e.to], x[e.from] + e.distance);
            if (--missing[e.to] == 0) order.push_back(e.to);
        }
    for (std::size_t i = order.size(); i-- > 0;) {
        double room = std::numeric_limits<double>::infinity();
        for (std::uint32_t k = begin[order[i]]; k < begin[order[i] + 1]; ++k) {
            const Neighbour& e = neighbours[list[k]];
            room = std::min(room, x[e.to] - e.distance);
        }
        if (room != std::numeric_limits<double>::infinity()) x[order[i]] = std::max(x[order[i]], room);
    }
    std::vector<double> result(n);
    for (std::uint32_t v = 0; v < n; ++v) result[v] = (to_left ? x[blocks.root[v]] : -x[blocks.root[v]]) + blocks.shift[v];
    return result;
}

} // namespace

std::vector<double> assign_coordinates(const LayeredGraph& g, const CancelToken& cancel) {
    const std::uint32_t n = g.vertex_count();
    const StrongSegments strong = find_strong(g);
    std::array<std::vector<double>, 4> xs;
    double narrowest = std::numeric_limits<double>::infinity();
    std::array<std::pair<double, double>, 4> extent;
    std::size_t best = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        if (cancel.cancelled()) return std::vector<double>(n, 0);
        const bool left = i % 2 == 0;
        xs[i] = pack(g, align(g, strong, i / 2 == 0, left), left);
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (std::uint32_t v = 0; v < n; ++v) {
            low = std::min(low, xs[i][v] - g.width[v] / 2);
            high = std::max(high, xs[i][v] + g.width[v] / 2);
        }
        extent[i] = {low, high};
        if (high - low < narrowest) {
            narrowest = high - low;
            best = i;
        }
    }
    for (std::size_t i = 0; i < 4; ++i) {
        const double delta = i % 2 == 0 ? extent[best].first - extent[i].first : extent[best].second - extent[i].second;
        for (double& x : xs[i]) x += delta;
    }
    std::vector<double> result(n);
    for (std::uint32_t v = 0; v < n; ++v) {
        std::array<double, 4> four = {xs[0][v], xs[1][v], xs[2][v], xs[3][v]};
        std::sort(four.begin(), four.end());
        result[v] = (four[1] + four[2]) / 2;
    }
    return result;
}

} // namespace megascope
