#include "profile/profile_compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "profile/compare_match.h"
#include "profile/rank_test.h"

namespace megascope {

namespace {

const std::string& group_of(const CompareItem& item, CompareBy by) {
    switch (by) {
    case CompareBy::scope: return item.scope;
    case CompareBy::shape: return item.shape;
    case CompareBy::dtype: return item.dtype;
    default: return item.type;
    }
}

/// The smallest p that counts as a change, so that the expected share of false alarms stays below alpha.
double false_discovery_limit(const std::vector<CompareRow>& rows, double alpha) {
    std::vector<double> p;
    for (const CompareRow& row : rows)
        if (row.p && row.verdict == CompareVerdict::not_distinguishable) p.push_back(*row.p);
    std::ranges::sort(p);
    double limit = -1;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (p[i] <= alpha * static_cast<double>(i + 1) / static_cast<double>(p.size())) limit = p[i];
    return limit;
}

/// p and direction of a row from its samples. The verdict stays "not distinguishable" until all rows are known.
struct Judged {
    bool a_is_larger = false;
};
Judged judge(CompareRow& row, std::span<const double> a, std::span<const double> b, double alpha) {
    if (!a.empty()) row.median_a = median_of(a);
    if (!b.empty()) row.median_b = median_of(b);
    const auto test = rank_test(a, b);
    if (!test) {
        row.verdict = CompareVerdict::not_tested;
        return {};
    }
    row.p = test->p;
    row.verdict = test->smallest_p > alpha ? CompareVerdict::too_few : CompareVerdict::not_distinguishable;
    if (row.verdict == CompareVerdict::too_few) row.p.reset();
    return {test->u > static_cast<double>(a.size()) * static_cast<double>(b.size()) / 2};
}

std::optional<double> order_key(const CompareRow& row, std::string_view column) {
    if (column == "change") return std::abs(row.change());
    if (column == "relative") return row.relative() ? std::optional(std::abs(*row.relative())) : std::nullopt;
    if (column == "a") return row.time_a;
    if (column == "b") return row.time_b;
    return row.p;
}

class Comparison {
public:
    Comparison(const CompareSide& a, const CompareSide& b, const CompareOptions& options) : a_(a), b_(b), options_(options) {}

    ProfileComparison make() && {
        CompareMatch match = match_items(a_, b_);
        out_.by = options_.by;
        out_.traces = a_.trace;
        if (out_.traces)
            out_.notes.emplace_back("Verdicts take the slices of a trace as independent; slices of one iteration are often slow or fast together, and a verdict is then less sure than it looks.");
        out_.matched = match.matched();
        out_.by_id = match.by_id;
        out_.by_name = match.by_name;
        out_.by_structure = match.by_structure;
        out_.elsewhere = match.elsewhere;
        out_.removed = a_.items.size() - out_.matched;
        out_.added = b_.items.size() - out_.matched;
        out_.total_a = a_.total();
        out_.total_b = b_.total();
        for (const CompareSide* side : {&a_, &b_})
            for (const std::string& note : side->notes) out_.notes.push_back(side->title + ": " + note);
        out_.b_of_a = std::move(match.b_of_a);
        out_.a_of_b = std::move(match.a_of_b);
        if (options_.by == CompareBy::opr) operators();
        else groups();
        decide();
        sort();
        return std::move(out_);
    }

private:
    void operators() {
        const auto fill = [](CompareRow& row, const CompareSide& side, const CompareItem& item) {
            row.name = item.name;
            row.type = item.type;
            row.track = side.tracks[item.track];
            row.shape = item.shape;
        };
        for (std::uint32_t i = 0; i < a_.items.size(); ++i) {
            const CompareItem& item = a_.items[i];
            CompareRow row;
            fill(row, a_, item);
            row.a = i;
            row.count_a = item.samples.size();
            row.time_a = item.total;
            const auto& partner = out_.b_of_a[i];
            Judged judged;
            if (partner) {
                const CompareItem& other = b_.items[*partner];
                fill(row, b_, other);
                row.b = *partner;
                row.count_b = other.samples.size();
                row.time_b = other.total;
                judged = judge(row, item.samples, other.samples, options_.alpha);
            } else {
                row.median_a = median_of(item.samples);
                row.verdict = CompareVerdict::removed;
            }
            add(std::move(row), judged);
        }
        for (std::uint32_t j = 0; j < b_.items.size(); ++j) {
            if (out_.a_of_b[j]) continue;
            const CompareItem& item = b_.items[j];
            CompareRow row;
            fill(row, b_, item);
            row.b = j;
            row.count_b = item.samples.size();
            row.time_b = item.total;
            row.median_b = median_of(item.samples);
            row.verdict = CompareVerdict::added;
            add(std::move(row), {});
        }
    }

    struct Sums {
        std::size_t count = 0;
        double time = 0;
        std::vector<double> samples; ///< per iteration; only where every member has all of them
        bool complete = true;
    };
    static std::map<std::string, Sums> sums_of(const CompareSide& side, CompareBy by) {
        std::map<std::string, Sums> sums;
        for (const CompareItem& item : side.items) {
            Sums& sum = sums[group_of(item, by)];
            ++sum.count;
            sum.time += item.self;
            sum.samples.resize(side.iterations, 0.0);
            if (side.trace || item.samples.size() != side.iterations) sum.complete = false;
            else
                for (std::size_t i = 0; i < side.iterations; ++i) sum.samples[i] += item.samples[i];
        }
        for (auto& [name, sum] : sums) {
            if (!sum.complete) sum.samples.clear();
            else sum.time = median_of(sum.samples);
        }
        return sums;
    }

    void groups() {
        const auto in_a = sums_of(a_, options_.by);
        auto in_b = sums_of(b_, options_.by);
        for (const auto& [name, a] : in_a) {
            CompareRow row;
            row.name = name;
            row.count_a = a.count;
            row.time_a = a.time;
            Judged judged;
            if (const auto at = in_b.find(name); at != in_b.end()) {
                row.count_b = at->second.count;
                row.time_b = at->second.time;
                judged = judge(row, a.samples, at->second.samples, options_.alpha);
                in_b.erase(at);
            } else {
                row.verdict = CompareVerdict::removed;
            }
            add(std::move(row), judged);
        }
        for (const auto& [name, b] : in_b) {
            CompareRow row;
            row.name = name;
            row.count_b = b.count;
            row.time_b = b.time;
            row.verdict = CompareVerdict::added;
            add(std::move(row), {});
        }
    }

    void add(CompareRow row, Judged judged) {
        out_.rows.push_back(std::move(row));
        larger_.push_back(judged.a_is_larger);
    }

    void decide() {
        const double limit = false_discovery_limit(out_.rows, options_.alpha);
        for (std::size_t i = 0; i < out_.rows.size(); ++i) {
            CompareRow& row = out_.rows[i];
            if (row.verdict == CompareVerdict::not_distinguishable && *row.p <= limit)
                row.verdict = larger_[i] ? CompareVerdict::faster : CompareVerdict::slower;
        }
    }

    void sort() {
        const bool ascending = options_.order_by.starts_with('+');
        const std::string_view column = std::string_view(options_.order_by).substr(ascending ? 1 : 0);
        std::ranges::stable_sort(out_.rows, [&](const CompareRow& x, const CompareRow& y) {
            if (column == "name") return ascending ? x.name < y.name : x.name > y.name;
            const auto kx = order_key(x, column);
            const auto ky = order_key(y, column);
            if (!kx || !ky) return kx.has_value() && !ky;
            return ascending ? *kx < *ky : *kx > *ky;
        });
        out_.all_rows = out_.rows.size();
        if (options_.top != 0 && out_.rows.size() > options_.top) out_.rows.resize(options_.top);
    }

    const CompareSide& a_;
    const CompareSide& b_;
    const CompareOptions& options_;
    ProfileComparison out_;
    std::vector<bool> larger_; ///< parallel to the unsorted rows: the first side's samples are mostly larger
};

} // namespace

std::string_view verdict_text(CompareVerdict verdict) {
    switch (verdict) {
    case CompareVerdict::faster: return "faster";
    case CompareVerdict::slower: return "slower";
    case CompareVerdict::not_distinguishable: return "not distinguishable";
    case CompareVerdict::too_few: return "too few samples";
    case CompareVerdict::not_tested: return "not tested";
    case CompareVerdict::added: return "new";
    case CompareVerdict::removed: return "gone";
    }
    return "";
}

Expected<ProfileComparison> compare_profiles(const CompareSide& a, const CompareSide& b, const CompareOptions& options, const CancelToken& cancel) {
    if (a.trace != b.trace)
        return fail(ErrorCode::invalid_argument, "A profile of a graph and a trace of events have nothing in common to compare: '" +
                                                     (a.trace ? a : b).title + "' is a trace, '" + (a.trace ? b : a).title + "' is not.");
    const std::string_view column = std::string_view(options.order_by).substr(options.order_by.starts_with('+') ? 1 : 0);
    static constexpr std::string_view columns[] = {"change", "relative", "a", "b", "p", "name"};
    if (std::ranges::find(columns, column) == std::end(columns))
        return fail(ErrorCode::invalid_argument, "There is no column '" + std::string(column) + "' to order by; there are change, relative, a, b, p and name.");
    if (cancel.cancelled()) return CancelToken::error();
    return Comparison(a, b, options).make();
}

} // namespace megascope
