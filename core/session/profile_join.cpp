#include "session/profile_join.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/units.h"
#include "opr/catalogue.h"

namespace megascope {

namespace {

/// Above this many cells the alignment table would not fit a reasonable time; names have to do then.
constexpr std::size_t alignment_limit = 64'000'000;

/// What a traced function adds around the graph; often most of its time, and never in a dump.
bool is_plumbing(std::string_view type) { return type == "InputCallback" || type == "OutputCallback"; }

class Joiner {
public:
    Joiner(const Graph& graph, const GraphInfo& info, const GraphProfile& profile) : graph_(graph), info_(info), profile_(profile) {
        result_.of_opr.resize(graph.oprs().size());
        taken_.resize(profile.oprs.size());
    }

    ProfileJoin join() && {
        result_.by_name = match_unique([&](const Opr& o) { return std::string_view(o.name); },
                                       [&](const ProfileOpr& o) { return profile_.text(o.name); });
        result_.by_var_name = match_unique(
            [&](const Opr& o) { return o.outputs.empty() ? std::string_view() : std::string_view(graph_.var(o.outputs.front()).name); },
            [&](const ProfileOpr& o) {
                return o.outputs.empty() ? std::string_view() : profile_.text(profile_.vars[o.outputs.front().index()].name);
            });
        align();
        count_times();
        return std::move(result_);
    }

private:
    [[nodiscard]] std::string_view profile_type(const Opr& opr) const {
        const OprDef* def = Catalogue::builtin().of(opr);
        return def && !def->profile_type.empty() ? def->profile_type : std::string_view(opr.type);
    }

    /// Profiles of other builds may carry no type names; then the name alone decides.
    [[nodiscard]] bool types_agree(const Opr& opr, const ProfileOpr& other) const {
        const std::string_view type = profile_.text(other.type);
        return type.empty() || type == profile_type(opr) || type == opr.type;
    }

    void match(OprId opr, ProfileOprId other) {
        result_.of_opr[opr.index()] = other;
        taken_[other.index()] = true;
    }

    template <class GraphName, class ProfileName>
    std::size_t match_unique(GraphName graph_name, ProfileName profile_name) {
        constexpr std::uint32_t ambiguous = ProfileOprId::invalid_value;
        std::unordered_map<std::string_view, std::uint32_t> by_name;
        for (std::size_t i = 0; i < profile_.oprs.size(); ++i) {
            const std::string_view name = taken_[i] ? std::string_view() : profile_name(profile_.oprs[i]);
            if (name.empty()) continue;
            const auto [at, is_new] = by_name.emplace(name, static_cast<std::uint32_t>(i));
            if (!is_new) at->second = ambiguous;
        }
        std::unordered_map<std::string_view, int> uses;
        for (const Opr& opr : graph_.oprs()) ++uses[graph_name(opr)];
        std::size_t count = 0;
        for (const Opr& opr : graph_.oprs()) {
            if (result_.of_opr[opr.id.index()].valid()) continue;
            const std::string_view name = graph_name(opr);
            const auto at = name.empty() ? by_name.end() : by_name.find(name);
            if (at == by_name.end() || at->second == ambiguous || uses[name] != 1) continue;
            if (!types_agree(opr, profile_.oprs[at->second])) continue;
            match(opr.id, ProfileOprId(at->second));
            ++count;
        }
        return count;
    }

    /// Type and output shapes as one text: equal keys may be aligned.
    [[nodiscard]] std::string key(const Opr& opr) const {
        std::string k(profile_type(opr));
        for (const VarId out : opr.outputs) {
            k += '|';
            if (const auto& shape = info_.var(out).shape)
                for (const std::int64_t size : *shape) k += std::to_string(size) + ',';
        }
        return k;
    }
    [[nodiscard]] std::string key(ProfileOprId id) const {
        std::string k(profile_.text(profile_.oprs[id.index()].type));
        if (const auto& footprint = profile_.footprints[id.index()])
            for (const auto& shape : footprint->out_shapes) {
                k += '|';
                for (const std::int64_t size : shape) k += std::to_string(size) + ',';
            }
        return k;
    }

    void align() {
        std::unordered_map<std::string, std::uint32_t> numbers;
        const auto number = [&](std::string k) { return numbers.emplace(std::move(k), static_cast<std::uint32_t>(numbers.size())).first->second; };
        std::vector<OprId> left;
        std::vector<std::uint32_t> left_keys;
        for (const Opr& opr : graph_.oprs())
            if (!result_.of_opr[opr.id.index()].valid() && !opr.outputs.empty()) {
                left.push_back(opr.id);
                left_keys.push_back(number(key(opr)));
            }
        std::vector<ProfileOprId> right;
        std::vector<std::uint32_t> right_keys;
        for (const ProfileOprId id : profile_.sequence)
            if (!taken_[id.index()]) {
                right.push_back(id);
                right_keys.push_back(number(key(id)));
            }
        const std::size_t rows = left.size();
        const std::size_t columns = right.size();
        if (rows == 0 || columns == 0 || rows > alignment_limit / columns) return;

        // Longest common subsequence; lengths fit 16 bits after the limit above only for short sides, so 32 bits are used.
        std::vector<std::uint32_t> length((rows + 1) * (columns + 1), 0);
        const auto at = [&](std::size_t r, std::size_t c) -> std::uint32_t& { return length[r * (columns + 1) + c]; };
        for (std::size_t r = rows; r-- > 0;)
            for (std::size_t c = columns; c-- > 0;)
                at(r, c) = left_keys[r] == right_keys[c] ? at(r + 1, c + 1) + 1 : std::max(at(r + 1, c), at(r, c + 1));
        for (std::size_t r = 0, c = 0; r < rows && c < columns;) {
            if (left_keys[r] == right_keys[c]) {
                match(left[r++], right[c++]);
                ++result_.by_structure;
            } else if (at(r + 1, c) >= at(r, c + 1)) {
                ++r;
            } else {
                ++c;
            }
        }
    }

    void count_times() {
        const ProfileTimes times = longest_times(profile_);
        double all = 0;
        double matched = 0;
        for (std::size_t i = 0; i < profile_.oprs.size(); ++i) {
            if (!times.device[i] || is_plumbing(profile_.text(profile_.oprs[i].type))) continue;
            ++result_.timed;
            all += times.device[i]->duration();
            if (!taken_[i]) continue;
            ++result_.timed_matched;
            matched += times.device[i]->duration();
        }
        result_.time_matched = all > 0 ? matched / all : 0;
    }

    const Graph& graph_;
    const GraphInfo& info_;
    const GraphProfile& profile_;
    ProfileJoin result_;
    std::vector<bool> taken_;
};

} // namespace

std::string ProfileJoin::sentence() const {
    std::string how;
    const auto part = [&](std::size_t count, const char* what) {
        if (count == 0) return;
        how += (how.empty() ? "" : ", ") + std::to_string(count) + " by " + what;
    };
    part(by_name, "name");
    part(by_var_name, "var name");
    part(by_structure, "structure");
    return std::to_string(timed_matched) + " of " + std::to_string(timed) + " timed operators matched, " +
           format_number(time_matched * 100, 3) + " % of the device time" + (how.empty() ? std::string() : " (all operators: " + how + ")") + ".";
}

ProfileJoin join_profile(const Graph& graph, const GraphInfo& info, const GraphProfile& profile) {
    return Joiner(graph, info, profile).join();
}

} // namespace megascope
