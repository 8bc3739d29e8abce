#include "profile/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "profile/timeline_rows.h"

namespace megascope {

namespace {

/// `CompNode("cpu0:0" from "xpux:0")` → `cpu0:0`; other texts as they are.
std::string_view physical(std::string_view place) {
    constexpr std::string_view prefix = "CompNode(\"";
    if (!place.starts_with(prefix)) return place;
    place.remove_prefix(prefix.size());
    return place.substr(0, place.find('"'));
}

/// Bytes of the memory chunks in use over time: a chunk from the start of the operator that first writes one of its vars to the end of
/// the last one that reads one. What no operator of the sequence writes (constants) is there from the begin, what none reads
/// (outputs) to the end. `spans`: microseconds by operator on the only comp node; NaN start = none.
TimelineCounter memory_in_use(const GraphProfile& p, const std::vector<std::pair<double, double>>& spans, double end) {
    std::vector<double> last_read(p.vars.size(), -1);
    for (std::size_t i = 0; i < p.oprs.size(); ++i)
        if (!std::isnan(spans[i].first))
            for (const ProfileVarId in : p.oprs[i].inputs) last_read[in.index()] = std::max(last_read[in.index()], spans[i].second);
    std::map<StringId, std::pair<double, double>> life;
    for (std::size_t v = 0; v < p.vars.size(); ++v) {
        const ProfileVar& var = p.vars[v];
        if (!var.mem_plan) continue;
        const bool computed = var.producer.valid() && !std::isnan(spans[var.producer.index()].first);
        const double from = computed ? spans[var.producer.index()].first : 0;
        const double to = last_read[v] < 0 ? end : std::max(last_read[v], from);
        const auto [at, is_new] = life.try_emplace(var.mem_plan->chunk, from, to);
        if (!is_new) at->second = {std::min(at->second.first, from), std::max(at->second.second, to)};
    }
    std::map<double, double> steps;
    for (const ProfileMemChunk& chunk : p.chunks) {
        const auto at = life.find(chunk.id);
        if (at == life.end()) continue;
        steps[at->second.first] += static_cast<double>(chunk.size);
        steps[at->second.second] -= static_cast<double>(chunk.size);
    }
    TimelineCounter counter;
    counter.title = "memory chunks in use (bytes)";
    double bytes = 0;
    for (const auto& [time, step] : steps) {
        bytes += step;
        counter.time.push_back(time);
        counter.value.push_back(bytes);
    }
    return counter;
}

} // namespace

std::size_t Timeline::slices() const {
    std::size_t n = 0;
    for (const TimelineRow& row : rows) n += row.size();
    return n;
}

std::size_t fill_row(TimelineRow& row, std::vector<TimelineSlice>& slices) {
    const auto before = [](const TimelineSlice& a, const TimelineSlice& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; };
    // A sort takes half as much memory again; slices of a trace without begin and end events are in order.
    if (!std::is_sorted(slices.begin(), slices.end(), before)) std::stable_sort(slices.begin(), slices.end(), before);
    std::size_t crossing = 0;
    std::vector<double> open; // ends of the slices that the current one lies in
    const std::size_t n = slices.size();
    row.start.reserve(n);
    row.end.reserve(n);
    row.depth.reserve(n);
    row.name.reserve(n);
    row.source.reserve(n);
    row.instant.reserve(n);
    for (const TimelineSlice& slice : slices) {
        while (!open.empty() && open.back() <= slice.start && !(slice.instant && open.back() == slice.start)) open.pop_back();
        if (!open.empty() && slice.end > open.back()) ++crossing;
        const auto depth = static_cast<std::uint16_t>(std::min<std::size_t>(open.size(), 0xffff));
        row.start.push_back(slice.start);
        row.end.push_back(slice.end);
        row.depth.push_back(depth);
        row.name.push_back(slice.name);
        row.source.push_back(slice.source);
        row.instant.push_back(slice.instant);
        row.max_depth = std::max(row.max_depth, depth);
        // The stack stays sorted, so that popping by the back is right even for a slice that reaches beyond its parent.
        if (!slice.instant) open.push_back(open.empty() ? slice.end : std::min(slice.end, open.back()));
    }
    return crossing;
}

std::shared_ptr<const Timeline> timeline_of(std::shared_ptr<const GraphProfile> profile) {
    auto timeline = std::make_shared<Timeline>();
    timeline->profile = profile;
    double last = 0;
    std::size_t crossing = 0;
    const auto add = [&](const std::vector<ProfileRecord>& records, TimelineRowKind kind, const char* group, const char* unnamed) {
        std::map<std::string_view, std::vector<TimelineSlice>> by_place;
        for (const ProfileRecord& record : records) {
            const double start = record.span.start * 1e6;
            const double end = record.span.end * 1e6;
            if (!(end >= start)) continue;
            by_place[profile->text(record.where)].push_back(
                {start, end, timeline->strings.intern(profile->text(profile->oprs[record.opr.index()].name)), record.opr.value(), false});
        }
        for (auto& [place, slices] : by_place) {
            double origin = std::numeric_limits<double>::infinity();
            for (const TimelineSlice& slice : slices) origin = std::min(origin, slice.start);
            for (TimelineSlice& slice : slices) {
                slice.start -= origin;
                slice.end -= origin;
                last = std::max(last, slice.end);
            }
            TimelineRow row;
            row.title = place.empty() ? unnamed : std::string(physical(place));
            row.group = group;
            row.kind = kind;
            crossing += fill_row(row, slices);
            timeline->rows.push_back(std::move(row));
        }
    };
    add(profile->device, TimelineRowKind::device, "device", "device");
    add(profile->host, TimelineRowKind::thread, "host", "main thread");
    timeline->end = last;
    // With several comp nodes nothing says how their clocks relate.
    const auto devices = std::ranges::count(timeline->rows, TimelineRowKind::device, &TimelineRow::kind);
    if (devices == 1 && !profile->chunks.empty()) {
        std::vector<std::pair<double, double>> spans(profile->oprs.size(), {std::numeric_limits<double>::quiet_NaN(), 0});
        const TimelineRow& row = timeline->rows.front();
        for (std::size_t i = 0; i < row.size(); ++i) spans[row.source[i]] = {row.start[i], row.end[i]};
        TimelineCounter memory = memory_in_use(*profile, spans, last);
        if (!memory.time.empty()) timeline->counters.push_back(std::move(memory));
    }
    timeline->warnings = profile->warnings;
    if (timeline->rows.size() > 1)
        timeline->warnings.emplace_back("Device and host clocks have different origins: each row of the timeline starts at its own first record.");
    if (crossing) timeline->warnings.push_back(std::to_string(crossing) + " records overlap on their comp node or thread.");
    return timeline;
}

} // namespace megascope
