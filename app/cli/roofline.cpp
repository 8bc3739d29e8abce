#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "facts.h"
#include "profile/graph_profile_reader.h"
#include "profile/gunzip.h"
#include "running.h"
#include "session/profile_export.h"
#include "session/profile_graph.h"
#include "session/roofline.h"

namespace megascope::cli {

namespace {

struct RooflineOptions {
    std::string file;
    RunFlags flags;
    std::string seed;
    std::vector<std::uint32_t> testcases;
    std::uint32_t iterations = 10;
    std::uint32_t warmup = 3;
    std::size_t top = 20;
    bool measure = false;
};

constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

/// A graph, what its operators cost, and how long they took.
struct Timed {
    std::shared_ptr<const Graph> graph;
    GraphInfo info;
    std::vector<Cost> costs;
    std::vector<double> seconds;
    std::vector<std::vector<OprId>> groups;
};

Timed timed_by_profile(const GraphProfile& profile) {
    ProfileGraph own = profile_graph(profile);
    Timed timed;
    const ProfileTimes times = longest_times(profile);
    for (const ProfileOprId opr : own.of_opr) {
        const auto& span = !opr.valid() ? times.device.front() : times.device[opr.index()] ? times.device[opr.index()] : times.host[opr.index()];
        timed.seconds.push_back(opr.valid() && span ? span->kernel_time() : no_time);
    }
    timed.graph = std::move(own.graph);
    timed.info = std::move(own.info);
    timed.costs = std::move(own.costs);
    return timed;
}

Expected<Timed> timed_by_run(const RooflineOptions& options) {
    MGS_ASSIGN(PreparedRun prepared, prepare_run(options.file, options.flags, options.testcases));
    prepared.keep_one_testcase();
    RunRequest request = prepared.request;
    request.iterations = options.iterations;
    request.warmup = options.warmup;
    const auto runner = make_runner(options.flags.in_process);
    MGS_ASSIGN(const RunReport ran, run_showing_progress(*runner, request, prepared.graph()));
    const TestcaseRun& run = ran.testcases.front();
    if (run.error) return forward(*run.error);
    Timed timed;
    timed.graph = prepared.stored->graph;
    timed.info = infer_graph(*timed.graph);
    timed.seconds.assign(timed.graph->oprs().size(), no_time);
    for (const Opr& opr : timed.graph->oprs()) timed.costs.push_back(opr_cost(*timed.graph, timed.info, opr.id));
    // One whole iteration, so that a hiccup of another one does not become an operator's time.
    for (const StepRecord& step : run.steps[median_iteration(run)]) timed.seconds[step.opr.index()] = step.end - step.kern;
    for (const PlanStep& step : ran.plan.steps)
        if (step.oprs.size() > 1) timed.groups.push_back(step.oprs);
    return timed;
}

Expected<Timed> timed_of(const RooflineOptions& options) {
    MGS_ASSIGN(auto file, MappedFile::open(options.file));
    if (is_gzip(file->bytes())) {
        MGS_ASSIGN(file, gunzip(*file));
    }
    if (!looks_like_graph_profile(file->bytes())) return timed_by_run(options);
    MGS_ASSIGN(const auto profile, read_graph_profile(file->bytes()));
    return timed_by_profile(*profile);
}

int show_roofline(const RooflineOptions& options) {
    auto timed = timed_of(options);
    if (!timed) {
        Error error = timed.error();
        if (error.where.empty() && error.message.find(options.file) == std::string::npos) error.where = options.file;
        return report(error);
    }
    std::optional<MachinePeak> peak;
    if (options.measure) {
        const auto measured = measure_machine_peak(options.flags.threads);
        if (!measured) return report(measured.error());
        peak = *measured;
        print((peak->cpu.empty() ? std::string("This machine") : peak->cpu) + ", " + std::to_string(peak->threads) + (peak->threads == 1 ? " thread: " : " threads: ") +
              format_si(peak->bandwidth, "B/s") + " memory, " + format_si(peak->float32, "FLOP/s") + " float32" +
              (peak->int8 ? ", " + format_si(*peak->int8, "OP/s") + " int8" : std::string()) + "; ridge at " + format_number(ridge(peak->float32, peak->bandwidth), 3) + " operations per byte\n");
        if (peak->disturbed()) print("Other programs took part of the processor meanwhile (" + format_number(100 * peak->share, 3) + " % were left): these ceilings are too low.\n");
        print("\n");
    }
    const Roofline roofline = make_roofline(*timed->graph, timed->info, timed->costs, timed->seconds, timed->groups);
    using Align = Table::Align;
    std::vector<Table::Column> columns = {{"time", Align::right}, {"operations", Align::right}, {"bytes", Align::right}, {"op/B", Align::right}, {"rate", Align::right}};
    if (peak) columns.insert(columns.end(), {{"of attainable", Align::right}, {"limit"}});
    columns.insert(columns.end(), {{"type"}, {"operator"}});
    Table table(std::move(columns));
    for (auto& row : roofline_cells(*timed->graph, roofline, peak ? &*peak : nullptr, options.top)) table.add(std::move(row));
    if (!table.empty()) print(table.text());
    if (const std::string rest = roofline.sentence(); !rest.empty()) print("\n" + rest + "\n");
    return passed;
}

} // namespace

void add_roofline(CLI::App& app, int& status) {
    auto options = std::make_shared<RooflineOptions>();
    CLI::App* command = app.add_subcommand("roofline", "Operations per byte and per second of each operator, and how close it comes to what the machine can do");
    command->add_option("file", options->file, "A profile (JSON), or a dump (.mge) to run")->required();
    command->add_flag("--measure", options->measure, "Measure this machine's memory bandwidth and arithmetic first (some seconds)");
    command->add_option("--testcase", options->testcases, "The testcase whose inputs are used (0)")->expected(1);
    add_run_flags(*command, options->flags, options->seed);
    command->add_option("--iter", options->iterations, "Counted runs of a dump")->capture_default_str()->check(CLI::Range(1, 1000000));
    command->add_option("--warmup", options->warmup, "Runs before them that do not count")->capture_default_str();
    command->add_option("--top", options->top, "Rows, the slowest first; 0 = all")->capture_default_str();
    command->callback([options, command, &status] {
        const auto flags = finish_run_flags(options->flags, *command, options->seed);
        status = flags ? show_roofline(*options) : report(flags.error());
    });
}

} // namespace megascope::cli
