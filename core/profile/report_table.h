#pragma once

#include <string>
#include <variant>
#include <vector>

namespace megascope {

/// A table for people and for programs at once: every cell has an exact value and a text to read.
struct ReportCell {
    std::variant<std::monostate, double, std::string> value;
    std::string text; ///< what people read; empty: the value itself
    int tone = 0;     ///< -1 good (faster, passed), 1 bad, 0 neither

    ReportCell() = default;
    ReportCell(std::string s) : value(std::move(s)) {}
    ReportCell(const char* s) : value(std::string(s)) {}
    ReportCell(double v, std::string shown) : value(v), text(std::move(shown)) {}
    /// The text, or the value as text.
    [[nodiscard]] std::string shown() const;
};

struct ReportColumn {
    std::string id;    ///< key in JSON and head in CSV: "time_a_seconds"
    std::string title; ///< for people: "Before"
    bool numeric = false;
};

struct ReportTable {
    std::string title;
    std::string note; ///< a sentence under the title; empty for none
    std::vector<ReportColumn> columns;
    std::vector<std::vector<ReportCell>> rows;

    /// A head line and a line per row; exact values. Quoted as RFC 4180 says.
    [[nodiscard]] std::string csv() const;
    /// `[{"id": value, …}, …]`, indented by one. Missing values are null, infinite and NaN ones strings, as in MegEngine's JSON.
    [[nodiscard]] std::string json() const;
};

/// Several tables in one JSON object: title → table.
[[nodiscard]] std::string tables_json(const std::vector<ReportTable>& tables);

} // namespace megascope
