// Draws whatever graph opens, in every expansion that a reader of it would try; other bytes are boxes, edges and frames. Every
// box has a place and every edge a route, all of finite size.

#include <cmath>
#include <cstdlib>

#include "format/reader.h"
#include "fuzz/graph_from_bytes.h"
#include "layout/graph_documents.h"
#include "layout/graph_scene.h"

using namespace megascope;

namespace {

bool finite(const LayoutRect& r) { return std::isfinite(r.x) && std::isfinite(r.y) && std::isfinite(r.width) && std::isfinite(r.height); }

void lay_out(const LayoutInput& input, const LayoutOptions& options) {
    const auto result = run_layout(input, options);
    if (!result) {
        if (result.error().message.empty()) std::abort();
        return;
    }
    if (result->nodes.size() != input.nodes.size() || result->edges.size() != input.edges.size() || result->clusters.size() != input.clusters.size()) std::abort();
    for (const LayoutRect& r : result->nodes)
        if (!finite(r)) std::abort();
    for (const LayoutRect& r : result->clusters)
        if (!finite(r)) std::abort();
    for (const LayoutPoint& p : result->points)
        if (!std::isfinite(p.x) || !std::isfinite(p.y)) std::abort();
    for (const EdgeRoute& e : result->edges)
        if (e.first + e.count > result->points.size() || e.second > e.count) std::abort();
}

void draw(const std::shared_ptr<const Graph>& graph, std::size_t choice) {
    const auto structure = analyse_structure(graph);
    (void)graph_as_dot(*structure);
    (void)graph_as_json(*structure);
    for (const bool all : {false, true}) {
        SceneOptions options;
        options.groups = choice % 5 != 4;
        options.fold_constants = choice % 3 != 2;
        options.fold_shapes = choice % 2 == 0;
        options.expanded = all ? expansion_to_depth(*structure->groups, 255) : default_expansion(*structure, 1 + choice % 64);
        GraphScene scene = build_scene(structure, options);
        measure_scene(scene, [](const SceneNode& node) { return SceneSize{40.0 + 6 * node.pill_count, 24}; }, [](GroupId) { return SceneSize{80, 16}; });
        lay_out(scene.layout, {});
    }
}

double any_size(fuzz::ByteSource& source) {
    switch (const std::uint8_t kind = source.byte()) {
    case 255: return std::nan("");
    case 254: return HUGE_VAL;
    case 253: return -1;
    case 252: return 1e300;
    case 251: return 1e9;
    default: return kind;
    }
}

/// Numbers around what exists.
template <class T>
T any_index(fuzz::ByteSource& source, std::size_t count, T none) {
    const std::size_t at = source.byte() + 256U * (count > 250 ? source.byte() : 0U);
    if (at == 254) return none;
    if (at == 255) return static_cast<T>(source.integer());
    return static_cast<T>(count ? at % count : at);
}

void boxes(fuzz::ByteSource& source) {
    LayoutOptions options;
    const std::uint8_t kind = source.byte();
    options.direction = kind % 2 ? LayoutDirection::right : LayoutDirection::down;
    options.engine = kind % 16 == 15 ? LayoutEngine::graphviz : LayoutEngine::automatic;
    options.effort = kind / 16 % 3;
    options.long_edge_ranks = kind >= 128 ? 2 : 20;
    LayoutInput input;
    input.clusters.resize(source.below(24));
    for (std::size_t i = 0; i < input.clusters.size(); ++i) {
        input.clusters[i].parent = any_index<std::int32_t>(source, i, -1);
        if (i == 0 && input.clusters[0].parent >= 0) input.clusters[0].parent = -1;
        input.clusters[i].header = any_size(source);
        input.clusters[i].min_width = any_size(source);
    }
    input.nodes.resize(source.byte() + source.byte() * (kind % 4 == 3 ? 4U : 0U));
    for (LayoutNode& node : input.nodes) {
        node.width = any_size(source);
        node.height = any_size(source);
        node.cluster = any_index<std::int32_t>(source, input.clusters.size() + 1, -1) - 1;
        node.bundles = source.empty() ? false : node.width > 200;
    }
    while (!source.empty()) {
        const auto from = any_index<std::uint32_t>(source, input.nodes.size(), 0);
        const auto to = any_index<std::uint32_t>(source, input.nodes.size(), 0);
        const std::uint8_t ports = source.byte();
        input.edges.push_back({from, to, ports % 16U, ports / 16U});
    }
    lay_out(input, options);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(data, size);
    std::size_t choice = size;
    for (const std::uint8_t b : bytes) choice = choice * 31 + b;
    if (const auto model = read_model(MappedFile::from_bytes("fuzz", std::as_bytes(bytes)))) {
        draw((*model)->main().graph, choice);
        return 0;
    }
    fuzz::ByteSource source(bytes);
    boxes(source);
    return 0;
}
