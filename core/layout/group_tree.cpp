#include "layout/group_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <string_view>
#include <unordered_map>

#include "layout/narrow_cuts.h"
#include "layout/scopes.h"
#include "layout/side_by_side.h"
#include "layout/training_phases.h"

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
        scopes_ = operator_scopes(graph_, roles_);
        parts_.resize(oprs.size());
        mark_.assign(oprs.size(), 0);
        set_.resize(oprs.size());
        free_ = made_of_constants(graph_, roles_);
        std::vector<OprId> all;
        for (const Opr& o : oprs) {
            if (!counts(o.id)) continue;
            std::string_view rest = scopes_[o.id.index()];
            while (!rest.empty()) {
                const auto dot = rest.find('.');
                parts_[o.id.index()].emplace_back(rest.substr(0, dot));
                rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
            }
            all.push_back(o.id);
        }
        by_name({}, all, 0, {});
        by_number();
        without_sources();
        in_rows();
        by_structure();
        place_constants();
        count_and_compare();
        return std::move(tree_);
    }

private:
    static constexpr std::size_t row = 10; ///< boxes side by side that are few enough to be looked at one by one

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
            for (std::vector<OprId>& part : parts_that_stand_together(list)) {
                if (part.size() < 2) continue;
                const std::string full = path.empty() ? std::string(name) : path + "." + std::string(name);
                // A module that holds nothing but one other module is one box with both names.
                std::string title(name);
                std::string inner_path = full;
                std::size_t inner_depth = depth + 1;
                while (const auto only = is_training_part(full) ? std::nullopt : common_part(part, inner_depth)) {
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

    /// Updates of params have nothing to do with each other but stand together all the same, and so do gradients of one module that
    /// start from the same value.
    std::vector<std::vector<OprId>> parts_that_stand_together(const std::vector<OprId>& list) {
        const std::string_view outermost = parts_[list.front().index()].front();
        if (outermost != backward_scope && is_training_part(outermost)) return {list};
        std::vector<std::vector<OprId>> result;
        for (const std::vector<OprId>& part : connected_parts(list, outermost == backward_scope)) {
            std::vector<std::vector<OprId>> visits = separate_visits(part);
            if (visits.size() == 1) {
                for (std::vector<OprId>& call : separate_calls(part)) result.push_back(std::move(call));
                continue;
            }
            for (const std::vector<OprId>& visit : visits)
                for (std::vector<OprId>& piece : connected_parts(visit, false)) result.push_back(std::move(piece));
        }
        return result;
    }

    /// Splits `part` (ascending) where ways leave it and come back: as one box it would lie on a cycle. How often a way has left
    /// before it reaches an operator numbers the visits.
    std::vector<std::vector<OprId>> separate_visits(const std::vector<OprId>& part) {
        const std::size_t first = part.front().index(), last = part.back().index();
        // Modules whose operators lie far apart in operator order could cost the square of the graph's size.
        visit_work_ += last - first;
        if (visit_work_ > 300 * graph_.oprs().size()) return {part};
        ++stamp_;
        for (OprId id : part) mark_[id.index()] = stamp_;
        visit_.assign(last - first + 1, 0);
        std::uint32_t most = 0;
        for (std::size_t i = first; i <= last; ++i) {
            const bool inside = mark_[i] == stamp_;
            std::uint32_t visit = 0;
            for (VarId v : graph_.oprs()[i].inputs) {
                const OprId p = graph_.var(v).producer;
                if (p.index() < first || !counts(p)) continue;
                const bool leaves = !inside && mark_[p.index()] == stamp_;
                visit = std::max(visit, visit_[p.index() - first] + (leaves ? 1U : 0U));
            }
            visit_[i - first] = visit;
            if (inside) most = std::max(most, visit);
        }
        // What is made of constants alone belongs to the visit that reads it.
        for (std::size_t i = part.size(); i-- > 0 && most > 0;) {
            const OprId id = part[i];
            if (!free_[id.index()]) continue;
            std::uint32_t earliest = most + 1;
            for (VarId v : graph_.opr(id).outputs)
                for (OprId r : graph_.consumers(v))
                    if (mark_[r.index()] == stamp_) earliest = std::min(earliest, visit_[r.index() - first]);
            if (earliest <= most) visit_[id.index() - first] = earliest;
        }
        std::vector<std::vector<OprId>> result(most + 1);
        for (OprId id : part) result[visit_[id.index() - first]].push_back(id);
        std::erase_if(result, [](const auto& visit) { return visit.empty(); });
        return result;
    }

    /// Calls of one module with the same value look like one module with many branches, because what they begin with was computed
    /// only once. Several branches that hold the same operators with params, of the very same modules, are calls.
    std::vector<std::vector<OprId>> separate_calls(const std::vector<OprId>& part) {
        if (part.size() < 6) return {part};
        ++stamp_;
        for (OprId id : part) mark_[id.index()] = stamp_;
        std::vector<OprId> beginning, rest;
        std::vector<std::uint8_t> shared(part.size(), 0);
        const auto place = [&](OprId id) { return static_cast<std::size_t>(std::lower_bound(part.begin(), part.end(), id) - part.begin()); };
        for (std::size_t i = part.size(); i-- > 0;) {
            std::size_t readers = 0;
            for (VarId v : graph_.opr(part[i]).outputs)
                for (OprId r : graph_.consumers(v)) {
                    if (mark_[r.index()] != stamp_) continue;
                    ++readers;
                    if (shared[place(r)]) shared[i] = 1;
                }
            if (readers >= 3) shared[i] = 1;
        }
        for (std::size_t i = 0; i < part.size(); ++i) (shared[i] ? beginning : rest).push_back(part[i]);
        if (beginning.empty() || rest.size() < 6) return {part};
        std::vector<std::vector<OprId>> calls = connected_parts(rest, false);
        const auto reads_params = [&](OprId id) {
            const auto& inputs = graph_.opr(id).inputs;
            return std::any_of(inputs.begin(), inputs.end(), [&](VarId v) { return roles_[graph_.var(v).producer.index()] == OprRole::constant; });
        };
        const auto same = [&](const std::vector<OprId>& call) {
            return std::equal(call.begin(), call.end(), calls.front().begin(), calls.front().end(), [&](OprId a, OprId b) {
                return graph_.opr(a).type == graph_.opr(b).type && parts_[a.index()] == parts_[b.index()];
            });
        };
        if (calls.size() < 3 || calls.front().size() < 2 || std::none_of(calls.front().begin(), calls.front().end(), reads_params) ||
            !std::all_of(calls.begin(), calls.end(), same))
            return {part};
        calls.push_back(std::move(beginning));
        return calls;
    }

    std::vector<std::vector<OprId>> connected_parts(const std::vector<OprId>& list, bool by_shared_gradients) {
        ++stamp_;
        for (OprId id : list) {
            mark_[id.index()] = stamp_;
            set_[id.index()] = id.value();
        }
        const auto find = [&](std::uint32_t v) {
            while (set_[v] != v) v = set_[v] = set_[set_[v]];
            return v;
        };
        const auto join = [&](OprId x, OprId y) {
            const std::uint32_t a = find(x.value()), b = find(y.value());
            if (a != b) set_[std::max(a, b)] = std::min(a, b);
        };
        std::unordered_map<std::uint32_t, OprId> first_reader;
        for (OprId id : list)
            for (VarId v : graph_.opr(id).inputs) {
                const OprId p = graph_.var(v).producer;
                if (mark_[p.index()] == stamp_) join(id, p);
                else if (by_shared_gradients && !parts_[p.index()].empty() && parts_[p.index()].front() == backward_scope)
                    join(id, first_reader.try_emplace(v.value(), id).first->second);
            }
        std::map<std::uint32_t, std::vector<OprId>> parts;
        for (OprId id : list) parts[find(id.value())].push_back(id);
        std::vector<std::vector<OprId>> result;
        for (auto& [root, part] : parts) result.push_back(std::move(part));
        return result;
    }

    /// Modules of a list whose own name is lost ("0", "1", "2" … "0", "1" … directly in a module that has many of them): those that are
    /// numbered on from one to the next become one group, as in the list that they came from.
    void by_number() {
        const std::size_t count = tree_->groups_.size();
        std::vector<std::vector<OprId>> members(count);
        for (const Opr& o : graph_.oprs())
            for (GroupId g = tree_->of_[o.id.index()]; g.valid(); g = tree_->groups_[g.index()].parent) members[g.index()].push_back(o.id);
        std::map<GroupId, std::vector<GroupId>> siblings; // numbered ones, by parent
        const auto digits = [](std::string_view title) {
            const std::string_view part = title.substr(0, title.find('.'));
            const bool all = std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
            return all && part.size() < 5 ? std::string(part) : std::string();
        };
        for (const Group& g : tree_->groups_)
            if (!digits(g.title).empty()) siblings[g.parent].push_back(g.id);
        for (auto& [parent, list] : siblings) {
            std::sort(list.begin(), list.end(), [&](GroupId a, GroupId b) { return members[a.index()].front() < members[b.index()].front(); });
            const auto number = [&](GroupId g) { return std::stoi(digits(tree_->groups_[g.index()].title)); };
            std::vector<std::pair<std::size_t, std::size_t>> runs;
            for (std::size_t i = 0; i < list.size();) {
                std::size_t end = i + 1;
                while (end < list.size() && number(list[end]) == number(list[end - 1]) + 1) ++end;
                if (end - i >= 3) runs.emplace_back(i, end);
                i = end;
            }
            if (runs.size() < 2) continue; // one list: its name is that of the parent
            for (const auto& [begin, end] : runs) {
                std::vector<OprId> all;
                for (std::size_t i = begin; i < end; ++i) all.insert(all.end(), members[list[i].index()].begin(), members[list[i].index()].end());
                std::sort(all.begin(), all.end());
                if (separate_visits(all).size() > 1) continue;
                const std::string title = std::to_string(number(list[begin])) + "–" + std::to_string(number(list[end - 1]));
                const GroupId run = new_group(parent, Group::Origin::structure, title, {});
                for (std::size_t i = begin; i < end; ++i) tree_->groups_[list[i].index()].parent = run;
            }
        }
    }

    struct Unit {
        GroupId group; ///< a child group, or invalid
        OprId opr;     ///< the operator, or the first of the group
    };

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

    /// What stands directly in every group, the last for the graph itself, in operator order of its loose operators.
    std::vector<std::vector<Unit>> units_of_levels() const {
        std::vector<std::vector<Unit>> units(tree_->groups_.size() + 1);
        std::vector<OprId> first(tree_->groups_.size());
        const auto slot = [&](GroupId g) { return g.valid() ? g.index() : units.size() - 1; };
        for (const Opr& o : graph_.oprs()) {
            if (!counts(o.id)) continue;
            const GroupId g = tree_->of_[o.id.index()];
            for (GroupId k = g; k.valid() && !first[k.index()].valid(); k = tree_->groups_[k.index()].parent) first[k.index()] = o.id;
            units[slot(g)].push_back({{}, o.id});
        }
        for (const Group& g : tree_->groups_) units[slot(g.parent)].push_back({g.id, first[g.id.index()]});
        return units;
    }

    GroupId wrap(GroupId parent, Group::Origin origin, const std::vector<Unit>& part) {
        const GroupId group = new_group(parent, origin, title_of(part), {});
        for (const Unit& u : part) {
            if (u.group.valid()) tree_->groups_[u.group.index()].parent = group;
            else tree_->of_[u.opr.index()] = group;
        }
        return group;
    }

    /// Loose operators that are made of nothing but constants and shapes (anchors, grids, masks) stand together: they are a side matter, and
    /// what nothing comes into may be collapsed without making a cycle.
    void without_sources() {
        const std::vector<std::vector<Unit>> levels = units_of_levels();
        std::vector<std::uint8_t> free = free_;
        for (std::size_t i = 0; i < levels.size(); ++i) {
            if (levels[i].size() < 30) continue;
            const GroupId parent = i + 1 == levels.size() ? GroupId() : GroupId(i);
            std::vector<OprId> loose;
            for (const Unit& u : levels[i])
                if (!u.group.valid() && free[u.opr.index()]) loose.push_back(u.opr);
            // What they are made of may stand in a group: then they belong to that.
            std::erase_if(loose, [&](OprId id) {
                const auto& inputs = graph_.opr(id).inputs;
                const bool apart = std::any_of(inputs.begin(), inputs.end(), [&](VarId v) {
                    const OprId p = graph_.var(v).producer;
                    return counts(p) && (tree_->of_[p.index()] != parent || !free[p.index()]);
                });
                if (apart) free[id.index()] = 0;
                return apart;
            });
            if (loose.empty()) continue;
            for (const std::vector<OprId>& part : connected_parts(loose, false)) {
                if (part.size() < 6 || part.size() + 10 > levels[i].size()) continue;
                std::vector<Unit> units;
                for (OprId id : part) units.push_back({{}, id});
                wrap(parent, Group::Origin::structure, units);
            }
        }
    }

    /// Many operators of one type that read the same, or that the same reads, become one box; when it is opened, there are parts of it.
    void in_rows() {
        const std::vector<std::vector<Unit>> levels = units_of_levels();
        std::vector<std::uint8_t> is_output(graph_.vars().size(), 0);
        for (const GraphOutput& output : graph_.outputs()) is_output[output.var.index()] = 1;
        // Neighbours by number: operators of other levels, what leaves the graph, units of the level.
        const std::size_t left = graph_.oprs().size();
        std::vector<std::uint32_t> read_by(2 * left + 1, 0), made_from = read_by; // how many operators of the level have it above or below
        for (std::size_t i = 0; i < levels.size(); ++i) {
            if (levels[i].size() < 2 * row) continue;
            const GroupId parent = i + 1 == levels.size() ? GroupId() : GroupId(i);
            const auto unit_of = unit_finder(levels[i]);
            const auto neighbour = [&](OprId id) {
                const auto unit = unit_of(id);
                return unit ? static_cast<std::uint32_t>(left + 1 + *unit) : id.value();
            };
            std::vector<Unit> loose;
            std::vector<std::uint32_t> producers, readers; // of all loose operators, one after the other
            std::vector<std::array<std::size_t, 2>> ends;
            const auto once = [](std::vector<std::uint32_t>& list, std::size_t from, std::vector<std::uint32_t>& count) {
                std::sort(list.begin() + static_cast<long>(from), list.end());
                list.erase(std::unique(list.begin() + static_cast<long>(from), list.end()), list.end());
                for (std::size_t k = from; k < list.size(); ++k) ++count[list[k]];
            };
            for (const Unit& u : levels[i]) {
                if (u.group.valid()) continue;
                const Opr& o = graph_.opr(u.opr);
                const std::array<std::size_t, 2> begins = {producers.size(), readers.size()};
                for (VarId v : o.inputs)
                    if (const OprId p = graph_.var(v).producer; counts(p)) producers.push_back(neighbour(p));
                for (VarId v : o.outputs) {
                    if (is_output[v.index()]) readers.push_back(static_cast<std::uint32_t>(left));
                    for (OprId r : graph_.consumers(v))
                        if (counts(r)) readers.push_back(neighbour(r));
                }
                once(producers, begins[0], read_by);
                once(readers, begins[1], made_from);
                loose.push_back(u);
                ends.push_back({producers.size(), readers.size()});
            }
            // Nearly all operators have a neighbour that too few others share.
            std::unordered_map<std::string_view, std::uint32_t> types;
            std::vector<Unit> candidates;
            std::vector<Surroundings> around;
            for (std::size_t k = 0; k < loose.size(); ++k) {
                const std::array<std::size_t, 2> begins = k == 0 ? std::array<std::size_t, 2>{} : ends[k - 1];
                const std::span above(producers.begin() + static_cast<long>(begins[0]), producers.begin() + static_cast<long>(ends[k][0]));
                const std::span below(readers.begin() + static_cast<long>(begins[1]), readers.begin() + static_cast<long>(ends[k][1]));
                Surroundings s;
                if (std::ranges::all_of(above, [&](std::uint32_t n) { return read_by[n] >= row; })) s.producers.assign(above.begin(), above.end());
                if (std::ranges::all_of(below, [&](std::uint32_t n) { return made_from[n] >= row; })) s.readers.assign(below.begin(), below.end());
                if (s.producers.empty() && s.readers.empty()) continue;
                s.type = types.try_emplace(graph_.opr(loose[k].opr).type, static_cast<std::uint32_t>(types.size())).first->second;
                candidates.push_back(loose[k]);
                around.push_back(std::move(s));
            }
            for (std::uint32_t n : producers) read_by[n] = 0;
            for (std::uint32_t n : readers) made_from[n] = 0;
            for (const std::vector<std::uint32_t>& set : side_by_side(std::move(around), row)) {
                std::vector<Unit> members;
                for (std::uint32_t k : set) members.push_back(candidates[k]);
                in_parts(wrap(parent, Group::Origin::row, members), members);
            }
        }
    }
    void in_parts(GroupId parent, const std::vector<Unit>& members) {
        const std::size_t parts = parts_of_row(members.size(), 2 * row);
        if (parts == 1) return;
        for (std::size_t k = 0; k < parts; ++k) {
            const auto begin = members.begin() + static_cast<long>(k * members.size() / parts);
            const std::vector<Unit> part(begin, members.begin() + static_cast<long>((k + 1) * members.size() / parts));
            in_parts(wrap(parent, Group::Origin::row, part), part);
        }
    }

    /// Levels with too many members are cut into stretches of the operator order at narrow places.
    void by_structure() {
        std::vector<std::vector<Unit>> units = units_of_levels();
        direct_.assign(tree_->groups_.size(), {});
        inner_.assign(tree_->groups_.size(), {});
        for (const Opr& o : graph_.oprs())
            if (counts(o.id) && tree_->of_[o.id.index()].valid()) direct_[tree_->of_[o.id.index()].index()].push_back(o.id);
        for (const Group& g : tree_->groups_)
            if (g.parent.valid()) inner_[g.parent.index()].push_back(g.id);
        for (std::size_t i = 0; i < units.size(); ++i) {
            auto& list = units[i];
            if (list.size() <= 120 || (i + 1 < units.size() && tree_->groups_[i].origin == Group::Origin::row)) continue;
            // Modules stay as they are, as long as there are not too many of them, and loose operators are cut between them.
            const auto modules = std::count_if(list.begin(), list.end(), [](const Unit& u) { return u.group.valid(); });
            const bool keep_modules = modules <= 60;
            sort_backwards(list);
            const GroupId parent = i + 1 == units.size() ? GroupId() : GroupId(i);
            std::vector<Unit> run;
            const auto flush = [&] {
                if (run.size() > 30) split(parent, Sequence(*this, run), 0, run.size(), 30);
                run.clear();
            };
            for (const Unit& u : list) {
                if (u.group.valid() && (keep_modules || is_training_part(tree_->groups_[u.group.index()].path))) flush();
                else run.push_back(u);
            }
            flush();
        }
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
        // Inputs are greatest, so that they stand directly before their first reader; then loose ones, then later ones.
        const auto importance = [&](std::uint32_t i) { return units[i].group.valid() ? 0 : producers[i].empty() ? 2 : 1; };
        std::priority_queue<std::pair<int, std::uint32_t>> ready;
        std::vector<std::uint8_t> waits(units.size(), 0);
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            if (readers[i] == 0) ready.emplace(importance(i), i);
            else waits[i] = 1;
        }
        std::vector<Unit> sorted;
        std::size_t last = units.size(); // nothing from here on waits
        while (sorted.size() < units.size()) {
            std::uint32_t next = 0;
            if (!ready.empty()) {
                next = ready.top().second;
                ready.pop();
            } else {
                while (!waits[last - 1]) --last;
                next = static_cast<std::uint32_t>(last - 1);
                waits[next] = 0;
            }
            sorted.push_back(units[next]);
            for (std::uint32_t p : producers[next])
                if (--readers[p] == 0 && waits[p]) {
                    waits[p] = 0;
                    ready.emplace(importance(p), p);
                }
        }
        units.assign(sorted.rbegin(), sorted.rend());
    }

    /// Units in the order in which they are cut, and who reads what between them. Made once; every stretch is a part of it.
    struct Sequence {
        Sequence(GroupTreeBuilder& builder, const std::vector<Unit>& all) : units(all) {
            const auto unit_of = builder.unit_finder(units);
            std::unordered_map<std::string_view, std::uint32_t> words;
            std::vector<OprId> members;
            std::vector<GroupId> open;
            for (const Unit& u : units) {
                var_begin.push_back(static_cast<std::uint32_t>(reader_begin.size()));
                members.clear();
                if (u.group.valid()) open.push_back(u.group);
                else members.push_back(u.opr);
                while (!open.empty()) {
                    const GroupId g = open.back();
                    open.pop_back();
                    members.insert(members.end(), builder.direct_[g.index()].begin(), builder.direct_[g.index()].end());
                    open.insert(open.end(), builder.inner_[g.index()].begin(), builder.inner_[g.index()].end());
                }
                for (OprId id : members)
                    for (VarId v : builder.graph_.opr(id).outputs) {
                        reader_begin.push_back(static_cast<std::uint32_t>(readers.size()));
                        for (OprId r : builder.graph_.consumers(v))
                            if (const auto to = unit_of(r)) readers.push_back(*to);
                    }
                const std::string_view word = u.group.valid() ? std::string_view(builder.tree_->groups_[u.group.index()].title) : builder.graph_.opr(u.opr).type;
                signature.push_back(words.try_emplace(word, static_cast<std::uint32_t>(words.size())).first->second);
            }
            var_begin.push_back(static_cast<std::uint32_t>(reader_begin.size()));
            reader_begin.push_back(static_cast<std::uint32_t>(readers.size()));
        }

        /// For the stretch from `begin` to `end`. Values that others read further down count as if their last reader were the last one
        /// in the stretch.
        NarrowCutInput stretch(std::size_t begin, std::size_t end) const {
            NarrowCutInput input;
            input.live.assign(end - begin, 0);
            input.signature.assign(signature.begin() + static_cast<long>(begin), signature.begin() + static_cast<long>(end));
            for (std::size_t u = begin; u < end; ++u)
                for (std::uint32_t v = var_begin[u]; v < var_begin[u + 1]; ++v) {
                    std::size_t last = u;
                    for (std::uint32_t k = reader_begin[v]; k < reader_begin[v + 1]; ++k)
                        if (readers[k] < end) last = std::max<std::size_t>(last, readers[k]);
                    if (last == u) continue;
                    ++input.live[u - begin];
                    --input.live[last - begin];
                }
            std::partial_sum(input.live.begin(), input.live.end(), input.live.begin());
            return input;
        }

        std::vector<Unit> units;
        std::vector<std::uint32_t> signature;    ///< per unit
        std::vector<std::uint32_t> var_begin;    ///< per unit: its vars
        std::vector<std::uint32_t> reader_begin; ///< per var: the units that read it
        std::vector<std::uint32_t> readers;
    };

    void split(GroupId parent, const Sequence& sequence, std::size_t begin, std::size_t end, std::size_t most) {
        if (end - begin <= most) return;
        std::size_t target = 20;
        while ((end - begin) / target > 60) target *= 16;
        const std::vector<std::uint32_t> cuts = narrow_cuts(sequence.stretch(begin, end), target);
        for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
            const std::size_t from = begin + cuts[c], to = begin + cuts[c + 1];
            if (to - from < 2) continue;
            const std::vector<Unit> part(sequence.units.begin() + static_cast<long>(from), sequence.units.begin() + static_cast<long>(to));
            split(wrap(parent, Group::Origin::structure, part), sequence, from, to, 60);
        }
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
        std::vector<OprId> first(groups.size()); // constants may stand anywhere before their readers
        for (const bool constants : {false, true})
            for (const Opr& o : graph_.oprs()) {
                if (counts(o.id) == constants) continue;
                for (GroupId g = tree_->of_[o.id.index()]; g.valid() && !first[g.index()].valid(); g = groups[g.index()].parent) first[g.index()] = o.id;
            }
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
    std::vector<std::string> scopes_;                  ///< per operator
    std::vector<std::vector<std::string_view>> parts_; ///< per operator: its scope in parts
    std::vector<std::uint8_t> free_;              ///< per operator: made of constants and shapes alone
    std::vector<std::uint32_t> mark_, set_;       ///< per operator, valid where `mark_` is the current stamp
    std::uint32_t stamp_ = 0;
    std::vector<std::vector<OprId>> direct_;  ///< per named group, before stretches are cut: operators directly in it
    std::vector<std::vector<GroupId>> inner_; ///< and its groups
    std::vector<std::uint32_t> visit_; ///< see separate_visits
    std::size_t visit_work_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> unit_of_group_;
};

std::shared_ptr<const GroupTree> build_groups(const Graph& graph, const std::vector<OprRole>& roles) {
    return GroupTreeBuilder(graph, roles).run();
}

} // namespace megascope
