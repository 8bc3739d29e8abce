// Runs the testcases of dumps on a backend and prints times. Not a test; nothing depends on what it prints.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "exec/machine_peak.h"
#include "format/reader.h"
#include "opr/cost.h"
#include "session/runner.h"

using namespace megascope;

namespace {

struct Options {
    RunRequest request;
    bool steps = false;
    bool machine = false;
    std::vector<std::string> files;
};

int usage() {
    std::puts(
        "bench_nets [--backend cpu] [--threads 1] [--iterations 50] [--warmup 5] [--unfused] [--steps] [--machine] FILE…\n"
        "Runs testcase 0 of each file (a dump with testcases). --steps prints where the time goes, --machine measures what\n"
        "one core can do at most and relates the rates to it. Operations and bytes are those of the operators one by one:\n"
        "Winograd's algorithm does fewer, and values that stay in a cache or are fused away cost no memory, so both may pass 100 "
        "%.");
    return 2;
}

struct Rates {
    double flops = 0;
    double bytes = 0;
};

/// Operations and bytes of one run, by Megascope's own count.
Rates work_of(const std::string& path) {
    Rates rates;
    auto file = MappedFile::open(path);
    if (!file) return rates;
    const auto model = read_model(*std::move(file));
    if (!model) return rates;
    const Graph& graph = *(*model)->main().graph;
    const GraphInfo info = infer_graph(graph);
    for (const Opr& opr : graph.oprs()) {
        const Cost cost = opr_cost(graph, info, opr.id);
        rates.flops += cost.flops.value_or(cost.computation.value_or(0));
        rates.bytes += cost.memory.value_or(0);
    }
    return rates;
}

void print_steps(const RunReport& report, const std::string& path) {
    const auto& iterations = report.testcases.front().steps;
    std::shared_ptr<const Graph> graph;
    if (auto file = MappedFile::open(path))
        if (const auto model = read_model(*std::move(file))) graph = (*model)->main().graph;
    std::printf("  %8s %-10s %-28s %s\n", "ms", "backend", "kernel", "operators");
    std::map<std::string, double> by_kernel;
    for (std::size_t s = 0; s < report.plan.steps.size(); ++s) {
        std::vector<double> times;
        for (const auto& iteration : iterations)
            for (const StepRecord& record : iteration)
                if (record.step == s) times.push_back(record.end - record.kern);
        if (times.empty()) continue;
        std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
        const double median = times[times.size() / 2];
        const PlanStep& step = report.plan.steps[s];
        by_kernel[step.backend + " " + step.kernel] += median;
        std::string oprs;
        for (const OprId id : step.oprs)
            oprs += (oprs.empty() ? "" : " ") + (graph ? graph->type_text(id) : std::string()) + "[" +
                    std::to_string(id.value()) + "]";
        if (step.backend == "reference" && graph) by_kernel["  of them " + graph->type_text(step.oprs.front())] += median;
        std::printf("  %8.3f %-10s %-28s %s\n", median * 1e3, step.backend.c_str(), step.kernel.c_str(), oprs.c_str());
    }
    for (const auto& [kernel, seconds] : by_kernel) std::printf("  total %8.3f ms  %s\n", seconds * 1e3, kernel.c_str());
    for (const std::string& note : report.plan.notes) std::printf("  note: %s\n", note.c_str());
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    options.request.testcases = {0};
    options.request.iterations = 50;
    options.request.warmup = 5;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word == "--backend" && more)
            options.request.backend = argv[++i];
        else if (word == "--threads" && more)
            options.request.threads = std::atoi(argv[++i]);
        else if (word == "--iterations" && more)
            options.request.iterations = static_cast<std::uint32_t>(std::atoi(argv[++i]));
        else if (word == "--warmup" && more)
            options.request.warmup = static_cast<std::uint32_t>(std::atoi(argv[++i]));
        else if (word == "--unfused")
            options.request.unfused = true;
        else if (word == "--steps")
            options.steps = true;
        else if (word == "--machine")
            options.machine = true;
        else if (word.starts_with("--"))
            return usage();
        else
            options.files.push_back(word);
    }
    if (options.files.empty()) return usage();

    struct {
        double flops = 0;
        double bytes = 0;
    } limits; // of one thread
    if (options.machine) {
        limits = {multiply_add_peak(), copy_bandwidth()};
        std::printf("one core: %.1f GFLOP/s multiply-add, %.1f GB/s copying\n", limits.flops / 1e9, limits.bytes / 1e9);
    }
    int failed = 0;
    const auto runner = make_local_runner();
    for (const std::string& path : options.files) {
        options.request.model = path;
        const auto report = runner->run(options.request, {}, {});
        if (!report) {
            std::printf("%s: %s\n", path.c_str(), report.error().text().c_str());
            ++failed;
            continue;
        }
        const TestcaseRun& run = report->testcases.front();
        if (run.error) {
            std::printf("%s: %s\n", path.c_str(), run.error->text().c_str());
            ++failed;
            continue;
        }
        std::vector<double> seconds = run.seconds;
        std::ranges::sort(seconds);
        double worst = 0;
        for (const AssertVerdict& verdict : run.verdicts) worst = std::max(worst, verdict.max_error);
        if (!run.passed()) ++failed;
        std::printf("%s: %s (error %.3g), min %.3f ms, median %.3f ms, p95 %.3f ms, arena %.2f MiB, weights %.2f MiB\n",
                    path.c_str(), run.passed() ? "passed" : "FAILED", worst, seconds.front() * 1e3,
                    seconds[seconds.size() / 2] * 1e3, seconds[std::min(seconds.size() - 1, seconds.size() * 95 / 100)] * 1e3,
                    static_cast<double>(report->plan.arena_bytes) / 1048576,
                    static_cast<double>(report->plan.weight_bytes) / 1048576);
        for (const AssertVerdict& verdict : run.verdicts)
            if (!verdict.passed)
                std::printf("  %s: %s expected %g, got %g at %llu\n", verdict.name.c_str(), verdict.mismatch.c_str(),
                            verdict.expected, verdict.got, static_cast<unsigned long long>(verdict.index));
        if (options.machine) {
            const Rates work = work_of(path);
            std::printf("  %.1f GFLOP/s (%.0f %% of a core's peak), operands %.1f GB/s (%.0f %% of copying)\n",
                        work.flops / seconds.front() / 1e9, 100 * work.flops / seconds.front() / limits.flops,
                        work.bytes / seconds.front() / 1e9, 100 * work.bytes / seconds.front() / limits.bytes);
        }
        if (options.steps) print_steps(*report, path);
    }
    return failed == 0 ? 0 : 1;
}
