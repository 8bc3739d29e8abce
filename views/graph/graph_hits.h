#pragma once

#include <cstdint>
#include <optional>

#include "views/graph/graph_picture.h"

namespace megascope {

/// What lies under a point of a picture. At most one of the four is set; a pill comes with its node.
struct GraphHit {
    std::optional<std::uint32_t> node;
    std::optional<std::uint32_t> pill; ///< index into scene.pills
    std::optional<std::uint32_t> edge;
    std::optional<std::uint32_t> frame; ///< its title bar
    [[nodiscard]] bool nothing() const { return !node && !edge && !frame; }
};

/// `tolerance`: how far from an edge still hits it, in layout units.
[[nodiscard]] GraphHit hit_test(const GraphPicture& picture, LayoutPoint point, double tolerance);

enum class Walk { up, down, left, right };
/// The node that an arrow key leads to: along the edge that comes nearest to straight on, or the next box of about the same
/// height. Nothing at the border.
[[nodiscard]] std::optional<std::uint32_t> walk(const GraphPicture& picture, std::uint32_t from, Walk direction);

/// Relation of every node to one (GraphHighlight::Relation), following edges in both directions.
[[nodiscard]] std::vector<std::uint8_t> relations(const GraphPicture& picture, const std::vector<std::uint32_t>& upstream_of,
                                                  const std::vector<std::uint32_t>& downstream_of);

/// By OprId: 1 for the operators within `steps` connections of `opr`, up or down, constants and shape computations of those
/// included.
[[nodiscard]] std::vector<std::uint8_t> neighbourhood(const Graph& graph, OprId opr, int steps);
/// The same around several.
[[nodiscard]] std::vector<std::uint8_t> neighbourhood(const Graph& graph, const std::vector<OprId>& oprs, int steps);

} // namespace megascope
