#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// Cells of a text table; a cell may have several lines.
using TableCells = std::vector<std::vector<std::string>>;

/// Double-ruled Unicode grid, left aligned; a header row, then `cells`. Columns are at least two wider than their header.
[[nodiscard]] std::string grid_table(const std::vector<std::string>& headers, const TableCells& cells);
/// `| a | b |` lines with a rule under the header, as wikis read it.
[[nodiscard]] std::string wiki_table(const std::vector<std::string>& headers, const TableCells& cells);
/// Two spaces between columns, a rule above and below, no header. Cells that are all numbers align at the decimal point.
[[nodiscard]] std::string plain_table(const TableCells& cells);

/// Breaks a text into lines of at most `width` characters, at spaces where there are any.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Three significant digits as Python's "{:.3}": at least one digit behind the point, exponent below 1e-4 and from 100 on.
[[nodiscard]] std::string short_general(double value);

} // namespace megascope
