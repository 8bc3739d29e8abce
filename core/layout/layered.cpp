#include "layout/layered.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layout/layer_coordinates.h"
#include "layout/layer_order.h"
#include "layout/layer_routing.h"
#include "layout/layered_graph.h"
#include "layout/ranking.h"

namespace megascope {

namespace {

Expected<FlatResult> lay_out_connected(const FlatProblem& problem, const LayoutOptions& options, const CancelToken& cancel) {
    const Ranking ranking = rank_nodes(problem, options);
    if (cancel.cancelled()) return CancelToken::error();
    LayeredGraph graph(problem, ranking, options);
    order_layers(graph, options.effort, cancel);
    if (cancel.cancelled()) return CancelToken::error();
    const std::vector<double> x = assign_coordinates(graph, cancel);
    if (cancel.cancelled()) return CancelToken::error();
    return route_edges(problem, ranking, graph, x, options);
}

/// Component number of every node, numbered by first node.
std::vector<std::uint32_t> components(const FlatProblem& problem, std::uint32_t& count) {
    std::vector<std::uint32_t> parent(problem.nodes.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&](std::uint32_t v) {
        while (parent[v] != v) v = parent[v] = parent[parent[v]];
        return v;
    };
    for (const FlatEdge& e : problem.edges) {
        const std::uint32_t a = find(e.from), b = find(e.to);
        if (a != b) parent[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::uint32_t> number(problem.nodes.size());
    count = 0;
    for (std::uint32_t v = 0; v < number.size(); ++v) {
        const std::uint32_t root = find(v);
        number[v] = root == v ? count++ : number[root];
    }
    return number;
}

} // namespace

Expected<FlatResult> layered_layout(const FlatProblem& problem, const LayoutOptions& options, const CancelToken& cancel) {
    if (problem.nodes.empty()) return FlatResult{};
    std::uint32_t count = 1;
    bool ports = false;
    for (const FlatNode& node : problem.nodes) ports |= node.role != FlatNode::Role::box;
    const std::vector<std::uint32_t> number = ports ? std::vector<std::uint32_t>() : components(problem, count);
    if (count == 1) return lay_out_connected(problem, options, cancel);

    // Several parts without a common frame: each is laid out by itself, then they stand in rows like words in a paragraph.
    std::vector<FlatProblem> parts(count);
    std::vector<std::vector<std::uint32_t>> part_edges(count);
    std::vector<std::uint32_t> local(problem.nodes.size());
    for (std::uint32_t v = 0; v < problem.nodes.size(); ++v) {
        local[v] = static_cast<std::uint32_t>(parts[number[v]].nodes.size());
        parts[number[v]].nodes.push_back(problem.nodes[v]);
    }
    std::vector<std::uint32_t> net_in_part;
    std::vector<std::uint32_t> nets_of_part(count, 0);
    for (std::uint32_t i = 0; i < problem.edges.size(); ++i) {
        FlatEdge e = problem.edges[i];
        const std::uint32_t part = number[e.from];
        if (e.net >= net_in_part.size()) net_in_part.resize(e.net + 1, LayeredGraph::no_segment);
        if (net_in_part[e.net] == LayeredGraph::no_segment) net_in_part[e.net] = nets_of_part[part]++;
        e.net = net_in_part[e.net];
        e.from = local[e.from];
        e.to = local[e.to];
        parts[part].edges.push_back(e);
        part_edges[part].push_back(i);
    }
    std::vector<FlatResult> done(count);
    double area = 0, widest = 0;
    for (std::uint32_t p = 0; p < count; ++p) {
        MGS_ASSIGN(done[p], lay_out_connected(parts[p], options, cancel));
        area += (done[p].width + options.node_spacing) * (done[p].height + options.rank_spacing);
        widest = std::max(widest, done[p].width);
    }
    const double row_width = std::max(widest, std::sqrt(area * 1.6));
    FlatResult all;
    all.nodes.resize(problem.nodes.size());
    all.ranks.resize(problem.nodes.size());
    all.routes.resize(problem.edges.size());
    std::vector<LayoutPoint> origin(count);
    double x = 0, y = 0, row_height = 0;
    for (std::uint32_t p = 0; p < count; ++p) {
        if (x > 0 && x + done[p].width > row_width) {
            y += row_height + options.rank_spacing;
            x = row_height = 0;
        }
        origin[p] = {x, y};
        row_height = std::max(row_height, done[p].height);
        all.width = std::max(all.width, x + done[p].width);
        all.height = std::max(all.height, y + done[p].height);
        x += done[p].width + 2 * options.node_spacing;
    }
    for (std::uint32_t v = 0; v < problem.nodes.size(); ++v) {
        const LayoutPoint o = origin[number[v]];
        LayoutRect r = done[number[v]].nodes[local[v]];
        r.x += o.x;
        r.y += o.y;
        all.nodes[v] = r;
        all.ranks[v] = done[number[v]].ranks[local[v]];
    }
    for (std::uint32_t p = 0; p < count; ++p)
        for (std::size_t i = 0; i < part_edges[p].size(); ++i) {
            FlatRoute route = std::move(done[p].routes[i]);
            for (LayoutPoint& point : route.points) {
                point.x += origin[p].x;
                point.y += origin[p].y;
            }
            all.routes[part_edges[p][i]] = std::move(route);
        }
    return all;
}

} // namespace megascope
