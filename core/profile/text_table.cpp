#include "profile/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace megascope {

namespace {

/// Characters, not bytes: continuation bytes of UTF-8 do not count.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
        if (end == std::string::npos) return lines;
        begin = end + 1;
    }
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string s;
    for (std::size_t i = 0; i < times; ++i) s += text;
    return s;
}

std::string rule(const std::vector<std::size_t>& widths, const char* left, const char* line, const char* middle, const char* right) {
    std::string s = left;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (i) s += middle;
        s += repeated(line, widths[i] + 2);
    }
    return s + right + "\n";
}

std::string row(const std::vector<std::size_t>& widths, const std::vector<std::string>& cells, const char* bar) {
    std::string s = bar;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const std::string& cell = i < cells.size() ? cells[i] : std::string();
        s += " " + cell + std::string(widths[i] - width_of(cell), ' ') + " " + bar;
    }
    return s + "\n";
}

std::vector<std::size_t> column_widths(const std::vector<std::string>& headers, const TableCells& cells) {
    std::vector<std::size_t> widths;
    for (const auto& header : headers) widths.push_back(width_of(header) + 2);
    for (const auto& cell_row : cells)
        for (std::size_t i = 0; i < cell_row.size() && i < widths.size(); ++i)
            for (const auto& line : lines_of(cell_row[i])) widths[i] = std::max(widths[i], width_of(line));
    return widths;
}

bool is_number(const std::string& text) {
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    return !text.empty() && *end == 0;
}

} // namespace

std::string grid_table(const std::vector<std::string>& headers, const TableCells& cells) {
    const auto widths = column_widths(headers, cells);
    std::string s = rule(widths, "╒", "═", "╤", "╕") + row(widths, headers, "│") + rule(widths, "╞", "═", "╪", "╡");
    for (std::size_t r = 0; r < cells.size(); ++r) {
        if (r) s += rule(widths, "├", "─", "┼", "┤");
        std::vector<std::vector<std::string>> columns;
        std::size_t height = 0;
        for (const auto& cell : cells[r]) {
            columns.push_back(lines_of(cell));
            height = std::max(height, columns.back().size());
        }
        for (std::size_t line = 0; line < height; ++line) {
            std::vector<std::string> texts;
            for (const auto& column : columns) texts.push_back(line < column.size() ? column[line] : "");
            s += row(widths, texts, "│");
        }
    }
    return s + rule(widths, "╘", "═", "╧", "╛");
}

std::string wiki_table(const std::vector<std::string>& headers, const TableCells& cells) {
    const auto widths = column_widths(headers, cells);
    std::string s = row(widths, headers, "|");
    s += rule(widths, "|", "-", "|", "|");
    for (const auto& cell_row : cells) s += row(widths, cell_row, "|");
    return s;
}

std::string plain_table(const TableCells& cells) {
    std::size_t columns = 0;
    for (const auto& cell_row : cells) columns = std::max(columns, cell_row.size());
    TableCells aligned = cells;
    std::vector<std::size_t> widths(columns, 0);
    for (std::size_t c = 0; c < columns; ++c) {
        const bool numeric = std::all_of(cells.begin(), cells.end(), [&](const auto& r) { return c < r.size() && is_number(r[c]); });
        if (numeric) {
            std::size_t fraction = 0;
            const auto fraction_of = [](const std::string& t) {
                const auto dot = t.find('.');
                return dot == std::string::npos ? std::size_t{0} : t.size() - dot;
            };
            for (const auto& r : cells) fraction = std::max(fraction, fraction_of(r[c]));
            for (auto& r : aligned) r[c] += std::string(fraction - fraction_of(r[c]), ' ');
        }
        for (const auto& r : aligned)
            if (c < r.size()) widths[c] = std::max(widths[c], width_of(r[c]));
        if (numeric)
            for (auto& r : aligned) r[c].insert(0, widths[c] - r[c].size(), ' ');
    }
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) line += (c ? "  " : "") + std::string(widths[c], '-');
    std::string s = line + "\n";
    for (const auto& r : aligned) {
        std::string text;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::string& cell = c < r.size() ? r[c] : std::string();
            text += (c ? "  " : "") + cell + std::string(widths[c] - width_of(cell), ' ');
        }
        while (text.ends_with(' ')) text.pop_back();
        s += text + "\n";
    }
    return s + line + "\n";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        if (text.size() <= width) {
            lines.emplace_back(text);
            break;
        }
        // The last space that lets the line fit; a word longer than a line is cut.
        const std::size_t space = text.substr(0, width + 1).rfind(' ');
        if (space == std::string_view::npos || space == 0) {
            lines.emplace_back(text.substr(0, width));
            text.remove_prefix(width);
        } else {
            lines.emplace_back(text.substr(0, space));
            text.remove_prefix(space + 1);
        }
    }
    if (lines.empty()) lines.emplace_back();
    return lines;
}

std::string short_general(double value) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.2e", value); // d.dde±xx, rounded to three digits
    std::string digits = text.data();
    const auto e = digits.find('e');
    const int exponent = std::atoi(digits.c_str() + e + 1);
    std::string mantissa = digits.substr(0, e);
    const auto trim = [](std::string& t) {
        if (t.find('.') == std::string::npos) return;
        while (t.ends_with('0')) t.pop_back();
        if (t.ends_with('.')) t.pop_back();
    };
    if (value != 0 && (exponent < -4 || exponent >= 2)) {
        trim(mantissa);
        return mantissa + digits.substr(e);
    }
    std::snprintf(text.data(), text.size(), "%.*f", std::max(1, 2 - exponent), value);
    std::string fixed = text.data();
    while (fixed.ends_with('0') && !fixed.ends_with(".0")) fixed.pop_back();
    return fixed;
}

} // namespace megascope
