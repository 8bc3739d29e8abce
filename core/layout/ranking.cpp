#include "layout/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace megascope {

namespace {

/// Ranks between an operator and its readers from which on it stands with them.
constexpr std::uint32_t far_below = 10;

/// Edges that decide about ranks.
bool in_order(const RankedEdge& e) { return !e.self_loop && !e.against_flow; }

/// Compressed lists: the edges that leave (or enter) each node.
struct Adjacency {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> edge;

    template <class NodeOf>
    Adjacency(std::size_t nodes, const std::vector<RankedEdge>& edges, NodeOf node_of) : begin(nodes + 1, 0) {
        for (const RankedEdge& e : edges)
            if (in_order(e)) ++begin[node_of(e) + 1];
        for (std::size_t i = 1; i <= nodes; ++i) begin[i] += begin[i - 1];
        edge.resize(begin[nodes]);
        std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
        for (std::uint32_t i = 0; i < edges.size(); ++i)
            if (in_order(edges[i])) edge[next[node_of(edges[i])]++] = i;
    }
};

std::uint32_t upper_of(const RankedEdge& e) { return e.upper; }
std::uint32_t lower_of(const RankedEdge& e) { return e.lower; }

/// Depth-first search in node order; an edge to a node that is still on the stack closes a cycle. It is taken out: its line
/// would have to run up beside the boxes, from a lower border to an upper one.
/// Port nodes never take part in a cycle: nothing enters a top port and nothing leaves a bottom port.
void break_cycles(std::size_t nodes, std::vector<RankedEdge>& edges) {
    const Adjacency out(nodes, edges, upper_of);
    enum : std::uint8_t { fresh, open, done };
    std::vector<std::uint8_t> state(nodes, fresh);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stack; // node, next position in its list
    std::vector<std::uint32_t> back;
    for (std::uint32_t root = 0; root < nodes; ++root) {
        if (state[root] != fresh) continue;
        state[root] = open;
        stack.emplace_back(root, out.begin[root]);
        while (!stack.empty()) {
            auto& [node, position] = stack.back();
            if (position == out.begin[node + 1]) {
                state[node] = done;
                stack.pop_back();
                continue;
            }
            const std::uint32_t e = out.edge[position++];
            const std::uint32_t next = edges[e].lower;
            if (state[next] == open) back.push_back(e);
            else if (state[next] == fresh) {
                state[next] = open;
                stack.emplace_back(next, out.begin[next]);
            }
        }
    }
    for (std::uint32_t e : back) edges[e].against_flow = edges[e].taken_out = true;
}

/// Lines to the same lower port (values of one bundle that leave a frame) come together as soon as they can and run on as one.
void collect_at_ports(const FlatProblem& problem, Ranking& r) {
    std::vector<std::uint32_t> lines(problem.nodes.size(), 0), trunk(problem.nodes.size(), 0);
    for (const RankedEdge& e : r.edges)
        if (problem.nodes[e.lower].role == FlatNode::Role::bottom_port) ++lines[e.lower];
    for (std::size_t v = 0; v < lines.size(); ++v)
        if (lines[v] > 1) trunk[v] = r.trunk_count++;
    for (RankedEdge& e : r.edges)
        if (trunk[e.lower] != 0 && lines[e.lower] > 1) e.trunk = trunk[e.lower];
}

/// A frame wider than this whose content falls into several parts (the updates of all params) holds them in rows.
constexpr double wide_frame = 3000;

/// Parts of a frame that only its ports have in common stand in rows like words in a paragraph; lines to lower rows run between the
/// parts of upper ones. `first`: the rank of the uppermost boxes.
void stand_in_rows(const FlatProblem& problem, const LayoutOptions& options, Ranking& r, std::uint32_t first) {
    const std::size_t n = problem.nodes.size();
    const auto is_box = [&](std::uint32_t v) { return problem.nodes[v].role == FlatNode::Role::box; };
    double sum = 0;
    bool ports = false;
    for (std::uint32_t v = 0; v < n; ++v) {
        ports |= !is_box(v);
        sum += problem.nodes[v].width;
    }
    if (!ports || sum <= wide_frame) return;
    std::vector<std::uint32_t> part(n);
    std::iota(part.begin(), part.end(), 0U);
    const auto find = [&](std::uint32_t v) {
        while (part[v] != v) v = part[v] = part[part[v]];
        return v;
    };
    for (const RankedEdge& e : r.edges) {
        if (!is_box(e.upper) || !is_box(e.lower)) continue;
        const std::uint32_t a = find(e.upper), b = find(e.lower);
        part[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::uint32_t> boxes;
    for (std::uint32_t v = 0; v < n; ++v)
        if (is_box(v)) boxes.push_back(v);
    for (std::uint32_t v : boxes) part[v] = find(v);
    std::stable_sort(boxes.begin(), boxes.end(), [&](std::uint32_t a, std::uint32_t b) { return part[a] != part[b] ? part[a] < part[b] : r.ranks[a] < r.ranks[b]; });

    struct Part {
        std::size_t begin, end; ///< in `boxes`
        double width = 0, height = 0;
    };
    std::vector<Part> parts;
    double total = 0, area = 0;
    for (std::size_t i = 0; i < boxes.size();) {
        Part p{i, i};
        while (p.end < boxes.size() && part[boxes[p.end]] == part[boxes[p.begin]]) {
            const std::uint32_t rank = r.ranks[boxes[p.end]];
            double across = 0, tallest = 0;
            for (; p.end < boxes.size() && part[boxes[p.end]] == part[boxes[p.begin]] && r.ranks[boxes[p.end]] == rank; ++p.end) {
                across += problem.nodes[boxes[p.end]].width + options.node_spacing;
                tallest = std::max(tallest, problem.nodes[boxes[p.end]].height);
            }
            p.width = std::max(p.width, across);
            p.height += tallest + options.rank_spacing;
        }
        total += p.width;
        area += p.width * p.height;
        parts.push_back(p);
        i = p.end;
    }
    const double row_width = std::max(wide_frame / 2, std::sqrt(area * 1.6));
    if (parts.size() < 4 || total <= wide_frame || total < row_width * 1.5) return;
    std::uint32_t base = first, ranks = 0;
    double x = 0;
    for (const Part& p : parts) {
        if (x > 0 && x + p.width > row_width) {
            base += ranks;
            x = ranks = 0;
        }
        const std::uint32_t top = r.ranks[boxes[p.begin]];
        ranks = std::max(ranks, r.ranks[boxes[p.end - 1]] - top + 1);
        for (std::size_t i = p.begin; i < p.end; ++i) r.ranks[boxes[i]] += base - top;
        x += p.width;
    }
    for (std::uint32_t v = 0; v < n; ++v)
        if (problem.nodes[v].role == FlatNode::Role::bottom_port) r.ranks[v] = base + ranks;
    r.rank_count = *std::max_element(r.ranks.begin(), r.ranks.end()) + 1;
}

/// Number of dummies when every trunk is at most `limit` ranks long.
std::size_t dummies(const std::vector<std::uint32_t>& spans, const std::vector<std::uint32_t>& begin, std::uint32_t limit) {
    std::size_t sum = 0;
    for (std::size_t net = 0; net + 1 < begin.size(); ++net) {
        const auto first = spans.begin() + begin[net], last = spans.begin() + begin[net + 1];
        const auto past = std::upper_bound(first, last, limit);
        if (past != first) sum += *(past - 1) - 1;
    }
    return sum;
}

void take_out_long_edges(Ranking& r, std::size_t nodes, std::uint32_t keep_up_to) {
    std::vector<std::uint32_t> begin(r.trunk_count + 1, 0);
    for (const RankedEdge& e : r.edges)
        if (in_order(e)) ++begin[e.trunk + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<std::uint32_t> spans(begin.back()), next(begin.begin(), begin.end() - 1);
    std::uint32_t longest = 0;
    for (const RankedEdge& e : r.edges) {
        if (!in_order(e)) continue;
        const std::uint32_t span = r.ranks[e.lower] - r.ranks[e.upper];
        spans[next[e.trunk]++] = span;
        longest = std::max(longest, span);
    }
    for (std::size_t t = 0; t + 1 < begin.size(); ++t) std::sort(spans.begin() + begin[t], spans.begin() + begin[t + 1]);

    const std::size_t budget = 4 * nodes + 2000;
    if (longest <= keep_up_to || dummies(spans, begin, longest) <= budget) return;
    std::uint32_t low = keep_up_to, high = longest; // `high` is too much, `low` is kept whatever it costs
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (dummies(spans, begin, middle) <= budget ? low : high) = middle;
    }
    for (RankedEdge& e : r.edges)
        if (in_order(e) && r.ranks[e.lower] - r.ranks[e.upper] > low) e.taken_out = true;
}

} // namespace

Ranking rank_nodes(const FlatProblem& problem, const LayoutOptions& options) {
    const std::size_t n = problem.nodes.size();
    Ranking r;
    r.edges.reserve(problem.edges.size());
    for (const FlatEdge& e : problem.edges) {
        RankedEdge x;
        x.upper = e.from;
        x.lower = e.to;
        x.net = x.trunk = e.net;
        x.upper_fixed = e.from_dx != FlatEdge::free_port;
        x.lower_fixed = e.to_dx != FlatEdge::free_port;
        x.upper_dx = x.upper_fixed ? e.from_dx : 0;
        x.lower_dx = x.lower_fixed ? e.to_dx : 0;
        x.self_loop = e.from == e.to;
        r.net_count = std::max(r.net_count, e.net + 1);
        r.edges.push_back(x);
    }
    r.trunk_count = r.net_count;
    break_cycles(n, r.edges);
    collect_at_ports(problem, r);

    const Adjacency out(n, r.edges, upper_of), in(n, r.edges, lower_of);
    std::vector<std::uint32_t> order, missing(n);
    order.reserve(n);
    r.ranks.assign(n, 0);
    bool has_top_ports = false;
    for (const FlatNode& node : problem.nodes) has_top_ports |= node.role == FlatNode::Role::top_port;
    for (std::uint32_t v = 0; v < n; ++v) {
        missing[v] = in.begin[v + 1] - in.begin[v];
        if (has_top_ports && problem.nodes[v].role != FlatNode::Role::top_port) r.ranks[v] = 1;
        if (missing[v] == 0) order.push_back(v);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::uint32_t v = order[i];
        for (std::uint32_t k = out.begin[v]; k < out.begin[v + 1]; ++k) {
            const std::uint32_t w = r.edges[out.edge[k]].lower;
            r.ranks[w] = std::max(r.ranks[w], r.ranks[v] + 1);
            if (--missing[w] == 0) order.push_back(w);
        }
    }
    std::uint32_t last = 0;
    for (std::uint32_t v = 0; v < n; ++v)
        if (problem.nodes[v].role != FlatNode::Role::bottom_port) last = std::max(last, r.ranks[v]);
    bool has_bottom_ports = false;
    for (std::uint32_t v = 0; v < n; ++v)
        if (problem.nodes[v].role == FlatNode::Role::bottom_port) {
            has_bottom_ports = true;
            r.ranks[v] = last + 1;
        }

    // Slide nodes down where that makes edges shorter: sources always, others when more values leave than enter; and when just as many
    // do but the readers are far, as an operator belongs to what reads it (the many small things that are made of one value). What leaves
    // the frame stays where it is made: at the lower border such operators would make a long row.
    std::vector<std::uint32_t> nets;
    for (std::size_t i = order.size(); i-- > 0;) {
        const std::uint32_t v = order[i];
        if (problem.nodes[v].role != FlatNode::Role::box || out.begin[v] == out.begin[v + 1]) continue;
        std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
        bool read_inside = false;
        nets.clear();
        for (std::uint32_t k = out.begin[v]; k < out.begin[v + 1]; ++k) {
            const RankedEdge& e = r.edges[out.edge[k]];
            lowest = std::min(lowest, r.ranks[e.lower] - 1);
            read_inside |= problem.nodes[e.lower].role == FlatNode::Role::box;
            nets.push_back(e.net);
        }
        if (lowest <= r.ranks[v]) continue;
        std::sort(nets.begin(), nets.end());
        nets.erase(std::unique(nets.begin(), nets.end()), nets.end());
        const std::size_t enter = in.begin[v + 1] - in.begin[v];
        if (nets.size() > enter || (nets.size() == enter && read_inside && lowest - r.ranks[v] >= far_below)) r.ranks[v] = lowest;
    }

    // Close ranks that sliding emptied.
    r.rank_count = last + (has_bottom_ports ? 2 : 1);
    std::vector<std::uint32_t> renumber(r.rank_count, 0);
    for (std::uint32_t rank : r.ranks) renumber[rank] = 1;
    std::uint32_t count = 0;
    for (std::uint32_t& x : renumber) {
        const std::uint32_t used = x;
        x = count;
        count += used;
    }
    for (std::uint32_t& rank : r.ranks) rank = renumber[rank];
    r.rank_count = count;

    stand_in_rows(problem, options, r, has_top_ports ? 1 : 0);
    take_out_long_edges(r, n, std::max(1U, options.long_edge_ranks));
    return r;
}

} // namespace megascope
