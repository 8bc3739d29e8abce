#include "layout/layered_graph.h"

#include <algorithm>

namespace megascope {

LayeredGraph::LayeredGraph(const FlatProblem& problem, const Ranking& ranking, const LayoutOptions& options)
    : node_count(static_cast<std::uint32_t>(problem.nodes.size())), rank(ranking.ranks), node_spacing_(options.node_spacing),
      line_spacing_(options.line_spacing) {
    width.reserve(node_count);
    for (const FlatNode& node : problem.nodes) width.push_back(node.width);

    nets.resize(ranking.net_count);
    std::vector<float> net_dx(ranking.net_count, 0);
    const auto in_layering = [](const RankedEdge& e) { return !e.self_loop && !e.taken_out; };
    for (const RankedEdge& e : ranking.edges) {
        if (!in_layering(e)) continue;
        Net& net = nets[e.net];
        net.source = e.upper;
        net.used = true;
        net_dx[e.net] = static_cast<float>(e.upper_dx);
        net.dummies = std::max(net.dummies, rank[e.lower] - rank[e.upper] - 1);
    }
    for (std::size_t i = 0; i < nets.size(); ++i) {
        Net& net = nets[i];
        if (!net.used) continue;
        net.first_dummy = vertex_count();
        net.first_segment = static_cast<std::uint32_t>(segments.size());
        for (std::uint32_t k = 0; k < net.dummies; ++k) {
            const std::uint32_t dummy = vertex_count();
            rank.push_back(rank[net.source] + 1 + k);
            width.push_back(0);
            segments.push_back({k == 0 ? net.source : dummy - 1, dummy, k == 0 ? net_dx[i] : 0.0F, 0});
        }
    }
    last_segment.assign(ranking.edges.size(), no_segment);
    for (std::size_t i = 0; i < ranking.edges.size(); ++i) {
        const RankedEdge& e = ranking.edges[i];
        if (!in_layering(e)) continue;
        const Net& net = nets[e.net];
        const std::uint32_t span = rank[e.lower] - rank[e.upper];
        last_segment[i] = static_cast<std::uint32_t>(segments.size());
        segments.push_back({span == 1 ? e.upper : net.first_dummy + span - 2, e.lower, span == 1 ? net_dx[e.net] : 0.0F,
                            static_cast<float>(e.lower_dx)});
    }

    const std::uint32_t n = vertex_count();
    down_begin_.assign(n + 1, 0);
    up_begin_.assign(n + 1, 0);
    for (const LayeredSegment& s : segments) {
        ++down_begin_[s.upper + 1];
        ++up_begin_[s.lower + 1];
    }
    for (std::uint32_t v = 0; v < n; ++v) {
        down_begin_[v + 1] += down_begin_[v];
        up_begin_[v + 1] += up_begin_[v];
    }
    down_.resize(segments.size());
    up_.resize(segments.size());
    std::vector<std::uint32_t> next_down(down_begin_.begin(), down_begin_.end() - 1), next_up(up_begin_.begin(), up_begin_.end() - 1);
    for (std::uint32_t i = 0; i < segments.size(); ++i) {
        down_[next_down[segments[i].upper]++] = i;
        up_[next_up[segments[i].lower]++] = i;
    }

    layers.resize(ranking.rank_count);
    position.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) {
        position[v] = static_cast<std::uint32_t>(layers[rank[v]].size());
        layers[rank[v]].push_back(v);
    }
}

} // namespace megascope
