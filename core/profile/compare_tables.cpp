#include "profile/compare_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"

namespace megascope {

namespace {

std::string signed_seconds(double seconds) {
    if (seconds == 0) return "0 s";
    return (seconds > 0 ? "+" : "−") + format_seconds(std::abs(seconds));
}

int tone(const CompareRow& row) { return row.verdict == CompareVerdict::faster ? -1 : row.verdict == CompareVerdict::slower ? 1 : 0; }

/// Single slices may be faster while there are so many more of them that their sum grows; then the sum has no colour.
int sum_tone(const CompareRow& row) { return tone(row) * row.change() > 0 ? tone(row) : 0; }

ReportCell seconds_cell(const std::optional<double>& seconds) { return seconds ? ReportCell(*seconds, format_seconds(*seconds)) : ReportCell(); }

ReportCell count_cell(std::size_t count) { return {static_cast<double>(count), format_count(count)}; }

} // namespace

std::string_view compare_by_text(CompareBy by) {
    static constexpr std::array<std::string_view, 5> names = {"opr", "type", "scope", "shape", "dtype"};
    return names[static_cast<std::size_t>(by)];
}

std::string percent_change(double relative) {
    if (!std::isfinite(relative)) return {};
    const double percent = std::abs(relative) * 100;
    if (percent < 0.005) return "0 %";
    const std::string digits = percent >= 1000 ? format_count(static_cast<std::uint64_t>(std::llround(std::min(percent, 1e15))))
                                               : format_number(percent, percent >= 100 ? 4 : 3);
    return (relative > 0 ? "+" : "−") + digits + " %";
}

ReportTable comparison_table(const ProfileComparison& comparison, const CompareSide&, const CompareSide&) {
    ReportTable table;
    const bool single = comparison.by == CompareBy::opr;
    table.title = single ? "Operators" : "By " + std::string(compare_by_text(comparison.by));
    if (comparison.traces && single) table.title = "Slices";
    if (comparison.all_rows > comparison.rows.size())
        table.note = "The first " + format_count(comparison.rows.size()) + " of " + format_count(comparison.all_rows) + " rows.";
    table.columns = {{"name", single ? "Name" : std::string(compare_by_text(comparison.by)), false}};
    if (single) table.columns.push_back({"type", comparison.traces ? "Category" : "Type", false});
    for (ReportColumn column : {ReportColumn{"time_a", "Before", true}, {"time_b", "After", true}, {"change", "Change", true}, {"relative", "%", true},
                                {"verdict", "Verdict", false}, {"p", "p", true}, {"count_a", "n before", true}, {"count_b", "n after", true},
                                {"median_a", "Median before", true}, {"median_b", "Median after", true}})
        table.columns.push_back(std::move(column));
    if (single) table.columns.push_back(comparison.traces ? ReportColumn{"track", "Track", false} : ReportColumn{"shape", "Output", false});
    for (const CompareRow& row : comparison.rows) {
        std::vector<ReportCell> cells = {row.name.empty() ? ReportCell(std::string("(none)")) : ReportCell(row.name)};
        if (single) cells.emplace_back(row.type);
        cells.push_back(row.count_a ? seconds_cell(row.time_a) : ReportCell());
        cells.push_back(row.count_b ? seconds_cell(row.time_b) : ReportCell());
        cells.emplace_back(row.change(), signed_seconds(row.change()));
        cells.back().tone = sum_tone(row);
        const auto relative = row.count_b ? row.relative() : std::nullopt;
        cells.push_back(relative ? ReportCell(*relative, percent_change(*relative)) : ReportCell());
        cells.back().tone = sum_tone(row);
        cells.emplace_back(std::string(verdict_text(row.verdict)));
        cells.back().tone = tone(row);
        cells.push_back(row.p ? ReportCell(*row.p, format_number(*row.p, 2)) : ReportCell());
        cells.push_back(count_cell(row.count_a));
        cells.push_back(count_cell(row.count_b));
        cells.push_back(seconds_cell(row.median_a));
        cells.push_back(seconds_cell(row.median_b));
        if (single) cells.emplace_back(comparison.traces ? row.track : row.shape);
        table.rows.push_back(std::move(cells));
    }
    return table;
}

std::vector<std::string> comparison_summary(const ProfileComparison& c, const CompareSide& a, const CompareSide& b) {
    std::vector<std::string> lines;
    std::string total = "All " + std::string(c.traces ? "slices" : "operators") + ": " + format_seconds(c.total_a) + " → " + format_seconds(c.total_b);
    if (c.total_a > 0) total += " (" + percent_change((c.total_b - c.total_a) / c.total_a) + ")";
    lines.push_back(total + ".");
    std::string how;
    const auto part = [&](std::size_t count, const char* what) {
        if (count) how += (how.empty() ? " (" : ", ") + std::to_string(count) + " " + what;
    };
    part(c.by_id, "by id and name");
    part(c.by_name, "by name");
    part(c.by_structure, "by structure");
    part(c.elsewhere, "on another track");
    if (!how.empty()) how += ")";
    lines.push_back(std::to_string(c.matched) + " matched" + how + ", " + std::to_string(c.removed) + " only in the first, " + std::to_string(c.added) +
                    " only in the second.");
    if (!c.traces) {
        std::string samples = std::to_string(a.iterations) + " and " + std::to_string(b.iterations) + " iterations";
        if (a.iterations == 1 && b.iterations == 1) samples += ": one measurement each cannot tell a change from noise";
        lines.push_back(samples + ".");
    }
    for (const std::string& note : c.notes) lines.push_back(note);
    return lines;
}

} // namespace megascope
