#include "session/run_report.h"

#include <algorithm>

#include "base/units.h"
#include "profile/rank_test.h"
#include "profile/report_pictures.h"
#include "session/assertions.h"
#include "session/profile_export.h"
#include "tensor/statistics.h"

namespace megascope {

namespace {

constexpr std::size_t bars = 20;

ReportCell verdict_cell(bool passed) {
    ReportCell cell(passed ? "passed" : "FAILED");
    cell.tone = passed ? -1 : 1;
    return cell;
}

ReportCell plain(double value) { return {value, format_number(value, 6)}; }

ReportCell index_of(std::uint32_t testcase) { return {static_cast<double>(testcase), "#" + std::to_string(testcase)}; }

ReportTable testcase_table(const RunReport& run) {
    ReportTable table;
    table.title = "Testcases";
    table.columns = {{"testcase", "Testcase", true}, {"result", "Result", false},      {"checks", "Checks", true}, {"iterations", "Iterations", true},
                     {"min_seconds", "Fastest", true}, {"median_seconds", "Median", true}, {"max_seconds", "Slowest", true}, {"error", "Error", false}};
    for (const TestcaseRun& one : run.testcases) {
        std::vector<ReportCell> cells = {index_of(one.testcase), verdict_cell(one.passed()), plain(static_cast<double>(one.verdicts.size())),
                                         plain(static_cast<double>(one.seconds.size()))};
        if (one.seconds.empty()) {
            cells.resize(7);
        } else {
            const auto [least, most] = std::ranges::minmax(one.seconds);
            for (const double seconds : {least, median_of(one.seconds), most}) cells.emplace_back(seconds, format_seconds(seconds));
        }
        cells.emplace_back(one.error ? one.error->text() : std::string());
        table.rows.push_back(std::move(cells));
    }
    return table;
}

ReportTable verdict_table(const RunReport& run) {
    ReportTable table;
    table.title = "Checked outputs";
    table.note = "AssertEqual's rule: max |expected − got| / max(min(|expected|, |got|), 1) must not pass what the file allows.";
    table.columns = {{"testcase", "Testcase", true}, {"output", "Output", false}, {"result", "Result", false},     {"max_error", "Error", true},
                     {"allowed", "Allowed", true},   {"expected", "Expected there", true}, {"got", "Got there", true}, {"mismatch", "Why not compared", false}};
    for (const TestcaseRun& one : run.testcases)
        for (const AssertVerdict& verdict : one.verdicts) {
            std::vector<ReportCell> cells = {index_of(one.testcase), ReportCell(verdict.name), verdict_cell(verdict.passed)};
            if (verdict.mismatch.empty()) {
                for (const double value : {verdict.max_error, verdict.tolerance, verdict.expected, verdict.got}) cells.push_back({value, format_number(value, 4)});
                cells.emplace_back();
            } else {
                cells.emplace_back();
                cells.push_back({verdict.tolerance, format_number(verdict.tolerance, 4)});
                cells.resize(7);
                cells.emplace_back(verdict.mismatch);
            }
            table.rows.push_back(std::move(cells));
        }
    return table;
}

ReportTable output_table(const Graph& graph, const RunReport& run) {
    ReportTable table;
    table.title = "Outputs";
    table.columns = {{"testcase", "Testcase", true}, {"output", "Output", false}, {"dtype", "dtype", false}, {"shape", "Shape", false}, {"min", "Min", true},
                     {"max", "Max", true},           {"mean", "Mean", true},      {"sd", "Std. deviation", true}, {"not_finite", "Not finite", true}};
    for (const TestcaseRun& one : run.testcases)
        for (std::size_t i = 0; i < one.outputs.size() && i < graph.outputs().size(); ++i) {
            const Tensor& value = one.outputs[i];
            if (!value.has_value()) continue;
            std::vector<ReportCell> cells = {index_of(one.testcase), ReportCell(graph.display_name(asserted_var(graph, graph.outputs()[i].var))),
                                             ReportCell(value.dtype().text()), ReportCell(value.shape().text())};
            if (const auto s = tensor_statistics(value)) {
                if (s->finite() > 0)
                    for (const double number : {s->min, s->max, s->mean, s->sd}) cells.push_back(plain(number));
                cells.resize(8);
                cells.push_back(plain(static_cast<double>(s->nan + s->inf)));
            }
            cells.resize(9);
            table.rows.push_back(std::move(cells));
        }
    return table;
}

/// What a step of the plan took in the iteration of median length.
ReportTable step_table(const Graph& graph, const RunReport& run, const TestcaseRun& one, std::vector<ChartBar>& chart) {
    const std::size_t middle = median_iteration(one);
    double total = 0;
    std::vector<std::pair<double, std::uint32_t>> order;
    for (const StepRecord& record : one.steps[middle]) {
        order.emplace_back(record.end - record.start, record.step);
        total += order.back().first;
    }
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
    ReportTable table;
    table.title = "Operators";
    table.note = "Iteration " + std::to_string(middle + 1) + " of " + std::to_string(one.steps.size()) + " of testcase #" + std::to_string(one.testcase) +
                 ", the one of median length (" + format_seconds(one.seconds[middle]) + "); fused operators are one row.";
    table.columns = {{"step", "Step", true}, {"name", "Name", false}, {"types", "Type", false}, {"seconds", "Time", true}, {"share", "Share", true},
                     {"backend", "Backend", false}, {"kernel", "Kernel", false}};
    for (const auto& [seconds, index] : order) {
        if (index >= run.plan.steps.size()) continue;
        const PlanStep& step = run.plan.steps[index];
        std::string types;
        for (const OprId id : step.oprs) types += (types.empty() ? "" : " + ") + graph.type_text(id);
        const std::string name = step.oprs.empty() ? std::string() : graph.display_name(step.oprs.front());
        if (chart.size() < bars) chart.push_back({types + "  " + name, seconds, format_seconds(seconds), 0});
        table.rows.push_back({plain(static_cast<double>(index)), ReportCell(name), ReportCell(types), ReportCell(seconds, format_seconds(seconds)),
                              total > 0 ? ReportCell(seconds / total, format_number(seconds / total * 100, 3) + " %") : ReportCell(), ReportCell(step.backend),
                              ReportCell(step.kernel)});
    }
    return table;
}

} // namespace

Report report_of_run(const Graph& graph, const RunReport& run, std::string title, const std::vector<std::string>& notes) {
    Report report;
    report.title = std::move(title);
    const auto passed = std::ranges::count_if(run.testcases, &TestcaseRun::passed);
    report.lines.push_back("A run on " + run.backend + " with " + std::to_string(run.threads) + (run.threads == 1 ? " thread: " : " threads: ") +
                           std::to_string(passed) + " of " + std::to_string(run.testcases.size()) + " testcases passed.");
    if (run.plan.arena_bytes) report.lines.push_back("Planned memory for vars: " + format_bytes(static_cast<double>(run.plan.arena_bytes)) + ".");
    for (const std::string& note : notes) report.lines.push_back(note);
    for (const std::string& note : run.plan.notes) report.lines.push_back(note);
    report.tables.push_back(testcase_table(run));
    if (ReportTable verdicts = verdict_table(run); !verdicts.rows.empty()) report.tables.push_back(std::move(verdicts));
    if (ReportTable outputs = output_table(graph, run); !outputs.rows.empty()) report.tables.push_back(std::move(outputs));
    const auto timed = std::ranges::find_if(run.testcases, [](const TestcaseRun& one) { return !one.steps.empty(); });
    if (timed != run.testcases.end()) {
        std::vector<ChartBar> chart;
        report.tables.push_back(step_table(graph, run, *timed, chart));
        report.pictures.push_back({"Where the time goes", bar_chart(chart)});
    }
    return report;
}

} // namespace megascope
