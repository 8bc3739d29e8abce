#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <simdjson.h>

#include "profile/trace_events.h"
#include "profile/trace_reader.h"

namespace megascope {

/// Turns event objects into columns of a TraceEvents, one after the other. Its calls throw simdjson::simdjson_error on broken JSON;
/// the reader catches it.
class TraceBuilder {
public:
    /// Where the columns stood, to take back a piece that turned out to be cut wrongly.
    struct Mark {
        std::size_t events = 0;
        std::size_t ids = 0;
        std::size_t without_phase = 0, without_time = 0, odd_numbers = 0, outside = 0;
    };

    TraceBuilder(TraceEvents& events, const TraceReadOptions& options) : e_(events), options_(options) {}

    /// `offset`: where the object starts in the whole text.
    void event(simdjson::ondemand::object object, std::uint64_t offset);
    /// Room for this many events in all columns.
    void reserve(std::size_t events);
    [[nodiscard]] Mark mark() const;
    void back_to(const Mark& mark);
    /// Spreads names over tracks and counts what was odd. Called once, at the end.
    void finish();

private:
    double number(simdjson::ondemand::value& value);
    StringId string(simdjson::ondemand::value& value);
    StringId new_string(simdjson::ondemand::value& value);
    void object_id(simdjson::ondemand::value& value);
    void metadata(simdjson::ondemand::value& value);
    TraceTrackId track_of();
    TraceLinkId id_of(std::string_view token);
    void apply_metadata(TraceTrackId id, StringId name);

    TraceEvents& e_;
    const TraceReadOptions& options_;
    std::unordered_map<std::string, TraceTrackId> tracks_;
    std::unordered_map<std::uint32_t, StringId> process_names_, process_labels_;
    std::unordered_map<std::uint32_t, std::int64_t> process_order_;
    /// Tokens as they are written, seen lately: what most events repeat needs no unescaping and no search.
    struct Seen {
        std::string raw;
        StringId id;
    };
    struct SeenId {
        std::string raw;
        TraceLinkId id;
    };
    struct SeenTrack {
        std::string pid, tid;
        TraceTrackId id;
    };
    std::vector<Seen> seen_ = std::vector<Seen>(4096);
    std::vector<SeenId> seen_ids_ = std::vector<SeenId>(256);
    std::vector<SeenTrack> seen_tracks_ = std::vector<SeenTrack>(256);
    std::string_view pid_, tid_; ///< tokens of the event that is being read
    std::string id_, scope_, key_, scratch_, meta_text_;
    double meta_number_ = TraceEvents::no_time;
    Mark odd_; ///< the counters; its first two fields are unused
};

} // namespace megascope
