#include "layout/graphviz_layout.h"

#include <array>
#include <charconv>
#include <memory>
#include <mutex>
#include <string>

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

namespace megascope {

namespace {

// dot counts in points with y upwards; one point is one pixel here.
constexpr double points_per_inch = 72;
// Rounds per box of the network simplex that places boxes in their ranks; without a bound graphs with many long edges take minutes.
constexpr double placement_rounds = 5;

std::mutex& graphviz_mutex() {
    static std::mutex mutex;
    return mutex;
}

/// Independent of the process' locale, which a GUI toolkit may have set.
std::string text(double value) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, 4).ptr;
    return {buffer.data(), end};
}

void set(void* object, const char* name, const std::string& value) {
    std::string key = name, copy = value, fallback;
    agsafeset(object, key.data(), copy.data(), fallback.data());
}

int swallow_message(char*) { return 0; }

struct CloseGraph {
    void operator()(Agraph_t* g) const { agclose(g); }
};
struct FreeContext {
    void operator()(GVC_t* c) const { gvFreeContext(c); }
};

} // namespace

Expected<LayoutResult> graphviz_layout(const LayoutInput& input, const LayoutOptions& options, const CancelToken& cancel) {
    if (input.nodes.size() > graphviz_node_limit)
        return fail(ErrorCode::invalid_argument, "Graphviz is used for at most " + std::to_string(graphviz_node_limit) +
                                                     " boxes at a time, and this drawing has " + std::to_string(input.nodes.size()) +
                                                     ". Collapse groups or choose the layered engine.");
    LayoutResult result;
    result.direction = options.direction;
    result.nodes.resize(input.nodes.size());
    result.ranks.resize(input.nodes.size());
    result.clusters.resize(input.clusters.size());
    result.edges.resize(input.edges.size());
    if (input.nodes.empty()) return result;

    const std::scoped_lock lock(graphviz_mutex());
    if (cancel.cancelled()) return CancelToken::error();
    agseterr(AGMAX);
    agseterrf(swallow_message);
    const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
    std::string graph_name = "g";
    const std::unique_ptr<Agraph_t, CloseGraph> graph(agopen(graph_name.data(), Agdirected, nullptr));
    if (!context || !graph) return fail(ErrorCode::unsupported, "Graphviz could not be started.");
    const bool sideways = options.direction == LayoutDirection::right;
    set(graph.get(), "rankdir", sideways ? "LR" : "TB");
    set(graph.get(), "nodesep", text(options.node_spacing / points_per_inch));
    set(graph.get(), "ranksep", text(options.rank_spacing / points_per_inch));
    set(graph.get(), "splines", "spline");
    set(graph.get(), "remincross", "true");
    set(graph.get(), "nslimit", text(placement_rounds));

    std::vector<Agraph_t*> clusters(input.clusters.size(), nullptr);
    for (std::size_t c = 0; c < input.clusters.size(); ++c) {
        const std::int32_t parent = input.clusters[c].parent;
        std::string name = "cluster_" + std::to_string(c);
        clusters[c] = agsubg(parent < 0 ? graph.get() : clusters[static_cast<std::size_t>(parent)], name.data(), 1);
        set(clusters[c], "margin", text(options.cluster_padding));
        // A blank title of the right height keeps room for the one that the view draws.
        set(clusters[c], "label", " ");
        set(clusters[c], "fontsize", text(input.clusters[c].header * 0.8));
    }
    std::vector<Agnode_t*> nodes;
    nodes.reserve(input.nodes.size());
    for (std::size_t v = 0; v < input.nodes.size(); ++v) {
        const std::int32_t cluster = input.nodes[v].cluster;
        std::string name = "n" + std::to_string(v);
        Agraph_t* owner = cluster < 0 ? graph.get() : clusters[static_cast<std::size_t>(cluster)];
        Agnode_t* node = agnode(owner, name.data(), 1);
        set(node, "shape", "box");
        set(node, "fixedsize", "true");
        set(node, "label", "");
        set(node, "width", text(input.nodes[v].width / points_per_inch));
        set(node, "height", text(input.nodes[v].height / points_per_inch));
        nodes.push_back(node);
    }
    std::vector<Agedge_t*> edges(input.edges.size(), nullptr);
    for (std::size_t i = 0; i < input.edges.size(); ++i) {
        const LayoutEdge& e = input.edges[i];
        if (e.from == e.to) continue;
        std::string name = "e" + std::to_string(i);
        edges[i] = agedge(graph.get(), nodes[e.from], nodes[e.to], name.data(), 1);
        set(edges[i], "arrowhead", "none");
    }

    if (gvLayout(context.get(), graph.get(), "dot") != 0)
        return fail(ErrorCode::unsupported, "Graphviz has no dot layout here, or dot refused this graph.");
    const boxf box = GD_bb(graph.get());
    const auto flip = [&](pointf p) { return LayoutPoint{p.x - box.LL.x, box.UR.y - p.y}; };
    for (std::size_t v = 0; v < nodes.size(); ++v) {
        const LayoutPoint center = flip(ND_coord(nodes[v]));
        const double w = input.nodes[v].width, h = input.nodes[v].height;
        result.nodes[v] = {center.x - w / 2, center.y - h / 2, w, h};
        result.ranks[v] = static_cast<std::uint32_t>(ND_rank(nodes[v]));
    }
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        const boxf b = GD_bb(clusters[c]);
        const LayoutPoint top_left = flip({b.LL.x, b.UR.y});
        result.clusters[c] = {top_left.x, top_left.y, b.UR.x - b.LL.x, b.UR.y - b.LL.y};
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!edges[i] || !ED_spl(edges[i]) || ED_spl(edges[i])->size == 0) continue;
        const bezier& spline = ED_spl(edges[i])->list[0];
        EdgeRoute& route = result.edges[i];
        route.first = static_cast<std::uint32_t>(result.points.size());
        route.count = static_cast<std::uint32_t>(spline.size);
        for (int k = 0; k < spline.size; ++k) result.points.push_back(flip(spline.list[k]));
        const std::uint32_t from = input.edges[i].from, to = input.edges[i].to;
        route.against_flow = sideways ? result.nodes[from].x > result.nodes[to].x : result.nodes[from].y > result.nodes[to].y;
    }
    result.bounds = {0, 0, box.UR.x - box.LL.x, box.UR.y - box.LL.y};
    gvFreeLayout(context.get(), graph.get());
    if (cancel.cancelled()) return CancelToken::error();
    return result;
}

} // namespace megascope
