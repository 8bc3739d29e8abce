#include "profile/report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "profile/compare_tables.h"
#include "profile/profile_tables.h"
#include "profile/report_pictures.h"

namespace megascope {

namespace {

constexpr std::size_t bars = 20;
using GroupBy = AnalysisQuery::GroupBy;

constexpr struct {
    GroupBy by;
    const char* title;
} groupings[] = {{GroupBy::type, "By operator type"}, {GroupBy::scope, "By scope"}, {GroupBy::shape, "By output shape"}, {GroupBy::dtype, "By dtype"}};

/// A grouping into a single group tells nothing.
bool tells_something(const ReportTable& table) { return table.rows.size() > 1; }

std::string label_of(const std::string& name, const std::string& type) { return name.empty() ? type : name; }

} // namespace

std::string Report::json() const {
    nlohmann::ordered_json out;
    out["title"] = title;
    out["sentences"] = lines;
    out["tables"] = nlohmann::ordered_json::parse(tables_json(tables));
    return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Expected<Report> report_of_profile(const GraphProfile& profile, std::string title) {
    Report report;
    report.title = std::move(title);
    report.lines.emplace_back("A profile of MegEngine's GraphProfiler.");
    for (const std::string& warning : profile.warnings) report.lines.push_back(warning);
    AnalysisQuery query;
    if (profile.device.empty()) query.side = AnalysisQuery::Side::host;
    MGS_ASSIGN(const std::vector<AnalysisRow> rows, analyze(profile, query));
    std::vector<ChartBar> chart;
    for (std::size_t i = 0; i < std::min(rows.size(), bars); ++i) chart.push_back({label_of(rows[i].name, rows[i].type), rows[i].time, format_seconds(rows[i].time), 0});
    report.pictures.push_back({"Where the time goes", bar_chart(chart)});
    // The picture takes its timeline by reference only; nobody owns the profile through it.
    report.pictures.push_back({"Timeline", timeline_picture(*timeline_of(std::shared_ptr<const GraphProfile>(std::shared_ptr<void>(), &profile)))});
    report.tables.push_back(summary_table(profile));
    for (const auto& [by, group_title] : groupings) {
        AnalysisQuery grouped = query;
        grouped.aggregate = AnalysisQuery::Aggregate::sum;
        grouped.group_by = by;
        MGS_ASSIGN(ReportTable table, analysis_table(profile, grouped));
        table.title = group_title;
        if (tells_something(table)) report.tables.push_back(std::move(table));
    }
    MGS_ASSIGN(ReportTable all, analysis_table(profile, query));
    all.title = "Operators";
    report.tables.push_back(std::move(all));
    return report;
}

Report report_of_trace(const CompareSide& trace) {
    Report report;
    report.title = trace.title;
    report.lines.push_back("A trace of events: " + format_count(trace.timeline->slices()) + " slices on " + format_count(trace.timeline->rows.size()) + " rows.");
    for (const std::string& warning : trace.timeline->warnings) report.lines.push_back(warning);
    std::vector<const CompareItem*> items;
    for (const CompareItem& item : trace.items) items.push_back(&item);
    std::ranges::stable_sort(items, [](const CompareItem* a, const CompareItem* b) { return a->self > b->self; });
    std::vector<ChartBar> chart;
    for (std::size_t i = 0; i < std::min(items.size(), bars); ++i) chart.push_back({label_of(items[i]->name, items[i]->type), items[i]->self, format_seconds(items[i]->self), 0});
    report.pictures.push_back({"Where the time goes (without nested slices)", bar_chart(chart)});
    report.pictures.push_back({"Timeline", timeline_picture(*trace.timeline)});
    report.tables.push_back(slices_table(trace));
    return report;
}

Expected<Report> report_of_comparison(const CompareSide& a, const CompareSide& b, const CompareOptions& options) {
    Report report;
    report.title = a.title + " → " + b.title;
    CompareOptions all = options;
    all.by = CompareBy::opr;
    all.top = 0;
    MGS_ASSIGN(const ProfileComparison operators, compare_profiles(a, b, all));
    report.lines = comparison_summary(operators, a, b);
    std::vector<ChartBar> chart;
    for (const CompareRow& row : operators.rows) {
        if (chart.size() == bars) break;
        if (row.change() == 0) continue;
        // A sum may grow although single slices are faster, when there are more of them; then it has no colour.
        const int tone = row.verdict == CompareVerdict::faster && row.change() < 0 ? -1 : row.verdict == CompareVerdict::slower && row.change() > 0 ? 1 : 0;
        std::string text = (row.change() > 0 ? "+" : "−") + format_seconds(std::abs(row.change()));
        if (const auto relative = row.relative(); relative && row.b) text += "  " + percent_change(*relative);
        chart.push_back({label_of(row.name, row.type), row.change(), std::move(text), tone});
    }
    if (!chart.empty()) report.pictures.push_back({"Greatest changes", bar_chart(chart)});
    if (a.timeline) report.pictures.push_back({"Before: " + a.title, timeline_picture(*a.timeline, 12)});
    if (b.timeline) report.pictures.push_back({"After: " + b.title, timeline_picture(*b.timeline, 12)});
    for (const CompareBy by : {CompareBy::type, CompareBy::scope, CompareBy::shape, CompareBy::dtype}) {
        all.by = by;
        MGS_ASSIGN(const ProfileComparison grouped, compare_profiles(a, b, all));
        ReportTable table = comparison_table(grouped, a, b);
        if (tells_something(table)) report.tables.push_back(std::move(table));
    }
    report.tables.push_back(comparison_table(operators, a, b));
    return report;
}

} // namespace megascope
