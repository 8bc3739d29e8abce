#include "profile/trace_events.h"

#include "profile/json_scan.h"

namespace megascope {

std::map<char, std::size_t> TraceEvents::count_by_phase() const {
    std::map<char, std::size_t> counts;
    for (const char p : phase) ++counts[p];
    return counts;
}

std::string_view TraceEvents::event_text(TraceEventId event) const {
    const auto bytes = text->bytes();
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t begin = offset[event.index()];
    const std::size_t end = end_of_object(all, begin);
    return all.substr(begin, end == std::string_view::npos ? 0 : end - begin);
}

std::optional<TraceEventId> TraceEvents::end_of(TraceEventId begin, double time) const {
    if (phase[begin.index()] != 'B') return std::nullopt;
    const auto closes = [&](std::size_t i) {
        if (phase[i] != 'E' || this->time[i] != time || track[i] != track[begin.index()]) return false;
        return name[i] == name[begin.index()] || !name[i].valid() || strings[name[i]].empty();
    };
    // Mostly it follows soon; of equal times it may stand in front.
    for (std::size_t i = begin.index() + 1; i < size(); ++i)
        if (closes(i)) return TraceEventId(i);
    for (std::size_t i = begin.index(); i-- > 0;)
        if (closes(i)) return TraceEventId(i);
    return std::nullopt;
}

std::string TraceEvents::track_title(TraceTrackId id) const {
    const TraceTrack& t = tracks[id.index()];
    const auto part = [&](StringId name, StringId number, const char* what) {
        if (name.valid() && !strings[name].empty()) return std::string(strings[name]);
        return strings[number].empty() ? "no " + std::string(what) : std::string(what) + " " + std::string(strings[number]);
    };
    const std::string labels = t.process_labels.valid() && !strings[t.process_labels].empty() ? " " + std::string(strings[t.process_labels]) : std::string();
    return part(t.process_name, t.pid, "process") + labels + " / " + part(t.thread_name, t.tid, "thread");
}

std::size_t TraceEvents::memory() const {
    const std::size_t per_event = sizeof(double) * 2 + sizeof(StringId) * 2 + sizeof(TraceTrackId) + sizeof(char) + sizeof(std::uint64_t);
    return phase.capacity() * per_event + with_id.capacity() * (sizeof(TraceEventId) + sizeof(TraceLinkId)) + ids.memory();
}

} // namespace megascope
