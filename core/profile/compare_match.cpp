#include "profile/compare_match.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace megascope {

namespace {

/// Above this many cells the alignment table takes too long; equal keys are then paired in order of occurrence.
constexpr std::size_t alignment_limit = 64'000'000;

class Matcher {
public:
    Matcher(const CompareSide& a, const CompareSide& b) : a_(a), b_(b) {
        m_.b_of_a.resize(a.items.size());
        m_.a_of_b.resize(b.items.size());
    }

    CompareMatch profiles() && {
        std::unordered_map<std::uint64_t, std::uint32_t> by_number;
        for (std::uint32_t j = 0; j < b_.items.size(); ++j) by_number.emplace(b_.items[j].number, j);
        for (std::uint32_t i = 0; i < a_.items.size(); ++i) {
            const auto at = by_number.find(a_.items[i].number);
            if (at == by_number.end() || !alike(a_.items[i], b_.items[at->second]) || a_.items[i].name != b_.items[at->second].name) continue;
            m_.by_id += pair(i, at->second);
        }
        for (std::size_t key = 0; key < 2; ++key) m_.by_name += by_unique_key(key);
        m_.by_structure = align();
        return std::move(m_);
    }

    CompareMatch traces() && {
        using Key = std::tuple<std::string_view, std::string_view, std::uint32_t>; // name, category, track
        const std::vector<std::optional<std::uint32_t>> partner = pair_tracks();
        std::map<Key, std::uint32_t> there;
        for (std::uint32_t j = 0; j < b_.items.size(); ++j) there.emplace(Key(b_.items[j].name, b_.items[j].type, b_.items[j].track), j);
        for (std::uint32_t i = 0; i < a_.items.size(); ++i) {
            const auto& track = partner[a_.items[i].track];
            if (!track) continue;
            const auto at = there.find(Key(a_.items[i].name, a_.items[i].type, *track));
            if (at != there.end()) m_.by_name += pair(i, at->second);
        }
        // What runs on another track now, in order of the tracks.
        std::map<std::pair<std::string_view, std::string_view>, std::vector<std::uint32_t>> left;
        for (std::uint32_t j = static_cast<std::uint32_t>(b_.items.size()); j-- > 0;)
            if (!m_.a_of_b[j]) left[{b_.items[j].name, b_.items[j].type}].push_back(j);
        for (std::uint32_t i = 0; i < a_.items.size(); ++i) {
            if (m_.b_of_a[i]) continue;
            const auto at = left.find({a_.items[i].name, a_.items[i].type});
            if (at == left.end() || at->second.empty()) continue;
            m_.elsewhere += pair(i, at->second.back());
            at->second.pop_back();
        }
        return std::move(m_);
    }

private:
    /// Profiles of builds without type names have none; then the name alone decides.
    static bool alike(const CompareItem& x, const CompareItem& y) { return x.type.empty() || y.type.empty() || x.type == y.type; }

    bool pair(std::uint32_t i, std::uint32_t j) {
        if (m_.b_of_a[i] || m_.a_of_b[j]) return false;
        m_.b_of_a[i] = j;
        m_.a_of_b[j] = i;
        return true;
    }

    std::size_t by_unique_key(std::size_t key) {
        constexpr std::uint32_t ambiguous = 0xffffffffU;
        const auto index = [key](const CompareSide& side, const auto& taken) {
            std::unordered_map<std::string_view, std::uint32_t> at;
            for (std::uint32_t i = 0; i < side.items.size(); ++i) {
                if (taken[i] || key >= side.items[i].keys.size() || side.items[i].keys[key].empty()) continue;
                const auto [found, is_new] = at.emplace(side.items[i].keys[key], i);
                if (!is_new) found->second = ambiguous;
            }
            return at;
        };
        const auto in_a = index(a_, m_.b_of_a);
        const auto in_b = index(b_, m_.a_of_b);
        std::size_t count = 0;
        for (const auto& [name, i] : in_a) {
            const auto at = in_b.find(name);
            if (i == ambiguous || at == in_b.end() || at->second == ambiguous || !alike(a_.items[i], b_.items[at->second])) continue;
            count += pair(i, at->second);
        }
        return count;
    }

    std::size_t align() {
        std::unordered_map<std::string, std::uint32_t> numbers;
        const auto collect = [&](const CompareSide& side, const auto& taken, std::vector<std::uint32_t>& items, std::vector<std::uint32_t>& keys) {
            for (std::uint32_t i = 0; i < side.items.size(); ++i) {
                if (taken[i]) continue;
                items.push_back(i);
                keys.push_back(numbers.emplace(side.items[i].type + '|' + side.items[i].shape, static_cast<std::uint32_t>(numbers.size())).first->second);
            }
        };
        std::vector<std::uint32_t> left, left_keys, right, right_keys;
        collect(a_, m_.b_of_a, left, left_keys);
        collect(b_, m_.a_of_b, right, right_keys);
        const std::size_t rows = left.size();
        const std::size_t columns = right.size();
        std::size_t count = 0;
        if (rows == 0 || columns == 0) return 0;
        if (rows > alignment_limit / columns) {
            std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> waiting;
            for (std::size_t c = columns; c-- > 0;) waiting[right_keys[c]].push_back(right[c]);
            for (std::size_t r = 0; r < rows; ++r) {
                auto& list = waiting[left_keys[r]];
                if (list.empty()) continue;
                count += pair(left[r], list.back());
                list.pop_back();
            }
            return count;
        }
        std::vector<std::uint32_t> length((rows + 1) * (columns + 1), 0);
        const auto at = [&](std::size_t r, std::size_t c) -> std::uint32_t& { return length[r * (columns + 1) + c]; };
        for (std::size_t r = rows; r-- > 0;)
            for (std::size_t c = columns; c-- > 0;)
                at(r, c) = left_keys[r] == right_keys[c] ? at(r + 1, c + 1) + 1 : std::max(at(r + 1, c), at(r, c + 1));
        for (std::size_t r = 0, c = 0; r < rows && c < columns;) {
            if (left_keys[r] == right_keys[c]) count += pair(left[r++], right[c++]);
            else if (at(r + 1, c) >= at(r, c + 1)) ++r;
            else ++c;
        }
        return count;
    }

    /// Process and thread numbers change from run to run; what a track does is alike. Tracks are paired by the share of slices with
    /// the same names (Dice's coefficient), the most alike first; equal titles win ties.
    std::vector<std::optional<std::uint32_t>> pair_tracks() const {
        using Counts = std::map<std::pair<std::string_view, std::string_view>, double>;
        const auto count = [](const CompareSide& side) {
            std::vector<Counts> counts(side.tracks.size());
            for (const CompareItem& item : side.items) counts[item.track][{item.name, item.type}] += static_cast<double>(item.samples.size());
            return counts;
        };
        const std::vector<Counts> ca = count(a_);
        const std::vector<Counts> cb = count(b_);
        const auto size = [](const Counts& c) {
            double n = 0;
            for (const auto& [key, value] : c) n += value;
            return n;
        };
        struct Pair {
            double alike;
            bool same_title;
            std::uint32_t a, b;
        };
        std::vector<Pair> pairs;
        for (std::uint32_t i = 0; i < ca.size(); ++i)
            for (std::uint32_t j = 0; j < cb.size(); ++j) {
                double common = 0;
                for (const auto& [key, value] : ca[i])
                    if (const auto at = cb[j].find(key); at != cb[j].end()) common += std::min(value, at->second);
                if (common > 0) pairs.push_back({2 * common / (size(ca[i]) + size(cb[j])), a_.tracks[i] == b_.tracks[j], i, j});
            }
        std::ranges::stable_sort(pairs, [](const Pair& x, const Pair& y) { return std::tuple(x.alike, x.same_title) > std::tuple(y.alike, y.same_title); });
        std::vector<std::optional<std::uint32_t>> partner(ca.size());
        std::vector<bool> taken(cb.size());
        for (const Pair& p : pairs) {
            if (partner[p.a] || taken[p.b]) continue;
            partner[p.a] = p.b;
            taken[p.b] = true;
        }
        return partner;
    }

    const CompareSide& a_;
    const CompareSide& b_;
    CompareMatch m_;
};

} // namespace

CompareMatch match_items(const CompareSide& a, const CompareSide& b) {
    return a.trace ? Matcher(a, b).traces() : Matcher(a, b).profiles();
}

} // namespace megascope
