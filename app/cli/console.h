#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace megascope::cli {

/// What the program tells the shell.
enum ExitCode : int {
    passed = 0,  ///< done; every output is as expected
    differs = 1, ///< an output differs
    failed = 2,  ///< a file cannot be read or run, or the command line is wrong
};

/// One sentence on stderr. Returns `failed`.
int report(const Error& error);

/// Columns of text, widths by what a terminal shows. Nothing is cut off.
class Table {
public:
    enum class Align : std::uint8_t { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// With a title line unless all titles are empty; every line is indented and ends without spaces.
    [[nodiscard]] std::string text(std::size_t indent = 0) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Cells that UTF-8 text takes on a terminal: wide East Asian characters take two, combining marks none.
[[nodiscard]] std::size_t display_width(std::string_view text);

void print(std::string_view text);
/// Escape sequences only where a terminal shows them and NO_COLOR is not set.
[[nodiscard]] std::string coloured(std::string_view text, int sgr);
/// A line that overwrites itself, on stderr, only when that is a terminal. Empty text removes it.
void show_progress(std::string_view text);

} // namespace megascope::cli
