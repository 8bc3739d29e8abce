#include "layout/graph_scene.h"

#include <algorithm>
#include <unordered_map>

#include "layout/training_phases.h"

namespace megascope {

std::shared_ptr<const GraphStructure> analyse_structure(std::shared_ptr<const Graph> graph) {
    auto s = std::make_shared<GraphStructure>();
    s->roles = opr_roles(*graph);
    s->groups = build_groups(*graph, s->roles);
    s->graph = std::move(graph);
    return s;
}

namespace {

class SceneBuilder {
public:
    SceneBuilder(std::shared_ptr<const GraphStructure> structure, SceneOptions options)
        : graph_(*structure->graph), roles_(structure->roles), groups_(*structure->groups) {
        scene_.structure = std::move(structure);
        scene_.options = std::move(options);
    }

    GraphScene run() {
        choose_frames();
        make_nodes();
        make_edges();
        return std::move(scene_);
    }

private:
    bool expanded(GroupId g) const {
        return g.index() < scene_.options.expanded.size() && scene_.options.expanded[g.index()] != 0;
    }
    bool wanted(OprId id) const { return scene_.options.only.empty() || scene_.options.only[id.index()] != 0; }
    bool folded(OprId id) const {
        const OprRole role = roles_[id.index()];
        return (role == OprRole::constant && scene_.options.fold_constants) || (role == OprRole::shape && scene_.options.fold_shapes);
    }

    void choose_frames() {
        // collapsed_[g]: the outermost group that hides g's content, or invalid.
        const auto& all = groups_.groups();
        collapsed_.resize(all.size());
        frame_.assign(all.size(), -1);
        if (!scene_.options.groups) return;
        for (const Group& g : all) { // parents first
            const GroupId outer = g.parent.valid() ? collapsed_[g.parent.index()] : GroupId();
            if (outer.valid()) {
                collapsed_[g.id.index()] = outer;
            } else if (!expanded(g.id)) {
                collapsed_[g.id.index()] = g.id;
            } else {
                frame_[g.id.index()] = static_cast<std::int32_t>(scene_.frames.size());
                scene_.layout.clusters.push_back({frame_of(g.parent), 20, 0});
                scene_.frames.push_back(g.id);
            }
        }
    }
    std::int32_t frame_of(GroupId g) const { return g.valid() ? frame_[g.index()] : -1; }

    std::uint32_t add_node(SceneNode node, std::int32_t frame) {
        scene_.nodes.push_back(node);
        scene_.layout.nodes.push_back({0, 0, frame, node.kind == SceneNode::Kind::group});
        return static_cast<std::uint32_t>(scene_.nodes.size() - 1);
    }

    void make_nodes() {
        scene_.node_of_opr.assign(graph_.oprs().size(), GraphScene::hidden);
        std::vector<std::uint32_t> node_of_group(groups_.groups().size(), GraphScene::hidden);
        for (const Opr& o : graph_.oprs()) {
            const GroupId group = scene_.options.groups ? groups_.of(o.id) : GroupId();
            const GroupId box = group.valid() ? collapsed_[group.index()] : GroupId();
            if (!wanted(o.id) || (folded(o.id) && !box.valid())) continue;
            if (box.valid()) {
                if (folded(o.id)) continue;
                std::uint32_t& node = node_of_group[box.index()];
                if (node == GraphScene::hidden) {
                    SceneNode n;
                    n.kind = SceneNode::Kind::group;
                    n.group = box;
                    node = add_node(n, frame_of(groups_.group(box).parent));
                }
                scene_.node_of_opr[o.id.index()] = node;
                continue;
            }
            SceneNode n;
            n.opr = o.id;
            const OprRole role = roles_[o.id.index()];
            n.kind = role == OprRole::input      ? SceneNode::Kind::input
                     : role == OprRole::constant ? SceneNode::Kind::constant
                                                 : SceneNode::Kind::opr;
            n.first_pill = static_cast<std::uint32_t>(scene_.pills.size());
            for (std::uint32_t i = 0; i < o.inputs.size(); ++i) {
                const OprId producer = graph_.var(o.inputs[i]).producer;
                if (folded(producer)) scene_.pills.push_back({o.inputs[i], i, roles_[producer.index()] == OprRole::shape});
            }
            n.pill_count = static_cast<std::uint32_t>(scene_.pills.size()) - n.first_pill;
            scene_.node_of_opr[o.id.index()] = add_node(n, frame_of(group));
        }
    }

    /// One edge per input, merged where both ends are the same boxes and the same value.
    void add_edge(VarId var, std::uint32_t from, std::uint32_t to, OprId reader, std::uint32_t input) {
        scene_.edges.push_back({var, from, to, reader, input});
        scene_.layout.edges.push_back({from, to, var.value(), input});
    }

    void make_edges() {
        std::unordered_map<std::uint64_t, char> seen;
        for (const Opr& o : graph_.oprs()) {
            const std::uint32_t to = scene_.node_of_opr[o.id.index()];
            if (to == GraphScene::hidden) continue;
            for (std::uint32_t i = 0; i < o.inputs.size(); ++i) {
                const VarId v = o.inputs[i];
                const OprId producer = graph_.var(v).producer;
                const std::uint32_t from = scene_.node_of_opr[producer.index()];
                if (from == GraphScene::hidden || from == to || folded(producer)) continue;
                if (scene_.nodes[to].kind == SceneNode::Kind::group &&
                    !seen.try_emplace(std::uint64_t{v.value()} << 32 | to, 1).second)
                    continue;
                add_edge(v, from, to, o.id, i);
            }
        }
        std::unordered_map<std::uint32_t, std::uint32_t> shared; // collapsed group -> its one mark
        for (const GraphOutput& output : graph_.outputs()) {
            const OprId producer = graph_.var(output.var).producer;
            const std::uint32_t from = scene_.node_of_opr[producer.index()];
            if (from == GraphScene::hidden) continue;
            if (const auto it = shared.find(from); it != shared.end()) {
                ++scene_.nodes[it->second].outputs;
                add_edge(output.var, from, it->second, {}, 0);
                continue;
            }
            SceneNode n;
            n.kind = SceneNode::Kind::output;
            n.opr = producer;
            n.var = output.var;
            const std::uint32_t mark = add_node(n, scene_.layout.nodes[from].cluster);
            if (scene_.nodes[from].kind == SceneNode::Kind::group) shared.emplace(from, mark);
            add_edge(output.var, from, mark, {}, 0);
        }
    }

    const Graph& graph_;
    const std::vector<OprRole>& roles_;
    const GroupTree& groups_;
    GraphScene scene_;
    std::vector<GroupId> collapsed_;
    std::vector<std::int32_t> frame_;
};

} // namespace

GraphScene build_scene(std::shared_ptr<const GraphStructure> structure, SceneOptions options) {
    return SceneBuilder(std::move(structure), std::move(options)).run();
}

void measure_scene(GraphScene& scene, const std::function<SceneSize(const SceneNode&)>& node_size,
                   const std::function<SceneSize(GroupId)>& title_size) {
    for (std::size_t i = 0; i < scene.nodes.size(); ++i) {
        const SceneSize size = node_size(scene.nodes[i]);
        scene.layout.nodes[i].width = size.width;
        scene.layout.nodes[i].height = size.height;
    }
    for (std::size_t i = 0; i < scene.frames.size(); ++i) {
        const SceneSize size = title_size(scene.frames[i]);
        scene.layout.clusters[i].min_width = size.width;
        scene.layout.clusters[i].header = size.height;
    }
}

void keep_order(GraphScene& scene, const GraphScene& former, const LayoutResult& drawing) {
    if (scene.structure != former.structure) return;
    const auto across = [&](const LayoutRect& r) { return drawing.direction == LayoutDirection::down ? r.center_x() : r.center_y(); };
    std::unordered_map<std::uint64_t, double> places;
    const auto group_key = [](GroupId g) { return std::uint64_t{1} << 32 | g.value(); };
    const auto key = [&](const SceneNode& n) {
        if (n.kind == SceneNode::Kind::group) return group_key(n.group);
        return n.kind == SceneNode::Kind::output ? std::uint64_t{2} << 32 | n.var.value() : std::uint64_t{n.opr.value()};
    };
    for (std::size_t i = 0; i < former.nodes.size(); ++i) places.emplace(key(former.nodes[i]), across(drawing.nodes[i]));
    for (std::size_t i = 0; i < former.frames.size(); ++i)
        if (!drawing.clusters[i].empty()) places.emplace(group_key(former.frames[i]), across(drawing.clusters[i]));
    for (std::size_t i = 0; i < scene.nodes.size(); ++i)
        if (const auto it = places.find(key(scene.nodes[i])); it != places.end()) scene.layout.nodes[i].former = it->second;
    for (std::size_t i = 0; i < scene.frames.size(); ++i)
        if (const auto it = places.find(group_key(scene.frames[i])); it != places.end()) scene.layout.clusters[i].former = it->second;
}

namespace {

/// Modules that differ only by numbers in their paths ("layer1.0.conv", "layer1.5.conv") are of one kind, whatever they hold; stretches
/// are when they stand in the same group and hold the same operators.
std::string kind_of_group(const Group& g) {
    std::string kind = std::to_string(g.depth) + ' ';
    if (g.origin != Group::Origin::name) {
        if (g.alike == 1) return kind + std::to_string(g.id.value());
        const std::string parent = g.parent.valid() ? std::to_string(g.parent.value()) : std::string();
        return kind + parent + ' ' + std::to_string(g.total) + ' ' + std::to_string(g.alike);
    }
    for (std::size_t i = 0; i < g.path.size(); ++i) {
        const bool digit = g.path[i] >= '0' && g.path[i] <= '9';
        if (!digit) kind += g.path[i];
        else if (i == 0 || kind.back() != '#') kind += '#';
    }
    return kind;
}

} // namespace

std::vector<std::uint8_t> default_expansion(const GraphStructure& structure, std::size_t box_limit) {
    const GroupTree& tree = *structure.groups;
    std::vector<std::uint8_t> expanded(tree.groups().size(), 0);
    const auto boxes_of = [&](const std::vector<OprId>& oprs) {
        return static_cast<std::size_t>(std::count_if(oprs.begin(), oprs.end(), [&](OprId id) {
            const OprRole r = structure.roles[id.index()];
            return r == OprRole::compute || r == OprRole::input;
        }));
    };
    std::size_t shown = tree.top().size();
    for (const Opr& o : structure.graph->oprs()) {
        const OprRole r = structure.roles[o.id.index()];
        shown += !tree.of(o.id).valid() && (r == OprRole::compute || r == OprRole::input);
    }
    // Groups are numbered level by level, so this opens whole levels first and then part of the next one; groups of one kind are opened
    // together or not at all, so that all layers of a model look the same. Modules come first; stretches without a name are only opened
    // in small drawings, rows never. Of a training step the forward pass is what its author wrote: gradients and updates stay closed.
    std::unordered_map<std::string, std::vector<GroupId>> kinds;
    std::vector<std::string> kind_of(tree.groups().size());
    for (const Group& g : tree.groups()) {
        kind_of[g.id.index()] = kind_of_group(g);
        kinds[kind_of[g.id.index()]].push_back(g.id);
    }
    const auto open = [&](Group::Origin origin, std::size_t limit) {
        for (const Group& g : tree.groups()) {
            const std::vector<GroupId>& kind = kinds[kind_of[g.id.index()]];
            if (g.origin != origin || kind.front() != g.id || is_training_part(g.path)) continue;
            std::vector<GroupId> shown_ones;
            std::size_t more = 0;
            for (GroupId id : kind) {
                const Group& member = tree.group(id);
                if (member.parent.valid() && !expanded[member.parent.index()]) continue;
                shown_ones.push_back(id);
                const std::size_t inside = boxes_of(member.oprs) + member.children.size();
                more += inside - std::min<std::size_t>(inside, 1);
            }
            if (shown + more > limit) continue;
            shown += more;
            for (GroupId id : shown_ones) expanded[id.index()] = 1;
        }
    };
    open(Group::Origin::name, box_limit);
    open(Group::Origin::structure, box_limit / 2);
    return expanded;
}

std::vector<std::uint8_t> expansion_to_depth(const GroupTree& groups, std::uint32_t depth) {
    std::vector<std::uint8_t> expanded(groups.groups().size(), 0);
    for (const Group& g : groups.groups()) expanded[g.id.index()] = g.depth < depth;
    return expanded;
}

} // namespace megascope
