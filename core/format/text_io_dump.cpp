#include <charconv>

#include "format/io_dump.h"

namespace megascope {

namespace {

/// Takes `prefix` off the front.
bool skip(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// "{2(3072),3(1024) Float32}": size(stride) per axis, then the dtype.
void parse_layout(TextIoDump::Record& record) {
    std::string_view text = record.layout;
    if (!skip(text, "{")) return;
    Shape shape;
    while (true) {
        const auto size = take_number<std::int64_t>(text);
        if (!size || !skip(text, "(") || shape.ndim() == Shape::max_ndim) return;
        shape.push_back(*size);
        const auto close = text.find(')');
        if (close == std::string_view::npos) return;
        text.remove_prefix(close + 1);
        if (!skip(text, ",")) break;
    }
    if (!skip(text, " ") || !text.ends_with('}')) return;
    record.shape = shape;
    record.dtype = text.substr(0, text.size() - 1);
}

/// "<name>{<type>} opr<id>"
bool parse_owner(std::string_view text, TextIoDump::Record& record) {
    const auto at = text.rfind("} opr");
    if (at == std::string_view::npos) return false;
    std::string_view id = text.substr(at + 5);
    const auto number = take_number<std::uint32_t>(id);
    const auto brace = text.rfind('{', at);
    if (!number || brace == std::string_view::npos) return false;
    record.owner = text.substr(0, brace);
    record.owner_type = text.substr(brace + 1, at - brace - 1);
    record.opr = *number;
    return true;
}

/// "var<id> produced: name=<name> layout=<layout> owner_opr=<name>{<type>} opr<id>"
std::optional<TextIoDump::Record> parse_head(std::string_view line) {
    TextIoDump::Record record;
    if (!skip(line, "var")) return std::nullopt;
    const auto id = take_number<std::uint32_t>(line);
    if (!id || !skip(line, " produced: name=")) return std::nullopt;
    const auto owner = line.rfind(" owner_opr=");
    if (owner == std::string_view::npos) return std::nullopt;
    const auto layout = line.rfind(" layout=", owner);
    if (layout == std::string_view::npos || !parse_owner(line.substr(owner + 11), record)) return std::nullopt;
    record.var = *id;
    record.name = line.substr(0, layout);
    record.layout = line.substr(layout + 8, owner - layout - 8);
    parse_layout(record);
    return record;
}

/// "<what> s": the mark for static or dynamic at the end.
bool take_mark(std::string_view& text) {
    const bool is_static = text.ends_with(" s");
    if (is_static || text.ends_with(" d")) text.remove_suffix(2);
    return is_static;
}

IoDumpValue parse_value(std::string_view text) {
    IoDumpValue value;
    const auto behind_kind = text.starts_with('<') ? text.find('>') : 0; // "<host value[s]> [1, 1]"
    const auto open = text.find('[', behind_kind == std::string_view::npos ? 0 : behind_kind);
    const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) {
        value.text = text;
        return value;
    }
    value.text = text.substr(0, close + 1);
    std::string_view list = text.substr(open + 1, close - open - 1);
    while (!list.empty()) {
        if (skip(list, "...")) {
            value.more = true;
            break;
        }
        const auto number = take_number<double>(list);
        if (!number) break;
        value.first.push_back(*number);
        if (!skip(list, ", ")) break;
    }
    std::string_view rest = text.substr(close + 1);
    const auto statistic = [&](std::string_view key) -> std::optional<double> {
        const auto at = rest.find(key);
        if (at == std::string_view::npos) return std::nullopt;
        std::string_view number = rest.substr(at + key.size());
        return take_number<double>(number);
    };
    value.min = statistic("min=");
    value.max = statistic("max=");
    value.mean = statistic("mean=");
    value.l2 = statistic("l2=");
    value.sd = statistic("sd=");
    return value;
}

/// "  [i0]var52: [1.027, …] s", "  var28:  <shape dep[s]> {2,3} s"
std::optional<TextIoDump::Dependency> parse_dependency(std::string_view line) {
    TextIoDump::Dependency dependency;
    if (!skip(line, "  ")) return std::nullopt;
    if (skip(line, "[i")) {
        dependency.input = take_number<std::uint32_t>(line);
        if (!dependency.input || !skip(line, "]")) return std::nullopt;
    }
    if (!skip(line, "var")) return std::nullopt;
    const auto id = take_number<std::uint32_t>(line);
    if (!id || !skip(line, ":")) return std::nullopt;
    dependency.var = *id;
    while (skip(line, " ")) {}
    dependency.is_static = take_mark(line);
    dependency.value = parse_value(line);
    return dependency;
}

} // namespace

Expected<TextIoDump> read_text_io_dump(std::string_view text) {
    TextIoDump dump;
    TextIoDump::Record* open = nullptr; ///< the record whose value is still to come
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);

        if (auto record = parse_head(line)) {
            dump.records.push_back(std::move(*record));
            open = &dump.records.back();
        } else if (open && skip(line, " val: ")) {
            open->is_static = take_mark(line);
            open->value = parse_value(line);
            open = nullptr;
        } else if (auto dependency = open ? parse_dependency(line) : std::nullopt) {
            open->dependencies.push_back(std::move(*dependency));
        } else if (line != " deps:" && !line.empty()) {
            ++dump.skipped_lines;
        }
    }
    if (dump.records.empty()) return fail(ErrorCode::foreign, "This is not a text IO dump: no line says which var was produced.");
    return dump;
}

} // namespace megascope
