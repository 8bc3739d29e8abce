#include "layout/layered_graph.h"

#include <algorithm>

namespace megascope {

namespace {

// A way that comes into a frame and leaves it again is the main one, however long others in it are; of several equally long ones that
// whose value is read most often (the features, not their mask).
constexpr std::uint32_t port_weight = 1000 * LayeredGraph::operator_weight;

} // namespace

LayeredGraph::LayeredGraph(const FlatProblem& problem, const Ranking& ranking, const LayoutOptions& options)
    : node_count(static_cast<std::uint32_t>(problem.nodes.size())), rank(ranking.ranks), node_spacing_(options.node_spacing),
      line_spacing_(options.line_spacing) {
    width.reserve(node_count);
    for (const FlatNode& node : problem.nodes) {
        width.push_back(node.width);
        const bool is_port = node.role != FlatNode::Role::box;
        weight.push_back(is_port ? port_weight : operator_weight * (1 + static_cast<std::uint32_t>(std::max(0.0, node.height) / 70)));
        port.push_back(is_port);
    }
    if (std::any_of(problem.nodes.begin(), problem.nodes.end(), [](const FlatNode& n) { return n.former >= 0; }))
        for (const FlatNode& node : problem.nodes) former.push_back(node.former);

    for (const RankedEdge& e : ranking.edges)
        if (!e.self_loop && port[e.upper] != 0 && weight[e.upper] < port_weight + operator_weight - 1) ++weight[e.upper];

    trunks.resize(ranking.trunk_count);
    std::vector<float> net_dx(ranking.net_count, 0);
    const auto in_layering = [](const RankedEdge& e) { return !e.self_loop && !e.taken_out; };
    for (const RankedEdge& e : ranking.edges) {
        if (!in_layering(e)) continue;
        Trunk& trunk = trunks[e.trunk];
        trunk.end = e.trunk < ranking.net_count ? e.upper : e.lower;
        trunk.used = true;
        net_dx[e.net] = static_cast<float>(e.upper_dx);
        trunk.dummies = std::max(trunk.dummies, rank[e.lower] - rank[e.upper] - 1);
    }
    for (std::size_t i = 0; i < trunks.size(); ++i) {
        Trunk& trunk = trunks[i];
        if (!trunk.used) continue;
        const bool collects = i >= ranking.net_count;
        trunk.first_dummy = vertex_count();
        trunk.first_rank = collects ? rank[trunk.end] - trunk.dummies : rank[trunk.end] + 1;
        for (std::uint32_t k = 0; k < trunk.dummies; ++k) {
            const std::uint32_t dummy = vertex_count();
            rank.push_back(trunk.first_rank + k);
            width.push_back(0);
            weight.push_back(0);
            if (k > 0) segments.push_back({dummy - 1, dummy, 0, 0});
            else if (!collects) segments.push_back({trunk.end, dummy, net_dx[i], 0});
        }
    }
    std::vector<std::uint32_t> into_port(ranking.trunk_count, no_segment); // the last segment of a trunk that collects
    last_segment.assign(ranking.edges.size(), no_segment);
    for (std::size_t i = 0; i < ranking.edges.size(); ++i) {
        const RankedEdge& e = ranking.edges[i];
        if (!in_layering(e)) continue;
        const bool collects = e.trunk >= ranking.net_count, direct = rank[e.lower] == rank[e.upper] + 1;
        const auto lower_dx = static_cast<float>(e.lower_dx);
        if (direct || !collects) {
            last_segment[i] = static_cast<std::uint32_t>(segments.size());
            segments.push_back({direct ? e.upper : dummy_at(e, rank[e.lower] - 1), e.lower, direct ? net_dx[e.net] : 0.0F, lower_dx});
            continue;
        }
        if (into_port[e.trunk] == no_segment) {
            into_port[e.trunk] = static_cast<std::uint32_t>(segments.size());
            segments.push_back({dummy_at(e, rank[e.lower] - 1), e.lower, 0, lower_dx});
        }
        last_segment[i] = into_port[e.trunk];
        segments.push_back({e.upper, dummy_at(e, rank[e.upper] + 1), net_dx[e.net], 0});
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
