#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_problem.h"
#include "layout/layout.h"

namespace megascope {

/// An edge as the later stages see it.
struct RankedEdge {
    std::uint32_t upper = 0;
    std::uint32_t lower = 0;
    std::uint32_t net = 0;
    std::uint32_t trunk = 0;    ///< whose dummies it runs along: its net's, or, from `net_count` on, those of the port that collects it
    double upper_dx = 0;        ///< fixed port or 0
    double lower_dx = 0;
    bool upper_fixed = false;
    bool lower_fixed = false;
    bool against_flow = false;  ///< it closes a cycle; always taken out, and the only kind whose rank need not grow
    bool taken_out = false;     ///< too long to stay in the layering, or against the flow
    bool self_loop = false;
};

struct Ranking {
    std::vector<std::uint32_t> ranks; ///< per node; every rank from 0 to `rank_count - 1` has a node
    std::uint32_t rank_count = 0;
    std::vector<RankedEdge> edges;    ///< parallel to FlatProblem::edges
    std::uint32_t net_count = 0;
    std::uint32_t trunk_count = 0;    ///< the nets, then a trunk for every lower port that several lines run to
};

/// Takes out edges that close cycles, assigns ranks (longest path, then nodes slide down where that shortens edges) and marks the edges that
/// are too long to keep. Linear, plus a logarithm for the choice of the length limit.
[[nodiscard]] Ranking rank_nodes(const FlatProblem& problem, const LayoutOptions& options);

} // namespace megascope
