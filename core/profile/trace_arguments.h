#pragma once

#include <string>
#include <vector>

#include "profile/trace_events.h"

namespace megascope {

/// What an event of a trace says beside its name and times, a line each: "cat: Kernel", "id: 7", then its arguments, "shape: [1,3]".
/// Integers are exact; values longer than `longest` characters and lines beyond `most` end in "…". Text that is no JSON object (a trace
/// that is cut off) is one line.
[[nodiscard]] std::vector<std::string> event_lines(std::string_view event, std::size_t most = 40, std::size_t longest = 200);

/// The lines of an event, and behind them those that only its end event has: MegEngine's Profiler puts arguments there.
/// `end`: when the event's slice ends (microseconds).
[[nodiscard]] std::vector<std::string> event_lines(const TraceEvents& trace, TraceEventId event, double end);

} // namespace megascope
