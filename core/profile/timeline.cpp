#include "profile/timeline.h"

#include <algorithm>
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

} // namespace

std::size_t Timeline::slices() const {
    std::size_t n = 0;
    for (const TimelineRow& row : rows) n += row.size();
    return n;
}

std::size_t fill_row(TimelineRow& row, std::vector<TimelineSlice>& slices) {
    std::stable_sort(slices.begin(), slices.end(), [](const TimelineSlice& a, const TimelineSlice& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
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
    timeline->warnings = profile->warnings;
    if (timeline->rows.size() > 1)
        timeline->warnings.push_back("Device and host clocks have different origins: each row of the timeline starts at its own first record.");
    if (crossing) timeline->warnings.push_back(std::to_string(crossing) + " records overlap on their comp node or thread.");
    return timeline;
}

} // namespace megascope
