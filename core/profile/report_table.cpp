#include "profile/report_table.h"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace megascope {

namespace {

using Json = nlohmann::ordered_json;

/// The shortest text that reads back as the same number.
std::string exact(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

Json rows_of(const ReportTable& table) {
    Json list = Json::array();
    for (const auto& row : table.rows) {
        Json object = Json::object();
        for (std::size_t c = 0; c < row.size(); ++c) {
            Json& at = object[table.columns[c].id];
            if (const auto* number = std::get_if<double>(&row[c].value)) {
                // Counts stay whole numbers.
                if (!std::isfinite(*number)) at = exact(*number);
                else if (*number == std::floor(*number) && std::abs(*number) < 9e15) at = static_cast<std::int64_t>(*number);
                else at = *number;
            } else if (const auto* text = std::get_if<std::string>(&row[c].value)) {
                at = *text;
            }
        }
        list.push_back(std::move(object));
    }
    return list;
}

std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

} // namespace

std::string ReportCell::shown() const {
    if (!text.empty()) return text;
    if (const auto* number = std::get_if<double>(&value)) return exact(*number);
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    return {};
}

std::string ReportTable::csv() const {
    std::string out;
    for (std::size_t c = 0; c < columns.size(); ++c) out += (c ? "," : "") + quoted(columns[c].id);
    out += '\n';
    for (const auto& row : rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (c) out += ',';
            if (const auto* number = std::get_if<double>(&row[c].value)) out += exact(*number);
            else if (const auto* text = std::get_if<std::string>(&row[c].value)) out += quoted(*text);
        }
        out += '\n';
    }
    return out;
}

std::string ReportTable::json() const { return dump(rows_of(*this)); }

std::string tables_json(const std::vector<ReportTable>& tables) {
    Json out = Json::object();
    for (const ReportTable& table : tables) out[table.title] = rows_of(table);
    return dump(out);
}

} // namespace megascope
