#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/mapped_file.h"
#include "base/string_pool.h"
#include "profile/trace_ids.h"

namespace megascope {

struct TraceTrackTag;
struct TraceEventTag;
using TraceTrackId = Id<TraceTrackTag>;
using TraceEventId = Id<TraceEventTag>;

/// One row of a trace: a thread of a process, as the file numbers them (numbers or texts).
struct TraceTrack {
    StringId pid;
    StringId tid;
    StringId process_name; ///< from an `M` event; invalid when the file gives none
    StringId process_labels; ///< "GPU 3"; invalid when the file gives none
    StringId thread_name;
    std::int64_t sort_index = 0;         ///< thread_sort_index
    std::int64_t process_sort_index = 0; ///< process_sort_index
};

/// Chrome trace events as columns: one entry per event of the file, in file order. Nothing is dropped; what has no meaning
/// is counted in `warnings`. Arguments stay in the text: `event_text` gives an event's own JSON.
struct TraceEvents {
    static constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

    StringPool strings;
    std::vector<TraceTrack> tracks;

    std::vector<double> time;          ///< microseconds; NaN when the event has none
    std::vector<double> duration;      ///< microseconds; NaN when the event has none
    std::vector<StringId> name;
    std::vector<StringId> category;
    std::vector<TraceTrackId> track;
    std::vector<char> phase;           ///< 'X', 'B', 'E', 'i', 'C', 'M', 's', …; 0 when the event has none
    std::vector<std::uint64_t> offset; ///< where the event's object starts in `text`
    /// Flow and async events (s t f, b n e, S T p F, N O D): their id, with scope; parallel to `id_of`.
    std::vector<TraceEventId> with_id;
    std::vector<TraceLinkId> id_of;
    TraceIds ids; ///< the texts of `id_of`

    std::shared_ptr<const MappedFile> text; ///< the JSON (unpacked when the file was compressed)
    bool object_form = false;               ///< {"traceEvents": […]}, otherwise a bare array
    bool complete = true;                   ///< false: the file ends inside the list of events
    std::vector<std::string> warnings;

    [[nodiscard]] std::size_t size() const { return phase.size(); }
    [[nodiscard]] std::map<char, std::size_t> count_by_phase() const;
    /// The event's JSON object as written.
    [[nodiscard]] std::string_view event_text(TraceEventId event) const;
    /// The end ('E') event that closes a begin ('B') event at `time`: on its track, with its name or none. MegEngine's Profiler puts the
    /// arguments there. Nothing when the event is no begin or the trace has no such end. Looks through the columns.
    [[nodiscard]] std::optional<TraceEventId> end_of(TraceEventId begin, double time) const;
    /// "process / thread", with names and labels where the file gives them.
    [[nodiscard]] std::string track_title(TraceTrackId track) const;
    /// Bytes that the columns take.
    [[nodiscard]] std::size_t memory() const;
};

} // namespace megascope
