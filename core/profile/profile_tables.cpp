#include "profile/profile_tables.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "profile/rank_test.h"

namespace megascope {

namespace {

ReportCell number_cell(double value, std::string shown) { return std::isfinite(value) ? ReportCell(value, std::move(shown)) : ReportCell(); }

ReportCell percent_cell(double share) { return number_cell(share, format_number(share * 100, 3) + " %"); }

ReportCell optional_cell(std::optional<double> value, const char* unit) {
    return value && std::isfinite(*value) ? ReportCell(*value, format_si(*value, unit)) : ReportCell();
}

std::string shapes_text(const std::vector<std::vector<std::int64_t>>& shapes) {
    std::string s;
    for (const auto& shape : shapes) {
        if (!s.empty()) s += "; ";
        for (std::size_t i = 0; i < shape.size(); ++i) s += (i ? "×" : "") + std::to_string(shape[i]);
    }
    return s;
}

} // namespace

double total_time(const GraphProfile& profile, AnalysisQuery::Side side) {
    const ProfileTimes times = longest_times(profile);
    double sum = 0;
    for (const auto& span : side == AnalysisQuery::Side::device ? times.device : times.host)
        if (span) sum += span->duration();
    return sum;
}

Expected<ReportTable> analysis_table(const GraphProfile& profile, const AnalysisQuery& query) {
    MGS_ASSIGN(const std::vector<AnalysisRow> rows, analyze(profile, query));
    const bool groups = query.aggregate != AnalysisQuery::Aggregate::none;
    ReportTable table;
    table.columns = {{"time", "Time", true}, {"share", "Share", true}, {"cumulative_share", "Cumulative", true}};
    if (groups) table.columns.insert(table.columns.begin(), {{"group", "Group", false}, {"count", "Operators", true}});
    else table.columns.insert(table.columns.begin(), {{"id", "Id", true}, {"name", "Name", false}, {"type", "Type", false}});
    for (ReportColumn column : {ReportColumn{"computation", "Computation", true}, {"flops", "FLOP/s", true}, {"memory", "Memory", true}, {"bandwidth", "B/s", true}})
        table.columns.push_back(std::move(column));
    if (!groups) {
        table.columns.push_back({"in_shapes", "Inputs", false});
        table.columns.push_back({"out_shapes", "Outputs", false});
    }
    const double total = total_time(profile, query.side);
    double sum = 0;
    for (const AnalysisRow& row : rows) {
        sum += row.time;
        std::vector<ReportCell> cells;
        if (groups) {
            cells.emplace_back(row.type.empty() ? std::string("(none)") : row.type);
            cells.emplace_back(static_cast<double>(row.count), format_count(row.count));
        } else {
            const std::uint64_t number = profile.oprs[row.opr.index()].number;
            cells.emplace_back(static_cast<double>(number), std::to_string(number));
            cells.emplace_back(row.name);
            cells.emplace_back(row.type);
        }
        cells.push_back(number_cell(row.time, format_seconds(row.time)));
        cells.push_back(total > 0 ? percent_cell(row.time / total) : ReportCell());
        cells.push_back(total > 0 ? percent_cell(sum / total) : ReportCell());
        cells.push_back(optional_cell(row.computation, "FLOP"));
        cells.push_back(optional_cell(row.flops(), "FLOP/s"));
        cells.push_back(number_cell(row.memory, format_bytes(row.memory)));
        cells.push_back(optional_cell(row.bandwidth(), "B/s"));
        if (!groups) {
            const auto& footprint = profile.footprints[row.opr.index()];
            cells.emplace_back(footprint ? shapes_text(footprint->in_shapes) : std::string());
            cells.emplace_back(footprint ? shapes_text(footprint->out_shapes) : std::string());
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

ReportTable summary_table(const GraphProfile& profile) {
    const ProfileSummary sum = summarize(profile);
    ReportTable table;
    table.title = "Summary";
    table.columns = {{"what", "", false}, {"value", "", true}};
    const auto add = [&](const char* what, double value, std::string shown) { table.rows.push_back({ReportCell(what), ReportCell(value, std::move(shown))}); };
    add("Operators", static_cast<double>(profile.oprs.size()), format_count(profile.oprs.size()));
    add("Operators in the execution sequence", static_cast<double>(profile.sequence.size()), format_count(profile.sequence.size()));
    if (!profile.device.empty()) {
        add("Device time, all operators", sum.device_time, format_seconds(sum.device_time));
        add("Device time, kernels only", sum.kernel_time, format_seconds(sum.kernel_time));
        add("Device time, first start to last end", sum.device_span, format_seconds(sum.device_span));
    }
    if (!profile.host.empty()) add("Host time, all operators", sum.host_time, format_seconds(sum.host_time));
    if (sum.computation > 0) {
        add("Computation", sum.computation, format_si(sum.computation, "FLOP"));
        if (sum.device_time > 0) add("Computation by device time", sum.computation / sum.device_time, format_si(sum.computation / sum.device_time, "FLOP/s"));
        add("Operators without a known computation", static_cast<double>(sum.without_computation), format_count(sum.without_computation));
    }
    return table;
}

ReportTable slices_table(const CompareSide& trace) {
    ReportTable table;
    table.title = "Slices by name";
    table.columns = {{"name", "Name", false},       {"category", "Category", false}, {"track", "Track", false},  {"count", "n", true},
                     {"total", "Total", true},      {"self", "Self", true},          {"median", "Median", true}, {"longest", "Longest", true}};
    std::vector<const CompareItem*> items;
    for (const CompareItem& item : trace.items) items.push_back(&item);
    std::ranges::stable_sort(items, [](const CompareItem* a, const CompareItem* b) { return a->self > b->self; });
    for (const CompareItem* item : items) {
        const double longest = *std::ranges::max_element(item->samples);
        const double median = median_of(item->samples);
        table.rows.push_back({ReportCell(item->name), ReportCell(item->type), ReportCell(trace.tracks[item->track]),
                              ReportCell(static_cast<double>(item->samples.size()), format_count(item->samples.size())),
                              ReportCell(item->total, format_seconds(item->total)), ReportCell(item->self, format_seconds(item->self)),
                              ReportCell(median, format_seconds(median)), ReportCell(longest, format_seconds(longest))});
    }
    return table;
}

} // namespace megascope
