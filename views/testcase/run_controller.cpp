#include "views/testcase/run_controller.h"

#include <cmath>

#include "views/common/number_text.h"

namespace megascope {

namespace {

const QString slot = QStringLiteral("run");

} // namespace

RunController::RunController(JobRunner* jobs, std::unique_ptr<Runner> runner, QObject* parent)
    : QObject(parent), jobs_(jobs), runner_(std::make_shared<SharedRunner>()) {
    runner_->runner = std::move(runner);
}

void RunController::start(const RunRequest& request, std::shared_ptr<const Graph> graph) {
    last_ = request;
    const QString title = request.testcases.size() > 1 ? tr("Running %n testcases", nullptr, static_cast<int>(request.testcases.size())) : tr("Running");
    job_ = jobs_->start<RunReport>(
        slot, title,
        [shared = runner_, request, graph = std::move(graph)](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const RunReport>> {
            const std::lock_guard lock(shared->mutex);
            if (cancel.cancelled()) return CancelToken::error();
            const std::uint64_t rounds = std::max<std::uint64_t>(1, std::max<std::size_t>(request.testcases.size(), 1) * (request.warmup + request.iterations));
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
            MGS_ASSIGN(RunReport result, shared->runner->run(request, report, cancel));
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

void RunController::stop() {
    if (job_.valid()) jobs_->cancel(job_);
}

bool RunController::running() const { return job_.valid() && jobs_->busy(slot); }

std::shared_ptr<const OprTimes> timesOfRun(const RunReport& report, std::size_t oprs) {
    auto times = std::make_shared<OprTimes>();
    times->seconds.assign(oprs, OprTimes::none);
    std::size_t iterations = 0;
    for (const TestcaseRun& run : report.testcases) {
        for (const auto& steps : run.steps) {
            ++iterations;
            for (const StepRecord& step : steps) {
                if (!step.opr.valid() || step.opr.index() >= oprs) continue;
                double& sum = times->seconds[step.opr.index()];
                sum = (std::isnan(sum) ? 0 : sum) + (step.end - step.kern);
            }
        }
    }
    if (iterations == 0) return nullptr;
    for (double& seconds : times->seconds) {
        if (std::isnan(seconds)) continue;
        seconds /= static_cast<double>(iterations);
        times->total += seconds;
    }
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
