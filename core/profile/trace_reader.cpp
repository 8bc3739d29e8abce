#include "profile/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <simdjson.h>

#include "profile/gunzip.h"
#include "profile/json_scan.h"
#include "profile/trace_builder.h"

namespace megascope {

namespace {

namespace od = simdjson::ondemand;

/// Where the list of events starts: behind '[' of the array form or of "traceEvents".
struct ListStart {
    std::size_t begin = 0;
    bool object_form = false;
};
std::optional<ListStart> find_list(std::string_view text) {
    const std::size_t first = skip_space(text, text.starts_with("\xef\xbb\xbf") ? 3 : 0);
    if (first >= text.size()) return std::nullopt;
    if (text[first] == '[') {
        const std::size_t next = skip_space(text, first + 1);
        if (next < text.size() && text[next] != '{' && text[next] != ']') return std::nullopt;
        return ListStart{first + 1, false};
    }
    if (text[first] != '{') return std::nullopt;
    // Walk the top-level members: values before the list are skipped as a whole.
    std::size_t at = first + 1;
    while (true) {
        at = skip_space(text, at);
        if (at < text.size() && text[at] == ',') at = skip_space(text, at + 1);
        if (at >= text.size() || text[at] != '"') return std::nullopt;
        const std::size_t key_begin = at + 1;
        std::size_t key_end = key_begin;
        while (key_end < text.size() && text[key_end] != '"') key_end += text[key_end] == '\\' ? 2 : 1;
        if (key_end >= text.size()) return std::nullopt;
        const std::string_view key = text.substr(key_begin, key_end - key_begin);
        at = skip_space(text, key_end + 1);
        if (at >= text.size() || text[at] != ':') return std::nullopt;
        at = skip_space(text, at + 1);
        if (at >= text.size()) return std::nullopt;
        if (key == "traceEvents") return text[at] == '[' ? std::optional(ListStart{at + 1, true}) : std::nullopt;
        if (text[at] == '{' || text[at] == '[') {
            at = end_of_object(text, at);
            if (at == std::string_view::npos) return std::nullopt;
        } else if (text[at] == '"') {
            for (++at; at < text.size() && text[at] != '"'; ++at)
                if (text[at] == '\\') ++at;
            ++at;
        } else {
            while (at < text.size() && text[at] != ',' && text[at] != '}') ++at;
        }
    }
}

/// The end of the last whole event within `size` bytes, at least of the first one; npos when not even that is complete.
std::size_t exact_cut(std::string_view text, std::size_t begin, std::size_t size) {
    std::size_t cut = end_of_object(text, begin);
    while (cut != std::string_view::npos && cut - begin < size) {
        const std::size_t comma = skip_space(text, cut);
        if (comma >= text.size() || text[comma] != ',') break;
        const std::size_t next = skip_space(text, comma + 1);
        if (next >= text.size() || text[next] != '{') break;
        const std::size_t end = end_of_object(text, next);
        if (end == std::string_view::npos) break;
        cut = end;
    }
    return cut;
}

/// Parses the events in text[begin, end). `piece` is scratch memory.
std::optional<Error> parse_piece(od::parser& parser, std::string& piece, std::string_view text, std::size_t begin, std::size_t end,
                                 TraceBuilder& builder) {
    piece.reserve(end - begin + 2 + simdjson::SIMDJSON_PADDING);
    piece.assign(1, '[').append(text.substr(begin, end - begin)).append(1, ']');
    const char* last = piece.data() + 1;
    const auto broken = [&](const char* reason) {
        return Error{ErrorCode::corrupt, std::string("The list of trace events is broken: ") + reason + ".",
                     begin + static_cast<std::size_t>(last - piece.data()) - 1, {}};
    };
    try { // on-demand values convert with exceptions; they end here
        od::document document;
        if (const auto error = parser.iterate(simdjson::padded_string_view(piece.data(), piece.size(), piece.capacity())).get(document))
            return broken(simdjson::error_message(error));
        for (od::value value : document.get_array()) {
            last = std::string_view(value.raw_json_token()).data();
            builder.event(value.get_object(), begin + static_cast<std::size_t>(last - piece.data()) - 1);
        }
    } catch (const simdjson::simdjson_error& error) {
        return broken(error.what());
    }
    return std::nullopt;
}

/// The earliest time stamp in the first megabyte of a trace; 0 when there is none.
double first_time(std::string_view text) {
    constexpr std::size_t looked_at = std::size_t{1} << 20;
    const auto head = std::as_bytes(std::span(text.substr(0, looked_at))); // cut off somewhere: what is complete is read
    const auto events = read_trace(MappedFile::from_bytes({}, head));
    double first = std::numeric_limits<double>::infinity();
    if (events)
        for (std::size_t i = 0; i < (*events)->size(); ++i)
            if ((*events)->phase[i] != 'M' && (*events)->time[i] < first) first = (*events)->time[i];
    return std::isfinite(first) ? first : 0;
}

} // namespace

bool looks_like_trace(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto start = find_list(text);
    if (!start) return false;
    const std::size_t next = skip_space(text, start->begin);
    if (start->object_form) return true;
    const std::string_view head = text.substr(next, 4096);
    return head.find("\"ph\"") != std::string_view::npos;
}

Expected<std::shared_ptr<const TraceEvents>> read_trace(std::shared_ptr<const MappedFile> file, const TraceReadOptions& options,
                                                        const CancelToken& cancel, const Progress& progress) {
    if (is_gzip(file->bytes())) {
        MGS_ASSIGN(file, gunzip(*file, cancel));
    }
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    const auto start = find_list(text);
    if (!start) return fail(ErrorCode::foreign, "This is not a list of trace events: there is neither an array of objects nor a \"traceEvents\" array.");

    TraceReadOptions range = options;
    if (options.from_begin) {
        const double begin = first_time(text);
        range.from += begin;
        range.to += begin;
    }
    auto events = std::make_shared<TraceEvents>();
    events->text = file;
    events->object_form = start->object_form;
    TraceBuilder builder(*events, range);
    od::parser parser;
    std::string piece;
    // What fits the second-level cache is parsed faster than one large piece; its index is as small.
    const std::size_t piece_bytes = std::min(options.piece, std::size_t{512} << 10);

    std::size_t at = skip_space(text, start->begin);
    bool closed = false;
    while (at < text.size()) {
        if (cancel.cancelled()) return CancelToken::error();
        progress.report("reading events", at, text.size());
        if (text[at] == ',') {
            at = skip_space(text, at + 1);
            continue;
        }
        if (text[at] == ']') {
            closed = true;
            break;
        }
        if (text[at] != '{')
            return fail_at(ErrorCode::corrupt, "The list of trace events holds something that is not an object.", at);

        // The piece ends at a probable boundary. If that lies inside an event after all (a list in its arguments, a text),
        // parsing says so, and the piece is cut again, event by event.
        std::size_t cut = at + piece_bytes < text.size() ? probable_cut(text, at, at + piece_bytes) : std::string_view::npos;
        bool exact = cut == std::string_view::npos || cut <= at;
        if (exact) cut = exact_cut(text, at, piece_bytes);
        if (cut == std::string_view::npos) break; // the file ends inside an event
        const TraceBuilder::Mark mark = builder.mark();
        std::optional<Error> error = parse_piece(parser, piece, text, at, cut, builder);
        if (error && !exact) {
            builder.back_to(mark);
            cut = exact_cut(text, at, piece_bytes);
            if (cut == std::string_view::npos) break;
            error = parse_piece(parser, piece, text, at, cut, builder);
        }
        if (error) return forward(std::move(*error));
        // The first piece tells how many events to expect: columns that do not grow are never copied.
        if (mark.events == 0 && builder.mark().events != 0) builder.reserve(builder.mark().events * (text.size() / (cut - at) + 1));
        at = skip_space(text, cut);
    }
    if (!closed) events->warnings.emplace_back("The file ends inside the list of events; what was complete is shown.");
    events->complete = closed;
    builder.finish();
    return std::shared_ptr<const TraceEvents>(std::move(events));
}

} // namespace megascope
