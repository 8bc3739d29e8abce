#include "profile/timeline.h"

#include <algorithm>
#include <map>

#include "profile/timeline_rows.h"

namespace megascope {

std::size_t TimelineRow::first_at(double time) const {
    // Slices are sorted by start. Walk back from the first one that starts behind `time` to the outermost slice that covers it.
    auto at = static_cast<std::size_t>(std::upper_bound(start.begin(), start.end(), time) - start.begin());
    while (at > 0 && depth[at - 1] != 0) --at;
    return at > 0 ? at - 1 : 0;
}

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
    double first = std::numeric_limits<double>::infinity();
    double last = -first;
    std::size_t crossing = 0;
    const auto add = [&](const std::vector<ProfileRecord>& records, TimelineRowKind kind, const char* group, const char* unnamed) {
        std::map<std::string_view, std::vector<TimelineSlice>> by_place;
        for (const ProfileRecord& record : records) {
            const double start = record.span.start * 1e6;
            const double end = record.span.end * 1e6;
            if (!(end >= start)) continue;
            first = std::min(first, start);
            last = std::max(last, end);
            by_place[profile->text(record.where)].push_back(
                {start, end, timeline->strings.intern(profile->text(profile->oprs[record.opr.index()].name)), record.opr.value(), false});
        }
        for (auto& [place, slices] : by_place) {
            TimelineRow row;
            row.title = place.empty() ? unnamed : std::string(place);
            row.group = group;
            row.kind = kind;
            crossing += fill_row(row, slices);
            timeline->rows.push_back(std::move(row));
        }
    };
    add(profile->device, TimelineRowKind::device, "device", "device");
    add(profile->host, TimelineRowKind::thread, "host", "main thread");
    if (last >= first) {
        timeline->begin = first;
        timeline->end = last;
    }
    timeline->warnings = profile->warnings;
    if (crossing) timeline->warnings.push_back(std::to_string(crossing) + " records overlap on their comp node or thread.");
    return timeline;
}

} // namespace megascope
