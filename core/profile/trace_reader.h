#pragma once

#include <memory>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "profile/trace_events.h"

namespace megascope {

struct TraceReadOptions {
    /// Keep only events that touch this range (microseconds); metadata is kept always.
    double from = -std::numeric_limits<double>::infinity();
    double to = std::numeric_limits<double>::infinity();
    /// `from` and `to` count from the earliest event among the first ones of the file, as a timeline does, instead of from the
    /// file's own zero.
    bool from_begin = false;
    /// Bytes parsed at a time.
    std::size_t piece = std::size_t{8} << 20;
};

/// Does this look like a list of Chrome trace events (array or object form)?
[[nodiscard]] bool looks_like_trace(std::span<const std::byte> bytes);

/// Reads Chrome trace events: array form, object form, with a trailing comma or cut off in the middle of the list (what is there
/// is kept, with a warning). gzip files are unpacked first. The text is parsed piece by piece: there is never a document tree.
/// Errors: foreign (not a trace), corrupt (JSON broken inside the list, with the byte offset in the unpacked text), cancelled.
[[nodiscard]] Expected<std::shared_ptr<const TraceEvents>> read_trace(std::shared_ptr<const MappedFile> file, const TraceReadOptions& options = {},
                                                                      const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
