#include "console.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace megascope::cli {

namespace {

/// The next code point; malformed bytes count as one each.
std::uint32_t decode(std::string_view text, std::size_t& at) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);
    for (int i = 0; i < more && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; ++i)
        code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fU);
    return code;
}

bool is_wide(std::uint32_t code) {
    static constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 9> ranges = {{{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff},
                                                                                       {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf},
                                                                                       {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xff00, 0xff60}}};
    return std::ranges::any_of(ranges, [&](const auto& r) { return code >= r.first && code <= r.second; });
}

std::string padded(const std::string& cell, std::size_t width, Table::Align align) {
    const std::string fill(width - std::min(width, display_width(cell)), ' ');
    return align == Table::Align::right ? fill + cell : cell + fill;
}

} // namespace

int report(const Error& error) {
    show_progress({});
    std::fprintf(stderr, "megascope-cli: %s\n", error.text().c_str());
    return failed;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\x1b') { // an escape sequence ends at its letter
            while (at < text.size() && text[at] != 'm') ++at;
            ++at;
            continue;
        }
        const std::uint32_t code = decode(text, at);
        if (code >= 0x300 && code <= 0x36f) continue;
        width += is_wide(code) ? 2 : 1;
    }
    return width;
}

std::string Table::text(std::size_t indent) const {
    std::vector<std::size_t> widths;
    bool titled = false;
    for (const Column& column : columns_) {
        widths.push_back(display_width(column.title));
        titled |= !column.title.empty();
    }
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    std::string out;
    const auto line = [&](auto&& cell) {
        std::string s(indent, ' ');
        for (std::size_t i = 0; i < columns_.size(); ++i) s += (i ? "  " : "") + padded(cell(i), widths[i], columns_[i].align);
        s.erase(s.find_last_not_of(' ') + 1);
        out += s + '\n';
    };
    if (titled) line([&](std::size_t i) { return columns_[i].title; });
    for (const auto& row : rows_) line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
    return out;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string coloured(std::string_view text, int sgr) {
    static const bool wanted = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    if (!wanted) return std::string(text);
    return "\x1b[" + std::to_string(sgr) + "m" + std::string(text) + "\x1b[0m";
}

void show_progress(std::string_view text) {
    static const bool wanted = isatty(STDERR_FILENO) == 1;
    static bool shown = false;
    if (!wanted || (text.empty() && !shown)) return;
    std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(text.size()), text.data());
    std::fflush(stderr);
    shown = !text.empty();
}

} // namespace megascope::cli
