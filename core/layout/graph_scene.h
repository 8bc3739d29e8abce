#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "layout/group_tree.h"
#include "layout/layout.h"
#include "layout/opr_roles.h"

namespace megascope {

/// What was found once per graph and serves every drawing of it.
struct GraphStructure {
    std::shared_ptr<const Graph> graph;
    std::vector<OprRole> roles; ///< by OprId
    std::shared_ptr<const GroupTree> groups;
};
[[nodiscard]] std::shared_ptr<const GraphStructure> analyse_structure(std::shared_ptr<const Graph> graph);

/// Which boxes a drawing shows.
struct SceneOptions {
    std::vector<std::uint8_t> expanded; ///< by GroupId: drawn as a frame; others (and those past the end) are one box
    bool groups = true;         ///< false: a flat drawing without frames
    bool fold_constants = true; ///< constants are pills at their readers
    bool fold_shapes = true;    ///< shape computations are pills at their readers
    /// Not empty (by OprId): only these operators are drawn.
    std::vector<std::uint8_t> only;
};

/// A small label inside a node for an input that is not drawn as an edge.
struct ScenePill {
    VarId var;
    std::uint32_t input = 0; ///< position among the reader's inputs
    bool shape = false;      ///< a folded shape computation instead of a constant
};

struct SceneNode {
    enum class Kind : std::uint8_t { opr, input, output, constant, group };
    Kind kind = Kind::opr;
    OprId opr;     ///< opr, input, constant: itself; output: the producer
    VarId var;     ///< output: the var (the first of several)
    std::uint32_t outputs = 1; ///< output: how many it stands for; more than one only for outputs of one collapsed group
    GroupId group; ///< group: itself
    std::uint32_t first_pill = 0;
    std::uint32_t pill_count = 0;
};

struct SceneEdge {
    VarId var;
    std::uint32_t from = 0, to = 0; ///< nodes
    OprId reader;                   ///< invalid for an output mark; the first one when `to` is a group
    std::uint32_t input = 0;        ///< which input of the reader
};

/// Everything that is to be drawn, with the layout's input. Immutable once built; any thread.
struct GraphScene {
    std::shared_ptr<const GraphStructure> structure;
    SceneOptions options;
    std::vector<SceneNode> nodes;
    std::vector<SceneEdge> edges;      ///< parallel to `layout.edges`
    std::vector<ScenePill> pills;
    std::vector<GroupId> frames;       ///< expanded groups, parallel to `layout.clusters`
    std::vector<std::uint32_t> node_of_opr; ///< by OprId: the node that shows it (itself, its collapsed group); `hidden`
                                            ///< for folded constants and shape computations and what `only` leaves out
    static constexpr std::uint32_t hidden = 0xffffffffU;
    LayoutInput layout;                ///< sizes are zero until `measure_scene`

    [[nodiscard]] const Graph& graph() const { return *structure->graph; }
    [[nodiscard]] std::span<const ScenePill> pills_of(const SceneNode& node) const {
        return std::span(pills).subspan(node.first_pill, node.pill_count);
    }
};

[[nodiscard]] GraphScene build_scene(std::shared_ptr<const GraphStructure> structure, SceneOptions options);

struct SceneSize {
    double width = 0, height = 0;
};
/// Fills in the sizes of nodes, and the room that frames need for their titles.
void measure_scene(GraphScene& scene, const std::function<SceneSize(const SceneNode&)>& node_size,
                   const std::function<SceneSize(GroupId)>& title_size);

/// Tells the layout where things of `scene` lay in another drawing of the same structure (before a group was expanded, for example),
/// so that they keep their order. Between `build_scene` and `run_layout`.
void keep_order(GraphScene& scene, const GraphScene& former, const LayoutResult& drawing);

/// The expansion for a first picture: groups are opened from the outside in while at most `box_limit` boxes show. Of a training step
/// gradients and updates stay one box each.
[[nodiscard]] std::vector<std::uint8_t> default_expansion(const GraphStructure& structure, std::size_t box_limit);
/// All groups of depth < `depth` opened.
[[nodiscard]] std::vector<std::uint8_t> expansion_to_depth(const GroupTree& groups, std::uint32_t depth);

} // namespace megascope
