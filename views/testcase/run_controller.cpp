#include "views/testcase/run_controller.h"

#include <algorithm>
#include <cmath>

#include "session/assertions.h"
#include "session/profile_export.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

const QString slot = QStringLiteral("run");

/// Compares what ran with what a testcase expects, by AssertEqual's rule. Verdicts that the run itself gave (the graph asserts) are
/// held against the testcase's own tolerance.
void judge(TestcaseRun& run, const RunController::Given& given, const Graph& graph) {
    for (AssertVerdict& verdict : run.verdicts) {
        verdict.tolerance = given.maxerr;
        if (verdict.mismatch.empty()) verdict.passed = verdict.max_error >= 0 && verdict.max_error <= given.maxerr;
    }
    if (!run.verdicts.empty()) return;
    for (std::size_t i = 0; i < run.outputs.size() && i < graph.outputs().size(); ++i) {
        const VarId output = asserted_var(graph, graph.outputs()[i].var);
        const std::string name = graph.display_name(output);
        const auto expected = std::ranges::find(given.expected, name + ":expect", &NamedTensor::name);
        if (expected == given.expected.end() || !run.outputs[i].has_value()) continue;
        AssertVerdict verdict = assert_equal(expected->value, run.outputs[i], given.maxerr);
        verdict.opr = graph.var(output).producer;
        verdict.name = name;
        run.verdicts.push_back(std::move(verdict));
    }
}

} // namespace

RunController::RunController(JobRunner* jobs, std::unique_ptr<Runner> runner, QObject* parent)
    : QObject(parent), jobs_(jobs), runner_(std::make_shared<SharedRunner>(std::move(runner))) {}

void RunController::start(const RunRequest& request, std::shared_ptr<const Graph> graph) {
    launch(request, std::max<std::size_t>(request.testcases.size(), 1), std::move(graph),
           [request](Runner& runner, const RunProgressCallback& progress, const CancelToken& cancel) { return runner.run(request, progress, cancel); });
}

void RunController::startGiven(const RunRequest& request, std::vector<Given> testcases, std::shared_ptr<const Graph> graph) {
    const std::size_t count = testcases.size();
    launch(request, count, graph,
           [request, testcases = std::move(testcases), graph](Runner& runner, const RunProgressCallback& progress, const CancelToken& cancel) -> Expected<RunReport> {
               RunReport whole;
               for (const Given& given : testcases) {
                   RunRequest one = request;
                   one.testcases.clear();
                   one.inputs = given.inputs;
                   const auto at = [&](const RunProgress& p) {
                       RunProgress moved = p;
                       moved.testcase = given.number;
                       progress(moved);
                   };
                   MGS_ASSIGN(RunReport report, runner.run(one, at, cancel));
                   TestcaseRun run = std::move(report.testcases.front());
                   run.testcase = given.number;
                   if (!run.error) judge(run, given, *graph);
                   report.testcases.clear();
                   auto before = std::move(whole.testcases);
                   if (before.empty()) whole = std::move(report);
                   whole.testcases = std::move(before);
                   whole.testcases.push_back(std::move(run));
               }
               return whole;
           });
}

void RunController::launch(const RunRequest& request, std::size_t testcases, std::shared_ptr<const Graph> graph, Work work) {
    last_ = request;
    const QString title = testcases > 1 ? tr("Running %n testcases", nullptr, static_cast<int>(testcases)) : tr("Running");
    const std::uint64_t rounds = std::max<std::uint64_t>(1, testcases * (request.warmup + request.iterations));
    job_ = jobs_->start<RunReport>(
        slot, title,
        [shared = runner_, rounds, graph = std::move(graph), work = std::move(work)](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const RunReport>> {
            std::uint64_t round = 0;
            std::pair<std::uint32_t, std::uint32_t> seen{0, 0};
            const auto report = [&](const RunProgress& p) {
                if (const std::pair now{p.testcase, p.iteration}; now != seen) {
                    seen = now;
                    ++round;
                }
                const std::string what = p.opr.valid() && p.opr.index() < graph->oprs().size() ? graph->type_text(p.opr) : std::string();
                progress.report(what, round * p.steps_total + p.steps_done, rounds * p.steps_total);
            };
            MGS_ASSIGN(RunReport result, work(*shared, report, cancel));
            return std::make_shared<const RunReport>(std::move(result));
        },
        this,
        [this](JobRunner::Result<RunReport> result) {
            job_ = {};
            if (result) emit finished(*result);
            else emit failed(result.error());
        });
    emit started();
}

void RunController::plan(RunRequest request, std::function<void(std::shared_ptr<const RunReport>)> done) {
    request.plan_only = true;
    jobs_->start<RunReport>(
        QStringLiteral("run-plan"), tr("Planning the run"),
        [shared = runner_, request = std::move(request)](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const RunReport>> {
            MGS_ASSIGN(RunReport report, shared->run(request, {}, cancel));
            return std::make_shared<const RunReport>(std::move(report));
        },
        this, [done = std::move(done)](JobRunner::Result<RunReport> report) { done(report ? *report : nullptr); });
}

void RunController::stop() {
    if (job_.valid()) jobs_->cancel(job_);
}

bool RunController::running() const { return job_.valid() && jobs_->busy(slot); }

std::shared_ptr<const OprTimes> timesOfRun(const RunReport& report, std::size_t oprs) {
    auto times = std::make_shared<OprTimes>();
    times->seconds.assign(oprs, OprTimes::none);
    std::size_t measured = 0;
    for (const TestcaseRun& run : report.testcases) {
        if (run.seconds.empty()) continue; // it failed
        ++measured;
        for (const StepRecord& step : run.steps[median_iteration(run)]) {
            if (!step.opr.valid() || step.opr.index() >= oprs) continue;
            double& sum = times->seconds[step.opr.index()];
            sum = (std::isnan(sum) ? 0 : sum) + (step.end - step.kern);
        }
    }
    if (measured == 0) return nullptr;
    for (double& seconds : times->seconds) {
        if (std::isnan(seconds)) continue;
        seconds /= static_cast<double>(measured);
        times->total += seconds;
    }
    times->of_run = true;
    for (const PlanStep& step : report.plan.steps)
        if (step.oprs.size() > 1) times->fused.push_back(step.oprs);
    times->source = "run on " + report.backend + ", " + std::to_string(report.threads) + (report.threads == 1 ? " thread" : " threads");
    return times;
}

std::shared_ptr<const std::vector<OprId>> fusedInto(const RunReport& report, std::size_t oprs) {
    auto into = std::make_shared<std::vector<OprId>>(oprs);
    for (const TestcaseRun& run : report.testcases) {
        if (run.steps.empty()) continue;
        for (const StepRecord& record : run.steps.front()) {
            if (record.step >= report.plan.steps.size()) continue;
            for (const OprId opr : report.plan.steps[record.step].oprs)
                if (opr != record.opr && opr.index() < oprs) (*into)[opr.index()] = record.opr;
        }
    }
    return into;
}

QString reportSentence(const RunReport& report) {
    std::size_t passed = 0;
    std::size_t judged = 0;
    double worst = 0;
    for (const TestcaseRun& run : report.testcases) {
        if (run.passed()) ++passed;
        judged += run.verdicts.size();
        for (const AssertVerdict& v : run.verdicts)
            if (std::isnan(v.max_error) || v.max_error > worst) worst = v.max_error;
    }
    const auto all = report.testcases.size();
    if (judged == 0 && passed == all) return RunController::tr("The run finished; the graph asserts nothing.");
    if (passed == all) return RunController::tr("%n testcases passed, largest error %1.", nullptr, static_cast<int>(all)).arg(numberText(worst, 3));
    return RunController::tr("%1 of %n testcases failed.", nullptr, static_cast<int>(all)).arg(all - passed);
}

} // namespace megascope
