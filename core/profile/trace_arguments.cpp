#include "profile/trace_arguments.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace megascope {

namespace {

using Json = nlohmann::ordered_json;
constexpr int deepest = 32;

/// Not in the middle of a character.
std::string cut(std::string text, std::size_t longest) {
    if (text.size() <= longest) return text;
    while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
    return text.substr(0, longest) + "…";
}

std::string line_of(const std::string& key, const Json& value, std::size_t longest) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::ranges::replace(text, '\n', ' ');
    return key + ": " + cut(std::move(text), longest);
}

} // namespace

std::vector<std::string> event_lines(std::string_view event, std::size_t most, std::size_t longest) {
    // Nested deeper than any arguments: writing it out again would recurse.
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= deepest; };
    const Json json = Json::parse(event, shallow, false);
    if (!json.is_object()) return {cut(std::string(event), 3 * longest)};
    std::vector<std::string> lines;
    for (const char* key : {"cat", "id"})
        if (const auto at = json.find(key); at != json.end()) lines.push_back(line_of(key, *at, longest));
    const auto args = json.find("args");
    if (args == json.end() || !args->is_object()) return lines;
    for (const auto& [key, value] : args->items()) {
        if (lines.size() == most) {
            lines.emplace_back("…");
            break;
        }
        lines.push_back(line_of(key, value, longest));
    }
    return lines;
}

std::vector<std::string> event_lines(const TraceEvents& trace, TraceEventId event, double end) {
    std::vector<std::string> lines = event_lines(trace.event_text(event));
    const auto closing = trace.end_of(event, end);
    if (!closing) return lines;
    for (std::string& line : event_lines(trace.event_text(*closing)))
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    return lines;
}

} // namespace megascope
