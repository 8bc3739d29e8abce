#include "layout/nested.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "layout/layered.h"

namespace megascope {

namespace {

constexpr std::uint32_t none = 0xffffffffU;
constexpr std::uint32_t crowd = 8; ///< values on one side of a frame
constexpr double title_margin = 20; ///< of a frame's least width: what lies right of its title
constexpr double most_shift = 60;

struct Key {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
    std::size_t operator()(const Key& k) const {
        std::uint64_t h = k.a * 0x9e3779b97f4a7c15ULL ^ (k.b + 0x7f4a7c15ULL) * 0xc2b2ae3d27d4eb4fULL;
        h ^= h >> 29;
        return static_cast<std::size_t>(h * 0xbf58476d1ce4e5b9ULL);
    }
};

/// One cluster (or the whole picture, the last level) as a flat problem.
struct Level {
    FlatProblem problem;
    std::vector<std::uint32_t> child_at;  ///< per local node: the cluster it stands for, or none
    std::vector<double> former;           ///< per local node: its place in a former drawing, NaN = none
    std::vector<std::uint32_t> carrier_of; ///< per local edge, to find the ports of child frames
    std::uint32_t net_count = 0;
    std::unordered_map<Key, std::uint32_t, KeyHash> local_net;    ///< (carrier, source) -> net of the problem
    std::unordered_map<std::uint32_t, std::uint32_t> entry, exit; ///< carrier -> local port node
    std::shared_ptr<const FlatResult> result;
    double width = 0, height = 0;   ///< of the frame
    double inner_x = 0, inner_y = 0; ///< where the drawing lies in the frame
    LayoutPoint origin;             ///< of the drawing, absolute
    bool used = false;
};

class Nested {
    struct Way {
        std::uint32_t level, edge;
    };

public:
    Nested(const LayoutInput& input, const LayoutOptions& options, bool sideways, const CancelToken& cancel, const Progress& progress)
        : input_(input), options_(options), sideways_(sideways), cancel_(cancel), progress_(progress),
          root_(static_cast<std::uint32_t>(input.clusters.size())), levels_(input.clusters.size() + 1),
          level_edges_(input.clusters.size() + 1) {}

    Expected<LayoutResult> run() {
        build_levels();
        for (std::uint32_t c = 0; c <= root_; ++c) { // children have larger numbers than parents; the root comes last
            const std::uint32_t level = c < root_ ? root_ - 1 - c : root_;
            if (level != root_ && !levels_[level].used) continue;
            MGS_TRY(solve(level));
            progress_.report("laying out", c + 1, root_ + 1);
        }
        return assemble();
    }

private:
    std::uint32_t level_of_node(std::uint32_t v) const {
        return input_.nodes[v].cluster < 0 ? root_ : static_cast<std::uint32_t>(input_.nodes[v].cluster);
    }
    std::uint32_t parent(std::uint32_t cluster) const {
        return input_.clusters[cluster].parent < 0 ? root_ : static_cast<std::uint32_t>(input_.clusters[cluster].parent);
    }
    std::uint32_t depth(std::uint32_t level) const { return level == root_ ? 0 : depth_[level]; }

    std::uint32_t add_node(std::uint32_t level, FlatNode node, std::uint32_t child, double former) {
        levels_[level].problem.nodes.push_back(node);
        levels_[level].child_at.push_back(child);
        levels_[level].former.push_back(former);
        return static_cast<std::uint32_t>(levels_[level].problem.nodes.size() - 1);
    }
    std::uint32_t port(std::uint32_t level, std::uint32_t carrier, bool entry) {
        auto& map = entry ? levels_[level].entry : levels_[level].exit;
        const auto [it, fresh] = map.try_emplace(carrier, 0);
        if (fresh) it->second = add_node(level, {0, 0, entry ? FlatNode::Role::top_port : FlatNode::Role::bottom_port}, none, std::numeric_limits<double>::quiet_NaN());
        return it->second;
    }
    /// The level's edge for this way, shared by all edges that take it. Returns its index in the level.
    std::uint32_t level_edge(std::uint32_t level, std::uint32_t from, std::uint32_t to, std::uint32_t carrier, std::uint32_t own_end) {
        Level& l = levels_[level];
        const auto [it, fresh] = level_edges_[level].try_emplace({std::uint64_t{from} << 32 | to, std::uint64_t{carrier} << 32 | own_end}, 0);
        if (!fresh) return it->second;
        const auto local = l.local_net.try_emplace({carrier, from}, l.net_count).first->second;
        if (local == l.net_count) ++l.net_count;
        it->second = static_cast<std::uint32_t>(l.problem.edges.size());
        l.problem.edges.push_back({from, to, local, FlatEdge::free_port, FlatEdge::free_port});
        l.carrier_of.push_back(carrier);
        return it->second;
    }

    void build_levels() {
        depth_.resize(input_.clusters.size());
        for (std::uint32_t c = 0; c < root_; ++c) depth_[c] = depth(parent(c)) + 1;
        node_local_.resize(input_.nodes.size());
        cluster_local_.assign(input_.clusters.size(), none);
        for (const LayoutNode& node : input_.nodes)
            for (std::int32_t c = node.cluster; c >= 0 && !levels_[static_cast<std::size_t>(c)].used; c = input_.clusters[static_cast<std::size_t>(c)].parent)
                levels_[static_cast<std::size_t>(c)].used = true;
        // In the order of the first node inside, so that a collapsed and an expanded cluster take the same place.
        for (std::uint32_t v = 0; v < input_.nodes.size(); ++v) {
            for (std::uint32_t c = level_of_node(v); c != root_ && cluster_local_[c] == none; c = parent(c))
                cluster_local_[c] = add_node(parent(c), {}, c, input_.clusters[c].former);
            node_local_[v] = add_node(level_of_node(v), {input_.nodes[v].width, input_.nodes[v].height, FlatNode::Role::box}, none, input_.nodes[v].former);
        }

        number_nets();
        find_bundles();
        ways_begin_.assign(1, 0);
        for (std::uint32_t i = 0; i < input_.edges.size(); ++i) {
            if (input_.edges[i].from != input_.edges[i].to) add_way(i);
            ways_begin_.push_back(static_cast<std::uint32_t>(ways_.size()));
        }
    }

    void number_nets() {
        std::unordered_map<Key, std::uint32_t, KeyHash> nets;
        net_.reserve(input_.edges.size());
        for (const LayoutEdge& e : input_.edges)
            net_.push_back(nets.try_emplace({e.from, e.from_port}, static_cast<std::uint32_t>(nets.size())).first->second);
        carrier_count_ = static_cast<std::uint32_t>(nets.size());
    }

    /// The level where an edge's two ends are apart, and what stands for them there.
    struct Meeting {
        std::uint32_t level, from, to;
        bool from_frame = false, to_frame = false;
    };
    Meeting meeting(const LayoutEdge& e) const {
        std::uint32_t up = level_of_node(e.from), down = level_of_node(e.to);
        Meeting m{0, node_local_[e.from], node_local_[e.to]};
        const auto climb = [&](std::uint32_t& level, std::uint32_t& item, bool& frame) {
            item = cluster_local_[level];
            level = parent(level);
            frame = true;
        };
        while (depth(up) > depth(down)) climb(up, m.from, m.from_frame);
        while (depth(down) > depth(up)) climb(down, m.to, m.to_frame);
        while (up != down) {
            climb(up, m.from, m.from_frame);
            climb(down, m.to, m.to_frame);
        }
        m.level = up;
        return m;
    }

    /// Many values between the same two boxes run as one line, at least one of them being a frame or a box that bundles.
    void find_bundles() {
        std::unordered_map<Key, std::uint32_t, KeyHash> pair_number;
        std::unordered_map<Key, char, KeyHash> seen;
        std::vector<std::uint32_t> values; // per pair
        std::vector<std::uint32_t> pair_of(input_.edges.size(), none);
        for (std::uint32_t i = 0; i < input_.edges.size(); ++i) {
            const LayoutEdge& e = input_.edges[i];
            if (e.from == e.to) continue;
            const Meeting m = meeting(e);
            if (!m.from_frame && !m.to_frame && !input_.nodes[e.from].bundles && !input_.nodes[e.to].bundles) continue;
            const Key key{m.level, std::uint64_t{m.from} << 32 | m.to};
            const std::uint32_t number = pair_number.try_emplace(key, static_cast<std::uint32_t>(values.size())).first->second;
            if (number == values.size()) values.push_back(0);
            pair_of[i] = number;
            values[number] += seen.try_emplace({number, net_[i]}, 1).second;
        }
        // Where a frame has very many lines, as the backward pass of a training step, two values are enough for a bundle.
        std::unordered_map<Key, std::uint32_t, KeyHash> lines; // values at one side of a box
        for (const auto& [key, number] : pair_number) {
            lines[{key.a << 1, key.b >> 32}] += values[number];
            lines[{key.a << 1 | 1, key.b & 0xffffffffU}] += values[number];
        }
        std::vector<std::uint32_t> carrier(values.size(), none);
        std::vector<std::uint8_t> crowded(values.size(), 0);
        for (const auto& [key, number] : pair_number)
            crowded[number] = std::max(lines[{key.a << 1, key.b >> 32}], lines[{key.a << 1 | 1, key.b & 0xffffffffU}]) > crowd;
        for (std::size_t p = 0; p < values.size(); ++p)
            if (values[p] > options_.bundle_above || (values[p] > 1 && crowded[p])) carrier[p] = carrier_count_++;
        carrier_ = net_;
        bundle_size_.assign(input_.edges.size(), 1);
        for (std::size_t i = 0; i < pair_of.size(); ++i)
            if (pair_of[i] != none && carrier[pair_of[i]] != none) {
                carrier_[i] = carrier[pair_of[i]];
                bundle_size_[i] = values[pair_of[i]];
            }
    }

    void add_way(std::uint32_t index) {
        const LayoutEdge& e = input_.edges[index];
        std::uint32_t up = level_of_node(e.from), down = level_of_node(e.to);
        std::uint32_t from = node_local_[e.from], to = node_local_[e.to];
        // Lines of a bundle are apart only next to operators inside its frames: there a line carries its own value.
        const std::uint32_t carrier = carrier_[index];
        const bool bundled = bundle_size_[index] > 1;
        std::uint32_t source_carrier = bundled && input_.nodes[e.from].bundles ? carrier : net_[index];
        // Edges into an operator stay apart, those into a frame or a bundling box share their way.
        std::uint32_t own_end = bundled && input_.nodes[e.to].bundles ? 0 : index + 1;
        descent_.clear();
        const auto leave = [&] {
            ways_.push_back({up, level_edge(up, from, port(up, carrier, false), source_carrier, 0)});
            source_carrier = carrier;
            from = cluster_local_[up];
            up = parent(up);
        };
        const auto enter = [&] {
            descent_.push_back({down, level_edge(down, port(down, carrier, true), to, carrier, own_end)});
            to = cluster_local_[down];
            own_end = 0;
            down = parent(down);
        };
        while (depth(up) > depth(down)) leave();
        while (depth(down) > depth(up)) enter();
        while (up != down) {
            leave();
            enter();
        }
        ways_.push_back({up, level_edge(up, from, to, carrier, bundled ? 0 : own_end)});
        ways_.insert(ways_.end(), descent_.rbegin(), descent_.rend());
    }

    /// Numbers the members of a level by their places in a former drawing, so that equal levels stay equal wherever they lay.
    void number_former_places(Level& level) {
        std::vector<std::pair<double, std::uint32_t>> places;
        for (std::uint32_t i = 0; i < level.former.size(); ++i)
            if (!std::isnan(level.former[i])) places.emplace_back(level.former[i], i);
        if (places.size() < 2) return;
        std::sort(places.begin(), places.end());
        for (std::size_t k = 0; k < places.size(); ++k) level.problem.nodes[places[k].second].former = static_cast<std::int32_t>(k);
    }

    Expected<void> solve(std::uint32_t index) {
        Level& level = levels_[index];
        FlatProblem& p = level.problem;
        number_former_places(level);
        for (std::size_t i = 0; i < p.nodes.size(); ++i)
            if (level.child_at[i] != none) {
                p.nodes[i].width = levels_[level.child_at[i]].width;
                p.nodes[i].height = levels_[level.child_at[i]].height;
            }
        for (std::size_t i = 0; i < p.edges.size(); ++i) {
            FlatEdge& e = p.edges[i];
            if (const std::uint32_t child = level.child_at[e.from]; child != none) e.from_dx = port_dx(child, level.carrier_of[i], false);
            if (const std::uint32_t child = level.child_at[e.to]; child != none) e.to_dx = port_dx(child, level.carrier_of[i], true);
        }
        std::vector<double> key;
        if (index != root_) {
            key.reserve(4 * p.nodes.size() + 5 * p.edges.size() + 1);
            key.push_back(static_cast<double>(p.nodes.size()));
            for (const FlatNode& n : p.nodes) key.insert(key.end(), {n.width, n.height, static_cast<double>(n.role), static_cast<double>(n.former)});
            for (const FlatEdge& e : p.edges)
                key.insert(key.end(), {static_cast<double>(e.from), static_cast<double>(e.to), static_cast<double>(e.net), e.from_dx, e.to_dx});
            if (const auto it = solved_.find(key); it != solved_.end()) level.result = it->second;
        }
        if (!level.result) {
            auto result = layered_layout(p, options_, cancel_);
            if (!result) return forward(std::move(result).error());
            level.result = std::make_shared<FlatResult>(std::move(*result));
            if (index != root_) solved_.emplace(std::move(key), level.result);
        }
        if (index == root_) return {};
        const LayoutCluster& cluster = input_.clusters[index];
        const double pad = options_.cluster_padding;
        const double header = cluster.header + 6;
        const double side_header = sideways_ ? header : 0, top_header = sideways_ ? 0 : header;
        // Ports lie on the frame itself; the least distance between ranks already separates them from the first boxes.
        const double above = level.entry.empty() ? std::max(pad, top_header) : std::max(0.0, top_header - options_.port_spacing + 6);
        const double below = level.exit.empty() ? pad : 0;
        level.width = level.result->width + 2 * pad + side_header;
        level.height = above + level.result->height + below;
        level.inner_x = pad + side_header;
        level.inner_y = above;
        if (sideways_) level.height = std::max(level.height, 0.0);
        else if (level.width < cluster.min_width) {
            level.inner_x += (cluster.min_width - level.width) / 2;
            level.width = cluster.min_width;
        }
        if (!sideways_) keep_off_title(level, cluster.min_width - title_margin);
        return {};
    }

    /// Lines that come in through the title make it hard to read: the drawing moves to the right of it, unless that takes much room.
    void keep_off_title(Level& level, double title_end) {
        double first = std::numeric_limits<double>::infinity();
        for (const auto& [carrier, local] : level.entry) first = std::min(first, level.inner_x + level.result->nodes[local].center_x());
        const double shift = title_end - first;
        if (shift <= 0 || shift > most_shift) return; // also without any port
        level.inner_x += shift;
        level.width += shift;
    }

    /// Where a frame's port lies relative to the middle of the frame's border.
    double port_dx(std::uint32_t cluster, std::uint32_t net, bool entry) const {
        const Level& level = levels_[cluster];
        const std::uint32_t local = (entry ? level.entry : level.exit).at(net);
        return level.inner_x + level.result->nodes[local].center_x() - level.width / 2;
    }

    LayoutResult assemble() {
        LayoutResult out;
        out.nodes.resize(input_.nodes.size());
        out.ranks.resize(input_.nodes.size());
        out.clusters.resize(input_.clusters.size());
        out.edges.resize(input_.edges.size());
        for (std::uint32_t c = 0; c < root_; ++c) { // parents first
            Level& level = levels_[c];
            if (!level.used) continue;
            const Level& outer = levels_[parent(c)];
            LayoutRect frame = outer.result->nodes[cluster_local_[c]];
            frame.x += outer.origin.x;
            frame.y += outer.origin.y;
            out.clusters[c] = frame;
            level.origin = {frame.x + level.inner_x, frame.y + level.inner_y};
        }
        for (std::uint32_t v = 0; v < input_.nodes.size(); ++v) {
            const Level& level = levels_[level_of_node(v)];
            LayoutRect r = level.result->nodes[node_local_[v]];
            r.x += level.origin.x;
            r.y += level.origin.y;
            out.nodes[v] = r;
            out.ranks[v] = level.result->ranks[node_local_[v]];
        }
        for (std::uint32_t i = 0; i < input_.edges.size(); ++i) join(i, out);
        out.bounds = {0, 0, levels_[root_].result->width, levels_[root_].result->height};
        return out;
    }

    static void append_line(std::vector<LayoutPoint>& points, std::size_t part_start, LayoutPoint to) {
        if (points.size() == part_start) {
            points.push_back(to);
            return;
        }
        const LayoutPoint from = points.back();
        if (std::abs(from.x - to.x) < 1e-6 && std::abs(from.y - to.y) < 1e-6) return;
        points.push_back({from.x + (to.x - from.x) / 3, from.y + (to.y - from.y) / 3});
        points.push_back({from.x + 2 * (to.x - from.x) / 3, from.y + 2 * (to.y - from.y) / 3});
        points.push_back(to);
    }

    /// Joins an edge's ways through the levels into one route. Of several gaps only the outermost ends are kept.
    void join(std::uint32_t edge, LayoutResult& out) {
        EdgeRoute& route = out.edges[edge];
        // Edges that share their whole way share their points.
        const std::span<const Way> ways = std::span(ways_).subspan(ways_begin_[edge], ways_begin_[edge + 1] - ways_begin_[edge]);
        if (bundle_size_[edge] > 1) {
            std::vector<std::uint64_t> key;
            for (const Way& w : ways) key.push_back(std::uint64_t{w.level} << 32 | w.edge);
            const auto [it, fresh] = joined_.try_emplace(std::move(key), edge);
            if (!fresh) {
                route = out.edges[it->second];
                return;
            }
        }
        route.values = bundle_size_[edge];
        std::vector<LayoutPoint> head, tail;
        bool broken = false;
        for (const Way& way : ways) {
            const Level& level = levels_[way.level];
            const FlatRoute& piece = level.result->routes[way.edge];
            route.against_flow |= piece.against_flow;
            const auto add = [&](std::size_t begin, std::size_t end, std::vector<LayoutPoint>& to) {
                for (std::size_t i = begin; i < end; ++i) {
                    const LayoutPoint p{piece.points[i].x + level.origin.x, piece.points[i].y + level.origin.y};
                    if (i == begin) append_line(to, 0, p);
                    else to.push_back(p);
                }
            };
            if (piece.second == 0) {
                add(0, piece.points.size(), broken ? tail : head);
                continue;
            }
            if (!broken) add(0, piece.second, head);
            tail.clear();
            broken = true;
            add(piece.second, piece.points.size(), tail);
        }
        route.first = static_cast<std::uint32_t>(out.points.size());
        route.count = static_cast<std::uint32_t>(head.size() + tail.size());
        route.second = broken ? static_cast<std::uint32_t>(head.size()) : 0;
        out.points.insert(out.points.end(), head.begin(), head.end());
        out.points.insert(out.points.end(), tail.begin(), tail.end());
    }

    const LayoutInput& input_;
    const LayoutOptions& options_;
    bool sideways_;
    const CancelToken& cancel_;
    const Progress& progress_;
    std::uint32_t root_;
    std::vector<Level> levels_;
    std::vector<std::uint32_t> depth_, node_local_, cluster_local_;
    std::vector<std::unordered_map<Key, std::uint32_t, KeyHash>> level_edges_; ///< per level: (ends, carrier and own end) -> edge
    // A carrier is what a line carries: one value (numbered as its net) or the values of a bundle (numbered after the nets).
    std::vector<std::uint32_t> net_, carrier_, bundle_size_; ///< per edge
    std::uint32_t carrier_count_ = 0;
    std::vector<Way> ways_, descent_;
    std::vector<std::uint32_t> ways_begin_;
    std::map<std::vector<std::uint64_t>, std::uint32_t> joined_; ///< ways of a bundled edge -> the first edge that took them
    std::map<std::vector<double>, std::shared_ptr<const FlatResult>> solved_;
};

} // namespace

Expected<LayoutResult> nested_layout(const LayoutInput& input, const LayoutOptions& options, bool sideways, const CancelToken& cancel,
                                     const Progress& progress) {
    LayoutOptions own = options;
    if (input.nodes.size() > 5000) own.effort = std::min(own.effort, 1); // many small levels would each take their time
    return Nested(input, own, sideways, cancel, progress).run();
}

} // namespace megascope
