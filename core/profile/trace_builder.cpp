#include "profile/trace_builder.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

namespace megascope {

namespace {

namespace od = simdjson::ondemand;

/// Phases whose events carry an id that ties them together: flows, async (also the legacy ones), objects, contexts.
bool has_id(char phase) { return phase != 0 && std::string_view("stfbneSTpFNODv()").find(phase) != std::string_view::npos; }

/// A string, or a number as it is written.
void text_of(od::value& value, std::string& out) {
    std::string_view text;
    if (value.type() == od::json_type::string) {
        if (!value.get_string().get(text)) out.assign(text);
        return;
    }
    out.assign(std::string_view(value.raw_json_token()));
    while (!out.empty() && (out.back() == ' ' || out.back() == '\n' || out.back() == '\r' || out.back() == '\t')) out.pop_back();
}

/// The key as written: the format's own keys have no escapes, and others only have to differ from them.
std::string_view raw_key(simdjson::simdjson_result<od::field>& field) {
    const char* begin = od::raw_json_string(field.key()).raw();
    const char* end = begin;
    // The format's own keys fit eight bytes (simdjson pads its input, so they can be read): the quote is found without a loop, whose
    // end would be guessed wrongly at nearly every key.
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, begin, sizeof bytes);
    const auto equal_to = [bytes](std::uint64_t repeated) { // the lowest set bit is that of the first equal byte
        const std::uint64_t differs = bytes ^ repeated;
        return (differs - 0x0101010101010101ULL) & ~differs & 0x8080808080808080ULL;
    };
    if constexpr (std::endian::native == std::endian::little) {
        const std::uint64_t quotes = equal_to(0x2222222222222222ULL);
        if (quotes != 0 && equal_to(0x5c5c5c5c5c5c5c5cULL) == 0) return {begin, static_cast<std::size_t>(std::countr_zero(quotes)) / 8};
    }
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return {begin, static_cast<std::size_t>(end - begin)};
}

/// Length and both ends of a token: enough to tell most names apart, and cheap.
std::size_t token_hash(std::string_view token) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const std::size_t n = std::min<std::size_t>(token.size(), 8);
    if (n == 0) return 0;
    std::memcpy(&first, token.data(), n);
    std::memcpy(&last, token.data() + token.size() - n, n);
    std::uint64_t mixed = (first ^ (last << 7U | last >> 57U)) + token.size() * 0x9e3779b97f4a7c15ULL;
    mixed ^= mixed >> 29U;
    mixed *= 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::size_t>(mixed >> 20U);
}

/// The text of a token as written: a string's content, or a number as it stands. Empty for a missing one.
std::string text_of_token(std::string_view token) {
    while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) token.remove_suffix(1);
    if (token.size() < 2 || token.front() != '"') return std::string(token);
    if (token.find('\\') == std::string_view::npos) return std::string(token.substr(1, token.size() - 2));
    const auto json = nlohmann::json::parse(token, nullptr, false);
    return json.is_string() ? json.get<std::string>() : std::string(token);
}

} // namespace

void TraceBuilder::event(od::object object, std::uint64_t offset) {
    double time = TraceEvents::no_time;
    double duration = TraceEvents::no_time;
    char phase = 0;
    StringId name, category;
    std::string_view id_token;
    pid_ = tid_ = {};
    id_.clear();
    scope_.clear();
    meta_text_.clear();
    meta_number_ = TraceEvents::no_time;
    for (auto field : object) {
        const std::string_view key = raw_key(field);
        od::value value = field.value();
        switch (key.size()) {
        case 2:
            if (key == "ph") {
                std::string_view text;
                if (!value.get_string().get(text) && !text.empty()) phase = text[0];
            } else if (key == "ts") {
                time = number(value);
            } else if (key == "id") {
                id_token = value.raw_json_token();
            }
            break;
        case 3:
            if (key == "dur") duration = number(value);
            else if (key == "cat") category = string(value);
            else if (key == "pid") pid_ = value.raw_json_token();
            else if (key == "tid") tid_ = value.raw_json_token();
            else if (key == "id2") object_id(value);
            break;
        case 4:
            if (key == "name") name = string(value);
            else if (key == "args" && (phase == 'M' || phase == 0)) metadata(value);
            break;
        case 5:
            if (key == "scope") text_of(value, scope_);
            break;
        default: break;
        }
    }
    if (std::isfinite(time) && phase != 'M') {
        const double end = std::isfinite(duration) ? time + duration : time;
        if (end < options_.from || time > options_.to) {
            ++odd_.outside;
            return;
        }
    }
    const TraceTrackId track = track_of();
    if (phase == 'M') apply_metadata(track, name);
    if (phase == 0) ++odd_.without_phase;
    if (std::isnan(time) && phase != 'M') ++odd_.without_time;
    if (has_id(phase) && (!id_token.empty() || !id_.empty())) {
        e_.with_id.emplace_back(e_.phase.size());
        e_.id_of.push_back(id_of(id_token));
    }
    e_.time.push_back(time);
    e_.duration.push_back(duration);
    e_.name.push_back(name);
    e_.category.push_back(category);
    e_.track.push_back(track);
    e_.phase.push_back(phase);
    e_.offset.push_back(offset);
}

/// The event's id: what "id2" told, or the token of "id", and the scope.
TraceLinkId TraceBuilder::id_of(std::string_view token) {
    const bool plain = id_.empty() && scope_.empty();
    SeenId& seen = seen_ids_[token_hash(token) % seen_ids_.size()];
    if (plain && seen.raw == token) return seen.id;
    if (id_.empty()) id_ = text_of_token(token);
    if (!scope_.empty()) id_ += "@" + scope_;
    const TraceLinkId id = e_.ids.intern(id_);
    if (plain) {
        seen.raw = token;
        seen.id = id;
    }
    return id;
}

double TraceBuilder::number(od::value& value) {
    double n = 0;
    if (value.type() == od::json_type::number) {
        if (!value.get_double().get(n)) return n;
    } else if (std::string_view text; !value.get_string().get(text)) {
        // Some writers quote their numbers.
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (error == std::errc() && end == text.data() + text.size()) return n;
    }
    ++odd_.odd_numbers;
    return TraceEvents::no_time;
}

StringId TraceBuilder::string(od::value& value) {
    // A few hundred names fill a trace: mostly the token as written was seen before.
    const std::string_view raw = value.raw_json_token();
    if (raw.empty() || raw.front() == '[' || raw.front() == '{') return new_string(value); // the token is only its bracket
    Seen& seen = seen_[token_hash(raw) % seen_.size()];
    if (seen.raw == raw) return seen.id;
    const StringId id = new_string(value);
    seen.raw = raw;
    seen.id = id;
    return id;
}

StringId TraceBuilder::new_string(od::value& value) {
    std::string_view text;
    if (value.type() == od::json_type::string && !value.get_string().get(text)) return e_.strings.intern(text);
    text_of(value, scratch_);
    return e_.strings.intern(scratch_);
}

void TraceBuilder::object_id(od::value& value) {
    od::object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
        od::value part = field.value();
        text_of(part, id_);
    }
}

/// The argument names that metadata events use; remembered until the event's name is known.
void TraceBuilder::metadata(od::value& value) {
    od::object object;
    if (value.type() != od::json_type::object || value.get_object().get(object)) return;
    for (auto field : object) {
        const std::string_view key = raw_key(field);
        od::value part = field.value();
        if (key == "name" || key == "labels") text_of(part, meta_text_);
        else if (key == "sort_index" && part.type() == od::json_type::number) {
            double n = 0;
            if (!part.get_double().get(n)) meta_number_ = n;
        }
    }
}

TraceTrackId TraceBuilder::track_of() {
    SeenTrack& seen = seen_tracks_[(token_hash(tid_) * 31 + token_hash(pid_)) % seen_tracks_.size()];
    if (seen.id.valid() && seen.tid == tid_ && seen.pid == pid_) return seen.id;
    const std::string pid = text_of_token(pid_);
    const std::string tid = text_of_token(tid_);
    key_.assign(pid).append(1, '\0').append(tid);
    const auto [at, is_new] = tracks_.try_emplace(key_, TraceTrackId(e_.tracks.size()));
    if (is_new) {
        TraceTrack track;
        track.pid = e_.strings.intern(pid);
        track.tid = e_.strings.intern(tid);
        e_.tracks.push_back(track);
    }
    seen.pid = pid_;
    seen.tid = tid_;
    seen.id = at->second;
    return at->second;
}

void TraceBuilder::apply_metadata(TraceTrackId id, StringId name) {
    TraceTrack& track = e_.tracks[id.index()];
    const std::string_view kind = e_.strings[name];
    if (kind == "thread_name") track.thread_name = e_.strings.intern(meta_text_);
    else if (kind == "process_name") process_names_[track.pid.value()] = e_.strings.intern(meta_text_);
    else if (kind == "process_labels") process_labels_[track.pid.value()] = e_.strings.intern(meta_text_);
    else if (kind == "thread_sort_index" && std::isfinite(meta_number_)) track.sort_index = static_cast<std::int64_t>(meta_number_);
    else if (kind == "process_sort_index" && std::isfinite(meta_number_)) process_order_[track.pid.value()] = static_cast<std::int64_t>(meta_number_);
}

void TraceBuilder::reserve(std::size_t events) {
    e_.time.reserve(events);
    e_.duration.reserve(events);
    e_.name.reserve(events);
    e_.category.reserve(events);
    e_.track.reserve(events);
    e_.phase.reserve(events);
    e_.offset.reserve(events);
}

TraceBuilder::Mark TraceBuilder::mark() const {
    Mark mark = odd_;
    mark.events = e_.phase.size();
    mark.ids = e_.with_id.size();
    return mark;
}

void TraceBuilder::back_to(const Mark& mark) {
    e_.time.resize(mark.events);
    e_.duration.resize(mark.events);
    e_.name.resize(mark.events);
    e_.category.resize(mark.events);
    e_.track.resize(mark.events);
    e_.phase.resize(mark.events);
    e_.offset.resize(mark.events);
    e_.with_id.resize(mark.ids);
    e_.id_of.resize(mark.ids);
    odd_ = mark;
}

void TraceBuilder::finish() {
    const auto warn = [&](std::size_t count, const char* what) {
        if (count) e_.warnings.push_back(std::to_string(count) + " " + what);
    };
    warn(odd_.without_phase, "events have no phase.");
    warn(odd_.without_time, "events have no time stamp.");
    warn(odd_.odd_numbers, "numbers are written in a way that is not a number.");
    warn(odd_.outside, "events lie outside the chosen time range and were left out.");
    // Names that came late or only once per process reach all its tracks.
    for (TraceTrack& track : e_.tracks) {
        if (const auto at = process_names_.find(track.pid.value()); at != process_names_.end()) track.process_name = at->second;
        if (const auto at = process_labels_.find(track.pid.value()); at != process_labels_.end()) track.process_labels = at->second;
        if (const auto at = process_order_.find(track.pid.value()); at != process_order_.end()) track.process_sort_index = at->second;
    }
}

} // namespace megascope
