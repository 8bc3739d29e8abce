#include "profile/timeline_lanes.h"

#include <algorithm>
#include <unordered_map>

namespace megascope {

namespace {

/// First position in `lane` at or behind `from` for which `before` is false; gallops, because the answer is usually near.
template <class T, class Before>
std::size_t gallop(const std::vector<T>& lane, std::size_t from, Before before) {
    std::size_t step = 1;
    std::size_t low = from;
    while (low + step <= lane.size() && before(lane[low + step - 1])) {
        low += step;
        step *= 2;
    }
    const std::size_t high = std::min(lane.size(), low + step);
    return static_cast<std::size_t>(std::partition_point(lane.begin() + static_cast<std::ptrdiff_t>(low), lane.begin() + static_cast<std::ptrdiff_t>(high), before) -
                                    lane.begin());
}

void build_blocks(const TimelineRow& row, TimelineLane& lane) {
    lane.blocks.reserve((lane.slices.size() + TimelineLane::block - 1) / TimelineLane::block);
    for (std::size_t first = 0; first < lane.slices.size(); first += TimelineLane::block) {
        const std::size_t last = std::min(first + TimelineLane::block, lane.slices.size()) - 1;
        std::uint32_t longest = lane.slices[first];
        for (std::size_t i = first + 1; i <= last; ++i) {
            const std::uint32_t s = lane.slices[i];
            if (row.end[s] - row.start[s] > row.end[longest] - row.start[longest]) longest = s;
        }
        lane.blocks.push_back({row.start[lane.slices[first]], row.end[lane.slices[last]], longest, row.name[longest]});
    }
}

/// First slice at or behind `at` that ends after `limit`: whole blocks are stepped over first.
std::size_t first_behind(const TimelineRow& row, const TimelineLane& lane, std::size_t at, double limit) {
    if (const std::size_t first = at / TimelineLane::block; first < lane.blocks.size() && lane.blocks[first].end <= limit)
        at = gallop(lane.blocks, first + 1, [&](const TimelineLane::Block& other) { return other.end <= limit; }) * TimelineLane::block;
    if (at >= lane.slices.size()) return lane.slices.size();
    return gallop(lane.slices, at, [&](std::uint32_t other) { return row.end[other] <= limit; });
}

} // namespace

TimelineLanes build_lanes(const Timeline& timeline) {
    TimelineLanes lanes;
    lanes.rows.reserve(timeline.rows.size());
    for (const TimelineRow& row : timeline.rows) {
        std::vector<std::size_t> sizes(std::size_t{row.max_depth} + 1, 0);
        for (const std::uint16_t depth : row.depth) ++sizes[depth];
        std::vector<TimelineLane> of_row(sizes.size());
        for (std::size_t d = 0; d < sizes.size(); ++d) of_row[d].slices.reserve(sizes[d]);
        for (std::uint32_t i = 0; i < row.size(); ++i) of_row[row.depth[i]].slices.push_back(i);
        for (TimelineLane& lane : of_row) build_blocks(row, lane);
        lanes.rows.push_back(std::move(of_row));
    }
    return lanes;
}

void collect_runs(const TimelineRow& row, const TimelineLane& lane, double begin, double end, double pixel, std::vector<LaneRun>& out) {
    using Block = TimelineLane::Block;
    constexpr std::size_t block = TimelineLane::block;
    constexpr std::size_t fewest = 8; // blocks
    std::size_t at = static_cast<std::size_t>(
        std::partition_point(lane.slices.begin(), lane.slices.end(), [&](std::uint32_t s) { return row.end[s] < begin; }) - lane.slices.begin());
    while (at < lane.slices.size()) {
        if (at % block == 0) {
            // Whole blocks that end within the pixel. With few of them what they leave of the pixel would count: slices are exact there.
            const std::size_t first = at / block;
            const Block& b = lane.blocks[first];
            if (b.start > end) break;
            if (b.end - b.start < pixel) {
                const double limit = b.start + pixel;
                const std::size_t next = gallop(lane.blocks, first + 1, [&](const Block& other) { return other.end <= limit; });
                if (next - first >= fewest) {
                    at = std::min(next * block, lane.slices.size());
                    out.push_back({b.start, lane.blocks[next - 1].end, b.slice, static_cast<std::uint32_t>(at - first * block), b.name});
                    continue;
                }
            }
        }
        const std::uint32_t s = lane.slices[at];
        if (row.start[s] > end) break;
        LaneRun run{row.start[s], row.end[s], s, 1, row.name[s]};
        ++at;
        if (run.end - run.start < pixel) {
            // Everything that ends within this pixel is one run.
            const double limit = run.start + pixel;
            std::size_t next = first_behind(row, lane, at, limit);
            // A crowded pixel is left at the border of a block, so that the next one is made of blocks.
            if (next - at >= fewest * block) next = (at + block - 1) / block * block;
            if (next > at) {
                run.count += static_cast<std::uint32_t>(next - at);
                run.end = row.end[lane.slices[next - 1]];
                at = next;
            }
        }
        out.push_back(run);
    }
}

std::optional<std::uint32_t> slice_at(const TimelineRow& row, const TimelineLane& lane, double time, double slack) {
    auto at = std::partition_point(lane.slices.begin(), lane.slices.end(), [&](std::uint32_t s) { return row.start[s] <= time + slack; });
    std::optional<std::uint32_t> best;
    double best_distance = slack;
    // Slices of a lane do not overlap: the hit is the last that starts before the time, or a neighbour within the slack.
    for (int steps = 0; at != lane.slices.begin() && steps < 4; ++steps) {
        --at;
        const double distance = time < row.start[*at] ? row.start[*at] - time : time > row.end[*at] ? time - row.end[*at] : 0;
        if (distance <= best_distance && (!best || distance < best_distance)) {
            best = *at;
            best_distance = distance;
        }
    }
    return best;
}

std::vector<RangeStatistic> range_statistics(const Timeline& timeline, double begin, double end) {
    std::unordered_map<StringId, RangeStatistic> by_name;
    for (const TimelineRow& row : timeline.rows) {
        const auto first = std::lower_bound(row.start.begin(), row.start.end(), begin) - row.start.begin();
        for (auto i = static_cast<std::size_t>(first); i < row.size() && row.start[i] < end; ++i) {
            if (row.instant[i]) continue;
            RangeStatistic& statistic = by_name[row.name[i]];
            statistic.name = row.name[i];
            ++statistic.count;
            statistic.total += std::min(row.end[i], end) - row.start[i];
            statistic.longest = std::max(statistic.longest, row.end[i] - row.start[i]);
        }
    }
    std::vector<RangeStatistic> list;
    list.reserve(by_name.size());
    for (const auto& [name, statistic] : by_name) list.push_back(statistic);
    std::sort(list.begin(), list.end(), [](const RangeStatistic& a, const RangeStatistic& b) {
        return a.total != b.total ? a.total > b.total : a.name < b.name;
    });
    return list;
}

} // namespace megascope
