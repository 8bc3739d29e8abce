#pragma once

#include <cstdint>
#include <vector>

#include "layout/geometry.h"

namespace megascope {

// What one level of a nested layout asks of the layered engine: boxes and edges without clusters.

struct FlatNode {
    enum class Role : std::uint8_t {
        box,
        top_port,    ///< where edges enter the surrounding frame: first rank, no size of its own
        bottom_port, ///< where they leave it: last rank
    };
    double width = 0;
    double height = 0;
    Role role = Role::box;
    std::int32_t former = -1; ///< its number from left to right in a former drawing, whose order it keeps; -1 = none
};

struct FlatEdge {
    static constexpr double free_port = 1e300;

    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t net = 0;       ///< edges of a net leave `from` at one point; a net has one source
    double from_dx = free_port;  ///< where the edge leaves, relative to the middle of the lower border; free = the engine chooses
    double to_dx = free_port;    ///< the same for the upper border of `to`
};

struct FlatProblem {
    std::vector<FlatNode> nodes;
    std::vector<FlatEdge> edges;
};

struct FlatRoute {
    std::vector<LayoutPoint> points; ///< as in EdgeRoute: 1 + 3k points; two such parts when taken out
    std::uint32_t second = 0;
    bool against_flow = false;
};

struct FlatResult {
    std::vector<LayoutRect> nodes;
    std::vector<std::uint32_t> ranks;
    std::vector<FlatRoute> routes;
    double width = 0; ///< everything lies in (0, 0, width, height)
    double height = 0;
};

} // namespace megascope
