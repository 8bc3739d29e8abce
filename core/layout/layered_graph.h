#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/flat_problem.h"
#include "layout/layout.h"
#include "layout/ranking.h"

namespace megascope {

/// A piece of an edge between two neighbouring ranks.
struct LayeredSegment {
    std::uint32_t upper = 0; ///< vertex
    std::uint32_t lower = 0;
    float upper_dx = 0;      ///< port relative to the vertex' middle; 0 for free ports and dummies
    float lower_dx = 0;
};

/// The layering with dummies: every segment joins neighbouring ranks. All readers of a value share one chain of dummies (a
/// trunk that branches), so that a value read by k operators costs its longest way, not the sum of all. Lines that a lower port
/// collects share a trunk from the highest of them down to the port.
/// Vertices below `node_count` are the problem's nodes, the others dummies.
struct LayeredGraph {
    LayeredGraph(const FlatProblem& problem, const Ranking& ranking, const LayoutOptions& options);

    struct Trunk {
        std::uint32_t end = 0;         ///< vertex: the source of a net, or the port that collects
        std::uint32_t first_dummy = 0; ///< its dummies are consecutive, one per rank
        std::uint32_t first_rank = 0;  ///< of the first dummy
        std::uint32_t dummies = 0;
        bool used = false;
    };

    std::uint32_t node_count = 0;
    std::vector<std::uint32_t> rank;          ///< per vertex
    std::vector<double> width;                ///< per vertex
    static constexpr std::uint32_t operator_weight = 16;
    std::vector<std::uint32_t> weight;        ///< per vertex: about how tall it is, in operators; 0 for dummies, much for ports
    std::vector<std::uint8_t> port;           ///< per node: whether it is a port of the surrounding frame
    std::vector<std::int32_t> former;         ///< per node, see FlatNode; empty when no node has a former place
    std::vector<LayeredSegment> segments;
    std::vector<Trunk> trunks;                ///< by number of the trunk, see RankedEdge
    std::vector<std::uint32_t> last_segment;  ///< per edge: the segment that enters its target; no_segment for others
    static constexpr std::uint32_t no_segment = 0xffffffffU;

    std::vector<std::vector<std::uint32_t>> layers; ///< vertices from left to right, per rank
    std::vector<std::uint32_t> position;            ///< per vertex: index in its layer

    /// What the edge's line passes at `r`, a rank between its ends.
    [[nodiscard]] std::uint32_t dummy_at(const RankedEdge& e, std::uint32_t r) const {
        return trunks[e.trunk].first_dummy + r - trunks[e.trunk].first_rank;
    }
    [[nodiscard]] bool has_former(std::uint32_t vertex) const { return vertex < former.size() && former[vertex] >= 0; }
    [[nodiscard]] bool is_dummy(std::uint32_t vertex) const { return vertex >= node_count; }
    [[nodiscard]] std::uint32_t vertex_count() const { return static_cast<std::uint32_t>(rank.size()); }
    /// Segments below / above a vertex.
    [[nodiscard]] std::span<const std::uint32_t> down(std::uint32_t v) const {
        return std::span(down_).subspan(down_begin_[v], down_begin_[v + 1] - down_begin_[v]);
    }
    [[nodiscard]] std::span<const std::uint32_t> up(std::uint32_t v) const {
        return std::span(up_).subspan(up_begin_[v], up_begin_[v + 1] - up_begin_[v]);
    }
    /// Least distance between the right border of `left` and the left border of `right` in a layer.
    [[nodiscard]] double spacing(std::uint32_t left, std::uint32_t right) const {
        return is_line(left) || is_line(right) ? line_spacing_ : node_spacing_;
    }
    /// A dummy, or a port: nothing but a line.
    [[nodiscard]] bool is_line(std::uint32_t vertex) const { return is_dummy(vertex) || port[vertex] != 0; }
    void renumber(std::size_t layer) {
        for (std::uint32_t i = 0; i < layers[layer].size(); ++i) position[layers[layer][i]] = i;
    }

private:
    std::vector<std::uint32_t> down_begin_, down_, up_begin_, up_;
    double node_spacing_ = 0;
    double line_spacing_ = 0;
};

} // namespace megascope
