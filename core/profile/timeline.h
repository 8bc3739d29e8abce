#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/string_pool.h"
#include "profile/graph_profile.h"
#include "profile/trace_events.h"

namespace megascope {

/// What a row of a timeline shows.
enum class TimelineRowKind : std::uint8_t { thread, device, async };

/// One row: slices sorted by (start, longest first), as columns. Nested slices have a greater depth.
struct TimelineRow {
    std::string title;
    std::string group;                 ///< process, or "device" / "host"
    TimelineRowKind kind = TimelineRowKind::thread;
    std::vector<double> start;         ///< microseconds
    std::vector<double> end;           ///< microseconds; equal to start for instants
    std::vector<std::uint16_t> depth;
    std::vector<StringId> name;
    std::vector<std::uint32_t> source; ///< index into the profile's operators, or the trace's events
    std::vector<bool> instant;
    std::uint16_t max_depth = 0;

    [[nodiscard]] std::size_t size() const { return start.size(); }
};

/// A number over time.
struct TimelineCounter {
    std::string title;
    std::vector<double> time;  ///< microseconds, ascending
    std::vector<double> value;
};

/// An arrow between slices.
struct TimelineFlow {
    double from_time = 0;
    double to_time = 0;
    std::uint32_t from_row = 0;
    std::uint32_t to_row = 0;
    StringId name;
};

/// Everything a timeline view needs. Immutable.
struct Timeline {
    StringPool strings;
    std::vector<TimelineRow> rows;
    std::vector<TimelineCounter> counters;
    std::vector<TimelineFlow> flows;
    double begin = 0; ///< microseconds
    double end = 0;
    std::vector<std::string> warnings;
    /// What `TimelineRow::source` indexes; exactly one is set.
    std::shared_ptr<const GraphProfile> profile;
    std::shared_ptr<const TraceEvents> trace;

    [[nodiscard]] std::size_t slices() const;
};

/// Rows per comp node and host thread of a GraphProfiler profile. Each comp node and the host count from an event of their own, so
/// nothing says how their times relate: every row begins at its own first record, and a note says so.
[[nodiscard]] std::shared_ptr<const Timeline> timeline_of(std::shared_ptr<const GraphProfile> profile);

/// Rows per thread of a trace. Begin and end events are paired per thread in time order; what does not pair (an end without a
/// begin, a begin without an end, names that differ, slices that overlap without nesting) is kept, counted and told in `warnings`.
/// Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const Timeline>> timeline_of(std::shared_ptr<const TraceEvents> trace, const CancelToken& cancel = {});

} // namespace megascope
