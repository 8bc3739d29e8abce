#include "layout/layout.h"

#include <string>
#include <utility>

#include "layout/graphviz_layout.h"
#include "layout/nested.h"

namespace megascope {

namespace {

/// Far beyond what is ever drawn, and small enough that sums and products of sizes stay exact.
constexpr double largest_size = 1e9;

bool is_size(double size) { return size >= 0 && size <= largest_size; } // not a NaN either

Expected<void> check(const LayoutInput& input) {
    const auto count = static_cast<std::int64_t>(input.clusters.size());
    for (std::size_t i = 0; i < input.clusters.size(); ++i) {
        if (!is_size(input.clusters[i].header) || !is_size(input.clusters[i].min_width))
            return fail(ErrorCode::invalid_argument, "Cluster " + std::to_string(i) + " of the layout has a title without a usable size.");
        if (input.clusters[i].parent >= static_cast<std::int64_t>(i) || input.clusters[i].parent < -1)
            return fail(ErrorCode::invalid_argument, "Cluster " + std::to_string(i) + " of the layout has parent " +
                                                         std::to_string(input.clusters[i].parent) + ", which does not come before it.");
    }
    for (std::size_t i = 0; i < input.nodes.size(); ++i) {
        const LayoutNode& n = input.nodes[i];
        if (!is_size(n.width) || !is_size(n.height))
            return fail(ErrorCode::invalid_argument, "Node " + std::to_string(i) + " of the layout has no usable size.");
        if (n.cluster < -1 || n.cluster >= count)
            return fail(ErrorCode::invalid_argument, "Node " + std::to_string(i) + " of the layout lies in cluster " +
                                                         std::to_string(n.cluster) + ", which does not exist.");
    }
    for (std::size_t i = 0; i < input.edges.size(); ++i)
        if (input.edges[i].from >= input.nodes.size() || input.edges[i].to >= input.nodes.size())
            return fail(ErrorCode::invalid_argument, "Edge " + std::to_string(i) + " of the layout joins nodes that do not exist.");
    return {};
}

void turn(LayoutRect& r) {
    std::swap(r.x, r.y);
    std::swap(r.width, r.height);
}

} // namespace

Expected<LayoutResult> run_layout(const LayoutInput& input, const LayoutOptions& options, const CancelToken& cancel,
                                  const Progress& progress) {
    MGS_TRY(check(input));
    if (options.engine == LayoutEngine::graphviz) return graphviz_layout(input, options, cancel);
    if (options.direction == LayoutDirection::down) return nested_layout(input, options, false, cancel, progress);

    LayoutInput turned = input;
    for (LayoutNode& n : turned.nodes) std::swap(n.width, n.height);
    MGS_ASSIGN(LayoutResult result, nested_layout(turned, options, true, cancel, progress));
    for (LayoutRect& r : result.nodes) turn(r);
    for (LayoutRect& r : result.clusters) turn(r);
    for (LayoutPoint& p : result.points) std::swap(p.x, p.y);
    turn(result.bounds);
    result.direction = LayoutDirection::right;
    return result;
}

} // namespace megascope
