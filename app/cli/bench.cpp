#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "running.h"
#include "session/profile_export.h"

namespace megascope::cli {

namespace {

struct BenchOptions {
    std::string file;
    RunFlags flags;
    std::string seed;
    std::vector<std::uint32_t> testcases;
    std::uint32_t iterations = 50;
    std::uint32_t warmup = 5;
    std::string compare;
    std::size_t top = 10;
};

/// One backend's measurement of one testcase.
struct Measurement {
    std::string backend;
    std::vector<double> warmup;
    TestcaseRun run;
    Plan plan;
};

std::string percent(double part, double whole) {
    if (whole <= 0) return "–";
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f %%", 100 * part / whole);
    return text;
}

Expected<Measurement> measure(Runner& runner, RunRequest request, const Graph& graph, const BenchOptions& options) {
    Measurement m;
    m.backend = request.backend;
    if (options.warmup > 0) {
        // Runs of their own, so that their times can be shown; the program they compiled is kept for the counted ones.
        request.iterations = options.warmup;
        MGS_ASSIGN(const RunReport report, run_showing_progress(runner, request, graph));
        if (report.testcases.front().error) return forward(*report.testcases.front().error);
        m.warmup = report.testcases.front().seconds;
    }
    request.iterations = options.iterations;
    MGS_ASSIGN(RunReport report, run_showing_progress(runner, request, graph));
    if (report.testcases.front().error) return forward(*report.testcases.front().error);
    m.run = std::move(report.testcases.front());
    m.plan = std::move(report.plan);
    return m;
}

/// Seconds of every step in the iteration of median length.
std::vector<double> step_seconds(const Measurement& m) {
    std::vector<double> sum(m.plan.steps.size());
    if (m.run.seconds.empty()) return sum;
    for (const StepRecord& record : m.run.steps[median_iteration(m.run)])
        if (record.step < sum.size()) sum[record.step] += record.end - record.start;
    return sum;
}

std::string step_type(const Graph& graph, const PlanStep& step) {
    std::string text;
    for (const OprId opr : step.oprs) text += (text.empty() ? "" : " + ") + graph.type_text(opr);
    return text;
}

void print_shares(const Measurement& m, const Graph& graph, std::size_t top) {
    const std::vector<double> seconds = step_seconds(m);
    double total = 0;
    for (const double s : seconds) total += s;
    struct Share {
        double seconds = 0;
        std::size_t count = 0;
    };
    std::map<std::string, Share> types;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        Share& share = types[step_type(graph, m.plan.steps[i])];
        share.seconds += seconds[i];
        ++share.count;
    }
    std::vector<std::pair<std::string, Share>> sorted(types.begin(), types.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    Table by_type({{"share", Table::Align::right}, {"time", Table::Align::right}, {"steps", Table::Align::right}, {"operator type"}});
    for (std::size_t i = 0; i < sorted.size() && i < top; ++i)
        by_type.add({percent(sorted[i].second.seconds, total), format_seconds(sorted[i].second.seconds), std::to_string(sorted[i].second.count), sorted[i].first});
    print("\n" + by_type.text());

    std::vector<std::size_t> order(seconds.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
    Table by_step({{"share", Table::Align::right}, {"time", Table::Align::right}, {"operator"}, {"type"}, {"kernel"}});
    for (std::size_t i = 0; i < order.size() && i < top; ++i) {
        const PlanStep& step = m.plan.steps[order[i]];
        if (step.oprs.empty()) continue;
        by_step.add({percent(seconds[order[i]], total), format_seconds(seconds[order[i]]), graph.display_name(step.oprs.front()), step_type(graph, step),
                     step.backend + ": " + step.kernel});
    }
    print("\n" + by_step.text());
}

int bench(const BenchOptions& options) {
    auto prepared = prepare_run(options.file, options.flags, options.testcases);
    if (!prepared) return report(prepared.error());
    prepared->keep_one_testcase();
    RunRequest& request = prepared->request;
    const Graph& graph = prepared->graph();

    std::vector<std::string> backends = {options.flags.backend};
    if (!options.compare.empty()) backends.push_back(options.compare);
    std::vector<Measurement> measurements;
    for (const std::string& backend : backends) {
        // A process of its own for each: neither inherits the other's memory or threads.
        const auto runner = make_runner(options.flags.in_process);
        request.backend = backend;
        auto measured = measure(*runner, request, graph, options);
        if (!measured) return report(measured.error());
        measurements.push_back(std::move(*measured));
    }
    print(options.file + ": " + std::to_string(options.iterations) + " runs after " + std::to_string(options.warmup) + " warm-up runs, " +
          (options.flags.threads == 0 ? std::string("one thread per core") : std::to_string(options.flags.threads) + " thread" + (options.flags.threads == 1 ? "" : "s")) +
          (request.testcases.empty() ? std::string() : ", testcase " + std::to_string(request.testcases.front())) + "\n");
    for (const std::string& note : prepared->notes) print(note + "\n");
    Table table({{"backend"}, {"min", Table::Align::right}, {"median", Table::Align::right}, {"p95", Table::Align::right}, {"first run", Table::Align::right},
                 {"warm-up median", Table::Align::right}, {"memory", Table::Align::right}, {"weights", Table::Align::right}, {"times slower", Table::Align::right}});
    const double base = timing_of(measurements.front().run.seconds).median;
    for (const Measurement& m : measurements) {
        const Timing t = timing_of(m.run.seconds);
        table.add({m.backend, format_seconds(t.min), format_seconds(t.median), format_seconds(t.p95),
                   format_seconds(m.warmup.empty() ? m.run.seconds.front() : m.warmup.front()), m.warmup.empty() ? "" : format_seconds(timing_of(m.warmup).median),
                   m.plan.arena_bytes ? format_bytes(static_cast<double>(m.plan.arena_bytes)) : "", format_bytes(static_cast<double>(m.plan.weight_bytes)),
                   measurements.size() > 1 && base > 0 ? format_number(t.median / base, 3) : ""});
    }
    print("\n" + table.text());
    for (const std::string& note : measurements.front().plan.notes) print(note + "\n");
    print_shares(measurements.front(), graph, options.top);
    for (const Measurement& m : measurements)
        for (const AssertVerdict& v : m.run.verdicts)
            if (!v.passed) {
                print("\n" + m.backend + ": " + v.name + " differs from what the testcase expects; the times are those of a wrong result.\n");
                return differs;
            }
    return passed;
}

} // namespace

void add_bench(CLI::App& app, int& status) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command = app.add_subcommand("bench", "Measures how long a dump runs, and which operators take the time");
    command->add_option("file", options->file, "A dump (.mge), with or without testcases")->required();
    command->add_option("--testcase", options->testcases, "The testcase whose inputs are used (0)")->expected(1);
    add_run_flags(*command, options->flags, options->seed);
    command->add_option("--iter", options->iterations, "Counted runs")->capture_default_str()->check(CLI::Range(1, 1000000));
    command->add_option("--warmup", options->warmup, "Runs before them, shown apart")->capture_default_str();
    command->add_option("--compare", options->compare, "A second backend to measure");
    command->add_option("--top", options->top, "Rows of the operator tables")->capture_default_str();
    command->callback([options, command, &status] {
        const auto flags = finish_run_flags(options->flags, *command, options->seed);
        status = flags ? bench(*options) : report(flags.error());
    });
}

} // namespace megascope::cli
