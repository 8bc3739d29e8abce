#include "profile/compare_side.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "profile/profile_analysis.h"
#include "profile/rank_test.h"

namespace megascope {

namespace {

/// Finds the operators of a later iteration in the first one: the same id and name, else the only one of that name.
class IterationMatcher {
public:
    explicit IterationMatcher(const GraphProfile& first) : first_(first) {
        for (std::size_t i = 0; i < first.oprs.size(); ++i) {
            const auto [at, is_new] = by_name_.emplace(first.text(first.oprs[i].name), ProfileOprId(i));
            if (!is_new) at->second = ProfileOprId();
        }
    }
    [[nodiscard]] ProfileOprId find(const GraphProfile& other, const ProfileOpr& opr) const {
        const ProfileOprId same = first_.find_opr(opr.number);
        const std::string_view name = other.text(opr.name);
        if (same.valid() && first_.text(first_.oprs[same.index()].name) == name) return same;
        const auto at = by_name_.find(name);
        return at == by_name_.end() ? ProfileOprId() : at->second;
    }

private:
    const GraphProfile& first_;
    std::unordered_map<std::string_view, ProfileOprId> by_name_;
};

/// A name without the occurrence number that some profilers append: "ProfilerStep#15".
std::string_view without_count(std::string_view name) {
    const std::size_t hash = name.find_last_not_of("0123456789");
    return hash != std::string_view::npos && hash + 1 < name.size() && name[hash] == '#' ? name.substr(0, hash) : name;
}

} // namespace

double CompareSide::total() const {
    std::vector<double> sums(iterations, 0.0);
    double sum = 0;
    bool complete = !trace && !items.empty();
    for (const CompareItem& item : items) {
        sum += item.self;
        complete = complete && item.samples.size() == iterations;
        if (complete)
            for (std::size_t i = 0; i < iterations; ++i) sums[i] += item.samples[i];
    }
    return complete ? median_of(sums) : sum;
}

CompareSide compare_side(std::string title, std::span<const std::shared_ptr<const GraphProfile>> iterations, const DTypeOf& dtype) {
    CompareSide side;
    side.title = std::move(title);
    side.iterations = iterations.size();
    side.profile = iterations.front();
    side.timeline = timeline_of(side.profile);
    const GraphProfile& p = *side.profile;

    const bool host = p.device.empty();
    if (host && !p.host.empty()) side.notes.push_back("The profile has no device times; its host times are compared.");
    std::vector<std::vector<double>> samples(p.oprs.size());
    std::vector<StringId> where(p.oprs.size());
    for (const ProfileRecord& record : host ? p.host : p.device) where[record.opr.index()] = record.where;
    const IterationMatcher matcher(p);
    std::size_t unknown = 0;
    for (const auto& iteration : iterations) {
        const ProfileTimes times = longest_times(*iteration);
        const auto& spans = host ? times.host : times.device;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            if (!spans[i]) continue;
            const ProfileOprId at = iteration == side.profile ? ProfileOprId(i) : matcher.find(*iteration, iteration->oprs[i]);
            if (at.valid()) samples[at.index()].push_back(spans[i]->duration());
            else ++unknown;
        }
    }
    if (unknown != 0)
        side.notes.push_back(std::to_string(unknown) + " times of later iterations belong to operators that the first one does not have.");

    // Execution order first, then whatever else has a time.
    std::vector<ProfileOprId> order = p.sequence;
    std::vector<bool> listed(p.oprs.size());
    for (const ProfileOprId id : order) listed[id.index()] = true;
    for (std::size_t i = 0; i < p.oprs.size(); ++i)
        if (!listed[i]) order.emplace_back(i);
    std::map<StringId, std::uint32_t> track_of;
    for (const ProfileOprId id : order) {
        if (samples[id.index()].empty()) continue;
        const ProfileOpr& opr = p.oprs[id.index()];
        CompareItem item;
        item.name = p.text(opr.name);
        item.type = p.text(opr.type);
        item.scope = scope_of_opr_name(item.name);
        item.shape = output_shape_text(p, id);
        item.dtype = output_dtype_text(p, id);
        if (item.dtype.empty() && dtype) item.dtype = dtype(id);
        const auto [at, is_new] = track_of.try_emplace(where[id.index()], static_cast<std::uint32_t>(side.tracks.size()));
        if (is_new) {
            side.tracks.emplace_back(p.text(where[id.index()]));
        }
        item.track = at->second;
        item.source = id.value();
        item.number = opr.number;
        item.keys.push_back(item.name);
        if (!opr.outputs.empty()) item.keys.emplace_back(p.text(p.vars[opr.outputs.front().index()].name));
        item.samples = std::move(samples[id.index()]);
        item.total = item.self = median_of(item.samples);
        side.items.push_back(std::move(item));
    }
    return side;
}

Expected<CompareSide> compare_side(std::string title, std::shared_ptr<const Timeline> trace, const CancelToken& cancel) {
    CompareSide side;
    side.title = std::move(title);
    side.trace = true;
    side.timeline = std::move(trace);
    const Timeline& timeline = *side.timeline;
    std::vector<StringId> plain; // name without its count, by name id; the texts live in `names`
    StringPool names;
    plain.reserve(timeline.strings.size());
    for (std::size_t i = 0; i < timeline.strings.size(); ++i) plain.push_back(names.intern(without_count(timeline.strings[StringId(i)])));

    for (std::uint32_t r = 0; r < timeline.rows.size(); ++r) {
        if (cancel.cancelled()) return CancelToken::error();
        const TimelineRow& row = timeline.rows[r];
        side.tracks.push_back(row.group + " / " + row.title);
        std::unordered_map<std::uint64_t, std::uint32_t> item_of; // (name, category)
        std::vector<double> longest;
        const auto first_item = static_cast<std::uint32_t>(side.items.size());
        std::vector<std::uint32_t> open; // slices that the current one may lie in, outermost first
        std::vector<std::uint32_t> of_slice(row.size(), 0);
        for (std::uint32_t i = 0; i < row.size(); ++i) {
            if (row.instant[i]) continue;
            const StringId category = timeline.trace ? timeline.trace->category[row.source[i]] : StringId();
            const std::uint64_t key = (std::uint64_t{plain[row.name[i].index()].value()} << 32) | category.value();
            const auto [at, is_new] = item_of.try_emplace(key, static_cast<std::uint32_t>(side.items.size()));
            if (is_new) {
                CompareItem item;
                item.name = names[plain[row.name[i].index()]];
                if (timeline.trace) item.type = timeline.trace->strings[category];
                item.track = r;
                item.source = row.source[i];
                item.keys.push_back(item.name);
                side.items.push_back(std::move(item));
                longest.push_back(0);
            }
            of_slice[i] = at->second;
            CompareItem& item = side.items[at->second];
            const double seconds = (row.end[i] - row.start[i]) * 1e-6;
            item.samples.push_back(seconds);
            item.total += seconds;
            item.self += seconds;
            double& most = longest[at->second - first_item];
            if (seconds > most) {
                most = seconds;
                item.source = row.source[i];
            }
            // What lies in another slice is not that one's own time. Overlap without nesting counts as far as it reaches.
            while (!open.empty() && row.end[open.back()] <= row.start[i]) open.pop_back();
            if (!open.empty() && row.kind != TimelineRowKind::async)
                side.items[of_slice[open.back()]].self -= (std::min(row.end[i], row.end[open.back()]) - row.start[i]) * 1e-6;
            open.push_back(i);
        }
    }
    return side;
}

} // namespace megascope
