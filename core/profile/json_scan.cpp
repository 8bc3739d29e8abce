#include "profile/json_scan.h"

namespace megascope {

std::size_t skip_space(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
    return at;
}

std::size_t end_of_object(std::string_view text, std::size_t begin) {
    std::size_t depth = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
        switch (text[at]) {
        case '{':
        case '[': ++depth; break;
        case '}':
        case ']':
            if (--depth == 0) return at + 1;
            break;
        case '"':
            for (++at; at < text.size() && text[at] != '"'; ++at)
                if (text[at] == '\\') ++at;
            break;
        default: break;
        }
    }
    return std::string_view::npos;
}

std::size_t probable_cut(std::string_view text, std::size_t begin, std::size_t end) {
    for (std::size_t at = end; at-- > begin;) {
        if (text[at] != '}') continue;
        const std::size_t comma = skip_space(text, at + 1);
        if (comma >= text.size() || text[comma] != ',') continue;
        const std::size_t next = skip_space(text, comma + 1);
        if (next < text.size() && text[next] == '{') return at + 1;
    }
    return std::string_view::npos;
}

} // namespace megascope
