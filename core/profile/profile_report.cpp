#include "profile/profile_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "profile/text_table.h"

namespace megascope {

namespace {

using Side = AnalysisQuery::Side;
using Aggregate = AnalysisQuery::Aggregate;

template <class... Args>
std::string print(const char* format, Args... args) {
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), format, args...);
    return text.data();
}

std::optional<double> total_time(const GraphProfile& profile, Side side) {
    AnalysisQuery all;
    all.side = side;
    all.aggregate = Aggregate::sum;
    const auto rows = analyze(profile, all);
    return rows && !rows->empty() ? std::optional(rows->front().time) : std::nullopt;
}

/// A number over its unit: "83.28\nKFLO". `units`: the plain one and the one behind a prefix.
std::string with_unit(std::optional<double> value, const char* plain, const char* prefixed, double base) {
    if (!value) return std::string("N/A\n") + plain;
    if (!std::isfinite(*value)) return print("%.2f", *value) + "\n" + plain;
    static constexpr std::array prefixes = {"", "K", "M", "G", "T", "P"};
    double number = *value;
    std::size_t prefix = 0;
    while (number >= base && prefix + 1 < prefixes.size()) {
        number /= base;
        ++prefix;
    }
    return print("%.2f", number) + "\n" + prefixes[prefix] + (prefix ? prefixed : plain);
}

std::string shape_list(const std::vector<std::vector<std::int64_t>>& shapes, const std::vector<std::vector<std::int64_t>>& strides,
                       const char* separator) {
    const auto joined = [](const std::vector<std::int64_t>& values) {
        std::string s;
        for (std::size_t i = 0; i < values.size(); ++i) s += (i ? "," : "") + std::to_string(values[i]);
        return s;
    };
    std::string s;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (i) s += separator;
        s += "{" + joined(shapes[i]) + "}";
        if (i < strides.size() && !strides[i].empty()) s += "\n -[" + joined(strides[i]) + "]";
    }
    return s;
}

struct RowShapes {
    std::string in, out;
};
RowShapes row_shapes(const GraphProfile& profile, const AnalysisRow& row, const char* separator) {
    if (!row.opr.valid()) return {"None", "None"};
    const auto& footprint = profile.footprints[row.opr.index()];
    if (!footprint) return {"N/A", "N/A"};
    return {shape_list(footprint->in_shapes, footprint->in_strides, separator), shape_list(footprint->out_shapes, {}, separator)};
}

/// What identifies a row, top to bottom: name, type, id; or type, count, "N/A" for a group.
std::vector<std::string> row_info(const GraphProfile& profile, const AnalysisRow& row) {
    if (!row.opr.valid()) return {row.type, std::to_string(row.count), "N/A"};
    return {row.name, row.type, std::to_string(profile.oprs[row.opr.index()].number)};
}

std::string bar(double value, double largest) {
    if (!(largest > 0) || !std::isfinite(value) || !std::isfinite(largest)) return "";
    return std::string(static_cast<std::size_t>(std::clamp(value / largest, 0.0, 1.0) * 15), '#');
}

std::string wiki_rows(const GraphProfile& profile, const std::vector<AnalysisRow>& rows, double total) {
    double longest = 0;
    double fastest = 0;
    double widest = 0;
    for (const AnalysisRow& row : rows) {
        longest = std::max(longest, row.time);
        widest = std::max(widest, row.bandwidth());
        if (const auto flops = row.flops()) fastest = std::max(fastest, *flops);
    }
    const bool groups = !rows.empty() && !rows.front().opr.valid();
    std::vector<std::string> headers = {"#", "time", "ratio", "time bar", "cum-time", "cum-time ratio"};
    for (const char* name : groups ? std::array{"opr type", "opr count", "opr id"} : std::array{"opr name", "opr type", "opr id"})
        headers.emplace_back(name);
    for (const char* name : {"computation (MFLO)", "MFLOPS", "MFLOPS-bar", "memory (MB)", "bandwidth (MiB/s)", "bandwidth bar",
                             "in_shapes", "out_shapes"})
        headers.emplace_back(name);
    TableCells cells;
    double cumulative = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const AnalysisRow& row = rows[i];
        cumulative += row.time;
        std::vector<std::string> line = {std::to_string(i), short_general(row.time), print("%.1f%%", row.time / total * 100),
                                         bar(row.time, longest), print("%g", cumulative), print("%g", cumulative / total)};
        for (auto& text : row_info(profile, row)) line.push_back(std::move(text));
        const auto mega = [](std::optional<double> v, double unit) { return v ? print("%.1f", *v / unit) : std::string("N/A"); };
        line.push_back(mega(row.computation, 1e6));
        line.push_back(mega(row.flops(), 1e6));
        line.push_back(row.flops() ? bar(*row.flops(), fastest) : "");
        line.push_back(mega(row.memory, 1024.0 * 1024.0));
        line.push_back(mega(row.bandwidth(), 1024.0 * 1024.0));
        line.push_back(bar(row.bandwidth(), widest));
        RowShapes shapes = row_shapes(profile, row, ", ");
        std::replace(shapes.in.begin(), shapes.in.end(), '\n', ' ');
        line.push_back(std::move(shapes.in));
        line.push_back(std::move(shapes.out));
        cells.push_back(std::move(line));
    }
    return wiki_table(headers, cells);
}

} // namespace

Expected<std::string> summary_text(const GraphProfile& profile, const AnalysisQuery& query, bool copy_time, bool wiki) {
    const auto device = total_time(profile, Side::device);
    const auto host = total_time(profile, Side::host);
    if (device == 0.0)
        return fail(ErrorCode::run_failed, "The total device time is 0; a profile of OpenCL devices needs profiling switched on before the run.");
    const auto number = [](std::optional<double> v) { return v ? print("%g", *v) : std::string("N/A"); };
    TableCells cells = {{"total device time", number(device)}, {"total host time", number(host)}};
    if (copy_time) {
        for (const auto& [label, key] : {std::pair{"copy time", AnalysisQuery::EndKey::end}, {"copy wait time", AnalysisQuery::EndKey::kern}}) {
            AnalysisQuery copies = query;
            copies.side = Side::device;
            copies.end_key = key;
            copies.order_by = "time";
            copies.top = 0;
            copies.group_by = AnalysisQuery::GroupBy::all;
            if (copies.types.empty() || std::find(copies.types.begin(), copies.types.end(), "Copy") != copies.types.end())
                copies.types = {"Copy"};
            else
                copies.types = {""}; // the filters exclude Copy
            copies.aggregate = Aggregate::sum;
            MGS_ASSIGN(const auto sum, analyze(profile, copies));
            copies.aggregate = Aggregate::mean;
            MGS_ASSIGN(const auto mean, analyze(profile, copies));
            cells.push_back({label, sum.empty() ? "N/A" : "tot=" + print("%.4f", sum.front().time) + " avg=" + print("%.4f", mean.front().time)});
        }
    }
    return wiki ? wiki_table({"name", "value"}, cells) : plain_table(cells);
}

Expected<std::string> details_text(const GraphProfile& profile, const AnalysisQuery& query, bool wiki) {
    MGS_ASSIGN(const auto rows, analyze(profile, query));
    const double total = total_time(profile, query.side).value_or(0);
    if (wiki) return wiki_rows(profile, rows, total);

    TableCells cells;
    double cumulative = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const AnalysisRow& row = rows[i];
        cumulative += row.time;
        std::string info;
        for (const std::string& text : row_info(profile, row)) {
            if (!info.empty()) info += "\n";
            const auto lines = wrap(text, 30);
            for (std::size_t l = 0; l < lines.size(); ++l) info += (l ? "\n-  " : "") + lines[l];
        }
        const RowShapes shapes = row_shapes(profile, row, "\n");
        cells.push_back({"#" + std::to_string(i) + "\n" + short_general(row.time) + "\n" + print("%.1f%%", row.time / total * 100),
                         short_general(cumulative) + "\n" + print("%.1f%%", cumulative / total * 100), std::move(info),
                         with_unit(row.computation, "FLO", "FLO", 1000), with_unit(row.flops(), "FLOPS", "FLOPS", 1000),
                         with_unit(row.memory, "byte", "iB", 1024), with_unit(row.bandwidth(), "byte/s", "iB/s", 1024), shapes.in, shapes.out});
    }
    const std::string side = query.side == Side::device ? "device" : "host";
    return grid_table({side + " self time", "cumulative", "operator info", "computation", "FLOPS", "memory", "bandwidth", "in_shapes", "out_shapes"},
                      cells);
}

Expected<std::string> opr_list_text(const GraphProfile& profile, const AnalysisQuery& query) {
    MGS_ASSIGN(const auto rows, analyze(profile, query));
    std::string s;
    for (const AnalysisRow& row : rows) {
        const auto info = row_info(profile, row);
        for (std::size_t i = 0; i < info.size(); ++i) s += (i ? " " : "") + info[i];
        s += "\n";
    }
    return s;
}

} // namespace megascope
