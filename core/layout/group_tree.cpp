#include "layout/group_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "layout/narrow_cuts.h"
#include "layout/scopes.h"

namespace megascope {

std::uint32_t GroupTree::max_depth() const {
    std::uint32_t depth = 0;
    for (const Group& g : groups_) depth = std::max(depth, g.depth + 1);
    return depth;
}

/// Groups are created parents first, so that a parent's id is smaller than its children's.
class GroupTreeBuilder {
public:
    GroupTreeBuilder(const Graph& graph, const std::vector<OprRole>& roles) : graph_(graph), roles_(roles) {}

    std::shared_ptr<const GroupTree> run() {
        const auto oprs = graph_.oprs();
        tree_->of_.resize(oprs.size());
        const std::vector<std::string> scopes = operator_scopes(graph_, roles_);
        parts_.resize(oprs.size());
        mark_.assign(oprs.size(), 0);
        set_.resize(oprs.size());
        std::vector<OprId> all;
        for (const Opr& o : oprs) {
            if (!counts(o.id)) continue;
            std::string_view rest = scopes[o.id.index()];
            while (!rest.empty()) {
                const auto dot = rest.find('.');
                parts_[o.id.index()].emplace_back(rest.substr(0, dot));
                rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
            }
            all.push_back(o.id);
        }
        by_name({}, all, 0, {});
        by_structure();
        place_constants();
        count_and_compare();
        return std::move(tree_);
    }

private:
    GroupId new_group(GroupId parent, Group::Origin origin, std::string title, std::string path) {
        Group g;
        g.id = GroupId(tree_->groups_.size());
        g.parent = parent;
        g.origin = origin;
        g.title = std::move(title);
        g.path = std::move(path);
        g.depth = parent.valid() ? tree_->groups_[parent.index()].depth + 1 : 0;
        tree_->groups_.push_back(std::move(g));
        return tree_->groups_.back().id;
    }
    bool counts(OprId id) const { return roles_[id.index()] == OprRole::compute || roles_[id.index()] == OprRole::input; }

    /// Splits `members` (ascending, all inside `parent`) by the part `depth` of their scope. A module that was called in several
    /// places is several groups: only operators that are connected with each other stand together.
    void by_name(GroupId parent, const std::vector<OprId>& members, std::size_t depth, const std::string& path) {
        std::map<std::string_view, std::vector<OprId>> named;
        for (OprId id : members)
            if (parts_[id.index()].size() > depth) named[parts_[id.index()][depth]].push_back(id);
        for (const auto& [name, list] : named) {
            for (std::vector<OprId>& part : connected_parts(list)) {
                if (part.size() < 2) continue;
                const std::string full = path.empty() ? std::string(name) : path + "." + std::string(name);
                // A module that holds nothing but one other module is one box with both names.
                std::string title(name);
                std::string inner_path = full;
                std::size_t inner_depth = depth + 1;
                while (const auto only = common_part(part, inner_depth)) {
                    title += "." + std::string(*only);
                    inner_path += "." + std::string(*only);
                    ++inner_depth;
                }
                const GroupId group = new_group(parent, Group::Origin::name, title, inner_path);
                for (OprId id : part) tree_->of_[id.index()] = group;
                by_name(group, part, inner_depth, inner_path);
            }
        }
    }

    std::optional<std::string_view> common_part(const std::vector<OprId>& list, std::size_t depth) const {
        std::optional<std::string_view> common;
        for (OprId id : list) {
            const auto& parts = parts_[id.index()];
            if (parts.size() <= depth || (common && *common != parts[depth])) return std::nullopt;
            common = parts[depth];
        }
        return common;
    }

    std::vector<std::vector<OprId>> connected_parts(const std::vector<OprId>& list) {
        ++stamp_;
        for (OprId id : list) {
            mark_[id.index()] = stamp_;
            set_[id.index()] = id.value();
        }
        const auto find = [&](std::uint32_t v) {
            while (set_[v] != v) v = set_[v] = set_[set_[v]];
            return v;
        };
        for (OprId id : list)
            for (VarId v : graph_.opr(id).inputs) {
                const OprId p = graph_.var(v).producer;
                if (mark_[p.index()] != stamp_) continue;
                const std::uint32_t a = find(id.value()), b = find(p.value());
                if (a != b) set_[std::max(a, b)] = std::min(a, b);
            }
        std::map<std::uint32_t, std::vector<OprId>> parts;
        for (OprId id : list) parts[find(id.value())].push_back(id);
        std::vector<std::vector<OprId>> result;
        for (auto& [root, part] : parts) result.push_back(std::move(part));
        return result;
    }

    struct Unit {
        GroupId group; ///< a child group, or invalid
        OprId opr;     ///< the operator, or the first of the group
    };

    /// Levels with too many members are cut into stretches of the operator order at narrow places.
    void by_structure() {
        std::vector<std::vector<Unit>> units(tree_->groups_.size() + 1); // by parent, the last for the graph itself
        std::vector<OprId> first(tree_->groups_.size());
        const auto slot = [&](GroupId g) { return g.valid() ? g.index() : units.size() - 1; };
        for (const Opr& o : graph_.oprs()) {
            if (!counts(o.id)) continue;
            const GroupId g = tree_->of_[o.id.index()];
            for (GroupId k = g; k.valid() && !first[k.index()].valid(); k = tree_->groups_[k.index()].parent) first[k.index()] = o.id;
            units[slot(g)].push_back({{}, o.id});
        }
        for (const Group& g : tree_->groups_) units[slot(g.parent)].push_back({g.id, first[g.id.index()]});
        for (std::size_t i = 0; i < units.size(); ++i) {
            auto& list = units[i];
            if (list.size() <= 120) continue;
            // Modules stay as they are, as long as there are not too many of them, and loose operators are cut between them.
            const auto modules = std::count_if(list.begin(), list.end(), [](const Unit& u) { return u.group.valid(); });
            const bool keep_modules = modules <= 60;
            sort_backwards(list);
            const GroupId parent = i + 1 == units.size() ? GroupId() : GroupId(i);
            std::vector<Unit> run;
            const auto flush = [&] {
                if (run.size() > 30) split(parent, run, 30);
                run.clear();
            };
            for (const Unit& u : list) {
                if (keep_modules && u.group.valid()) flush();
                else run.push_back(u);
            }
            flush();
        }
    }

    /// Which unit of `units` an operator belongs to, until the next call.
    auto unit_finder(const std::vector<Unit>& units) {
        ++stamp_;
        unit_of_group_.clear();
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            if (units[i].group.valid()) unit_of_group_[units[i].group.value()] = i;
            else {
                mark_[units[i].opr.index()] = stamp_;
                set_[units[i].opr.index()] = i;
            }
        }
        return [this](OprId id) -> std::optional<std::uint32_t> {
            if (mark_[id.index()] == stamp_) return set_[id.index()];
            for (GroupId g = tree_->of_[id.index()]; g.valid(); g = tree_->groups_[g.index()].parent)
                if (const auto it = unit_of_group_.find(g.value()); it != unit_of_group_.end()) return it->second;
            return std::nullopt;
        };
    }

    /// A topological order in which every unit stands as late as possible, near its readers, and loose operators follow each
    /// other. Stretches of it are convex: no way leaves one and comes back. (Modules that depend on each other in both directions
    /// are taken in operator order.)
    void sort_backwards(std::vector<Unit>& units) {
        std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.opr < b.opr; });
        const auto unit_of = unit_finder(units);
        std::vector<std::vector<std::uint32_t>> producers(units.size());
        std::vector<std::uint32_t> readers(units.size(), 0);
        for (const Opr& o : graph_.oprs()) {
            if (!counts(o.id)) continue;
            const auto to = unit_of(o.id);
            if (!to) continue;
            for (VarId v : o.inputs)
                if (const auto from = unit_of(graph_.var(v).producer); from && *from != *to && counts(graph_.var(v).producer))
                    producers[*to].push_back(*from);
        }
        for (auto& list : producers) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            for (std::uint32_t p : list) ++readers[p];
        }
        std::set<std::pair<bool, std::uint32_t>> ready; // loose ones are greater, then later ones
        std::set<std::uint32_t> waiting;
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            if (readers[i] == 0) ready.emplace(!units[i].group.valid(), i);
            else waiting.insert(i);
        }
        std::vector<Unit> sorted;
        while (sorted.size() < units.size()) {
            std::uint32_t next = 0;
            if (!ready.empty()) {
                next = std::prev(ready.end())->second;
                ready.erase(std::prev(ready.end()));
            } else {
                next = *std::prev(waiting.end());
                waiting.erase(next);
            }
            sorted.push_back(units[next]);
            for (std::uint32_t p : producers[next])
                if (--readers[p] == 0 && waiting.erase(p)) ready.emplace(!units[p].group.valid(), p);
        }
        units.assign(sorted.rbegin(), sorted.rend());
    }

    void split(GroupId parent, const std::vector<Unit>& units, std::size_t most) {
        if (units.size() <= most) return;
        const auto unit_of = unit_finder(units);
        NarrowCutInput input;
        input.live.assign(units.size(), 0);
        input.signature.resize(units.size());
        std::unordered_map<std::string_view, std::uint32_t> words;
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            const Unit& u = units[i];
            const std::string_view word = u.group.valid() ? std::string_view(tree_->groups_[u.group.index()].title) : graph_.opr(u.opr).type;
            input.signature[i] = words.try_emplace(word, static_cast<std::uint32_t>(words.size())).first->second;
        }
        for (const Var& v : graph_.vars()) {
            if (!counts(v.producer)) continue;
            const auto from = unit_of(v.producer);
            if (!from) continue;
            std::uint32_t last = *from;
            for (OprId reader : graph_.consumers(v.id))
                if (const auto to = unit_of(reader)) last = std::max(last, *to);
            if (last == *from) continue;
            ++input.live[*from];
            --input.live[last];
        }
        std::partial_sum(input.live.begin(), input.live.end(), input.live.begin());

        std::size_t target = 20;
        while (units.size() / target > 60) target *= 16;
        const std::vector<std::uint32_t> cuts = narrow_cuts(input, target);
        std::vector<std::pair<GroupId, std::vector<Unit>>> made;
        for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
            const std::vector<Unit> part(units.begin() + cuts[c], units.begin() + cuts[c + 1]);
            if (part.size() < 2) continue;
            const GroupId group = new_group(parent, Group::Origin::structure, title_of(part), {});
            for (const Unit& u : part) {
                if (u.group.valid()) tree_->groups_[u.group.index()].parent = group;
                else tree_->of_[u.opr.index()] = group;
            }
            made.emplace_back(group, part);
        }
        for (const auto& [group, part] : made) split(group, part, 60);
    }

    std::string title_of(const std::vector<Unit>& part) const {
        std::map<std::string_view, int> counts;
        for (const Unit& u : part) {
            ++counts[u.group.valid() ? std::string_view(tree_->groups_[u.group.index()].title) : graph_.opr(u.opr).type];
        }
        std::vector<std::pair<int, std::string_view>> order;
        for (const auto& [word, n] : counts) order.emplace_back(-n, word);
        std::sort(order.begin(), order.end());
        std::string title;
        for (std::size_t i = 0; i < order.size() && i < 2; ++i) {
            if (i) title += ", ";
            title += std::string(order[i].second);
            if (order[i].first < -1) title += " ×" + std::to_string(-order[i].first);
        }
        if (order.size() > 2) title += ", …";
        return title;
    }

    /// Constants and shape computations stand where they are read. In reverse order: a shape may be read by a shape computation.
    void place_constants() {
        for (std::size_t i = graph_.oprs().size(); i-- > 0;) {
            const Opr& o = graph_.oprs()[i];
            if (counts(o.id)) continue;
            for (VarId v : o.outputs)
                if (const auto readers = graph_.consumers(v); !readers.empty() && !tree_->of_[o.id.index()].valid())
                    tree_->of_[o.id.index()] = tree_->of_[readers.front().index()];
        }
    }

    void count_and_compare() {
        auto& groups = tree_->groups_;
        renumber();
        std::vector<std::uint64_t> content(groups.size(), 1469598103934665603ULL);
        const auto mix = [](std::uint64_t& h, std::uint64_t x) { h = (h ^ x) * 1099511628211ULL + (h >> 31); };
        for (const Opr& o : graph_.oprs()) {
            const GroupId direct = tree_->of_[o.id.index()];
            if (!direct.valid()) continue;
            groups[direct.index()].oprs.push_back(o.id);
            const std::uint64_t type = std::hash<std::string_view>()(o.type);
            for (GroupId g = direct; g.valid(); g = groups[g.index()].parent) {
                if (!counts(o.id)) continue;
                mix(content[g.index()], type);
                ++groups[g.index()].total;
            }
        }
        for (Group& g : groups) {
            g.depth = g.parent.valid() ? groups[g.parent.index()].depth + 1 : 0;
            if (g.parent.valid()) groups[g.parent.index()].children.push_back(g.id);
            else tree_->top_.push_back(g.id);
        }
        const auto compare = [&](const std::vector<GroupId>& siblings) {
            std::unordered_map<std::uint64_t, std::uint32_t> seen;
            for (GroupId id : siblings) groups[id.index()].alike_index = seen[content[id.index()]]++;
            for (GroupId id : siblings) groups[id.index()].alike = seen[content[id.index()]];
        };
        compare(tree_->top_);
        for (const Group& g : std::vector<Group>(groups)) compare(g.children);
    }

    /// Puts parents before children and siblings into operator order (structure groups were made after what they hold).
    void renumber() {
        auto& groups = tree_->groups_;
        std::vector<OprId> first(groups.size());
        for (const Opr& o : graph_.oprs())
            for (GroupId g = tree_->of_[o.id.index()]; g.valid() && !first[g.index()].valid(); g = groups[g.index()].parent) first[g.index()] = o.id;
        std::vector<std::uint32_t> depth(groups.size(), 0);
        for (const Group& g : groups)
            for (GroupId p = g.parent; p.valid(); p = groups[p.index()].parent) ++depth[g.id.index()];
        std::vector<std::uint32_t> order(groups.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return depth[a] != depth[b] ? depth[a] < depth[b] : first[a] < first[b];
        });
        std::vector<GroupId> renamed(groups.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) renamed[order[i]] = GroupId(i);
        std::vector<Group> sorted;
        sorted.reserve(groups.size());
        for (std::uint32_t old : order) {
            Group g = std::move(groups[old]);
            g.id = renamed[old];
            if (g.parent.valid()) g.parent = renamed[g.parent.index()];
            sorted.push_back(std::move(g));
        }
        groups = std::move(sorted);
        for (GroupId& g : tree_->of_)
            if (g.valid()) g = renamed[g.index()];
    }

    const Graph& graph_;
    const std::vector<OprRole>& roles_;
    std::shared_ptr<GroupTree> tree_ = std::make_shared<GroupTree>();
    std::vector<std::vector<std::string>> parts_; ///< per operator: its scope in parts
    std::vector<std::uint32_t> mark_, set_;       ///< per operator, valid where `mark_` is the current stamp
    std::uint32_t stamp_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> unit_of_group_;
};

std::shared_ptr<const GroupTree> build_groups(const Graph& graph, const std::vector<OprRole>& roles) {
    return GroupTreeBuilder(graph, roles).run();
}

} // namespace megascope
