#include <QComboBox>
#include <QFileInfo>
#include <QDockWidget>
#include <QStackedWidget>
#include <QTabWidget>

#include <algorithm>

#include "app/gui/compare_controller.h"
#include "app/gui/graph_look_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/memory_controller.h"
#include "app/gui/profile_compare_controller.h"
#include "app/gui/profile_report_controller.h"
#include "app/gui/run_record_page.h"
#include "session/profile_export.h"
#include "trace/assertion_edit.h"
#include "views/common/error_bar.h"
#include "views/common/number_text.h"
#include "views/dump/dump_preview.h"
#include "views/inspector/inspector.h"
#include "views/profile/timeline_panel.h"
#include "views/table/opr_table_model.h"
#include "views/table/problem_table_model.h"
#include "views/table/result_table_model.h"
#include "views/table/table_page.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

namespace megascope {

namespace {

constexpr std::uint32_t profileWarmup = 3;
constexpr std::uint32_t profileIterations = 10;

} // namespace

RunRequest MainWindow::baseRequest() const {
    RunRequest request;
    const OpenedModel& opened = *documents_->model();
    request.model = std::filesystem::path(opened.path.toStdU16String());
    request.stamp = opened.stamp;
    request.open = opened.open;
    request.graph = opened.graph;
    request.backend = backend_->currentData().toString().toStdString();
    request.threads = threads_->currentData().toInt();
    return request;
}

void MainWindow::runSelected() {
    if (!documents_->model()) return;
    purpose_ = RunPurpose::testcases;
    startRun(baseRequest(), testcases_->selectedTestcases(), testcases_->ownInputs());
}

void MainWindow::runAll() {
    if (!documents_->model()) return;
    purpose_ = RunPurpose::testcases;
    std::vector<std::uint32_t> all(testcaseEdits_->testcases().size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    startRun(baseRequest(), all, all.empty());
}

void MainWindow::profileRun() {
    if (!documents_->model()) return;
    purpose_ = RunPurpose::profile;
    RunRequest request = baseRequest();
    request.warmup = profileWarmup;
    request.iterations = profileIterations;
    std::vector<std::uint32_t> testcases;
    if (const auto current = testcases_->currentTestcase()) testcases = {*current};
    startRun(std::move(request), testcases, testcases.empty());
}

void MainWindow::computeValue(VarId var) {
    if (!documents_->model() || !var.valid()) return;
    purpose_ = RunPurpose::value;
    wantedValue_ = var;
    RunRequest request = baseRequest();
    request.keep = {var};
    std::vector<std::uint32_t> testcases;
    if (const auto current = testcases_->currentTestcase()) testcases = {*current};
    startRun(std::move(request), testcases, testcases.empty());
}

void MainWindow::compareRecordWithRun() {
    if (!documents_->model() || !record_->record()) return;
    purpose_ = RunPurpose::record;
    RunRequest request = baseRequest();
    request.keep = varsOfRecord(*record_->record(), *documents_->model()->facts->graph);
    std::erase_if(request.keep, [](VarId var) { return !var.valid(); });
    std::vector<std::uint32_t> testcases;
    if (const auto current = testcases_->currentTestcase()) testcases = {*current};
    startRun(std::move(request), testcases, testcases.empty());
}

void MainWindow::showRecordComparison(const std::shared_ptr<const RunReport>& report) {
    const double tolerance = testcaseEdits_->open() ? testcaseEdits_->list().now().maxerr : 1e-4;
    jobs_->start<RecordComparison>(
        QStringLiteral("record-comparison"), tr("Comparing with the run"),
        [report, record = record_->record(), facts = documents_->model()->facts, tolerance](const CancelToken& cancel, const Progress&) {
            return compareRecord(*record, varsOfRecord(*record, *facts->graph), *facts, report->testcases.front(), tolerance, cancel);
        },
        this,
        [this, record = record_->record()](JobRunner::Result<RecordComparison> made) {
            if (!made || record != record_->record()) return;
            showView(View::record);
            record_->setComparison(*made);
            log_->append(record_->caption());
        });
}

void MainWindow::startRun(RunRequest request, std::vector<std::uint32_t> testcases, bool ownInputs) {
    request.testcases = std::move(testcases);
    if (!ownInputs) {
        launch(request);
        return;
    }
    // Typed values may be files and large random tensors: they are made by a job.
    jobs_->start<std::vector<NamedTensor>>(
        QStringLiteral("inputs"), tr("Preparing inputs"),
        [sources = testcases_->editor()->sources()](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const std::vector<NamedTensor>>> {
            MGS_ASSIGN(std::vector<NamedTensor> values, makeInputs(sources, cancel));
            return std::make_shared<const std::vector<NamedTensor>>(std::move(values));
        },
        this,
        [this, request, model = documents_->model()](JobRunner::Result<std::vector<NamedTensor>> inputs) mutable {
            if (model != documents_->model()) return;
            if (!inputs) {
                if (inputs.error().code != ErrorCode::cancelled) error_->showError(inputs.error());
                return;
            }
            request.inputs = **inputs;
            launch(request);
        });
}

void MainWindow::launch(const RunRequest& request) {
    if (!documents_->model() || !documents_->modelIsCurrent()) return;
    const auto& graph = documents_->model()->facts->graph;
    if (!request.testcases.empty() && testcaseEdits_->open() && testcaseEdits_->list().edited()) {
        const TestcaseEdits& edits = testcaseEdits_->list().now();
        const bool asserts = has_assertions(*graph);
        std::vector<RunController::Given> given;
        for (const std::uint32_t number : request.testcases) {
            if (number >= edits.testcases.size()) continue;
            const EditedTestcase& testcase = edits.testcases[number];
            RunController::Given one{number, {}, {}, edits.maxerr};
            for (const TestcaseInput& input : testcase.inputs) one.inputs.push_back({input.name, input.value});
            for (const TestcaseInput& output : testcase.expected) (asserts ? one.inputs : one.expected).push_back({output.name, output.value});
            given.push_back(std::move(one));
        }
        runs_->startGiven(request, std::move(given), graph);
    } else {
        runs_->start(request, graph);
    }
    if (purpose_ == RunPurpose::testcases) testcases_->model()->setRunning(request.testcases);
}

void MainWindow::runFinished(const std::shared_ptr<const RunReport>& report) {
    testcases_->setRunning(false);
    updateActions();
    const auto& opened = documents_->model();
    if (!opened) return;
    const bool own = runs_->lastRequest().testcases.empty();
    values_.add(*report, own);

    std::vector<ProblemRow> notes;
    for (const std::string& note : report->plan.notes) notes.push_back({ProblemRow::Severity::note, {}, text(note), {}});
    for (const TestcaseRun& run : report->testcases) {
        if (!run.error) continue;
        notes.push_back({ProblemRow::Severity::error, {}, own ? tr("Own inputs: %1").arg(text(run.error->text())) : tr("Testcase #%1: %2").arg(run.testcase).arg(text(run.error->text())), {}});
    }
    problems_->setProblems(tr("run"), std::move(notes));

    const auto firstError = std::find_if(report->testcases.begin(), report->testcases.end(), [](const TestcaseRun& run) { return run.error.has_value(); });
    if (purpose_ == RunPurpose::value) {
        if (firstError != report->testcases.end()) error_->showError(*firstError->error);
        lookUpValue(wantedValue_);
        return;
    }
    if (purpose_ == RunPurpose::record) {
        if (firstError != report->testcases.end()) error_->showError(*firstError->error);
        else if (!report->testcases.empty() && record_->record()) showRecordComparison(report);
        return;
    }
    graphLook_->setReport(*report);
    const std::size_t oprs = opened->facts->graph->oprs().size();
    if (firstError == report->testcases.end()) memory_->addRun(*report);
    if (auto times = timesOfRun(*report, oprs)) {
        setTimes(std::move(times));
        const auto fused = fusedInto(*report, oprs);
        inspector_->setFusedInto(fused);
        oprs_->setFusedInto(fused);
    } else {
        colourGraph();
    }
    profileReport_->setRun(opened->facts, report, QFileInfo(opened->path).fileName());
    if (timelineOfRun_) timelinePanel_->setCaption(tr("An earlier profiled run than the one that the other views show; F6 profiles anew"));
    inspector_->clearValue();
    if (purpose_ == RunPurpose::profile) {
        if (firstError != report->testcases.end()) error_->showError(*firstError->error);
        else showRunTimeline(report);
        return;
    }
    testcases_->model()->setReport(report);
    results_->setReport(opened->facts, report, own);
    showStatistics(report);
    showTable(QStringLiteral("results"));
    log_->append(reportSentence(*report));
    if (firstError != report->testcases.end()) error_->showError(*firstError->error);
}

void MainWindow::showStatistics(const std::shared_ptr<const RunReport>& report) {
    jobs_->start<OutputStatistics>(
        QStringLiteral("output-statistics"), tr("Statistics of the outputs"),
        [report](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const OutputStatistics>> {
            MGS_ASSIGN(OutputStatistics statistics, outputStatistics(*report, cancel));
            return std::make_shared<const OutputStatistics>(std::move(statistics));
        },
        this,
        [this, report](JobRunner::Result<OutputStatistics> statistics) {
            if (!statistics || results_->report() != report) return;
            results_->setStatistics(*statistics);
            tablePage(QStringLiteral("results"))->widenColumns();
        });
}

void MainWindow::testcasesChanged() {
    values_.setTestcases(testcaseEdits_->testcases());
    testcaseDock_->setWindowTitle(testcaseEdits_->modified() ? tr("Testcases (edited)") : tr("Testcases"));
    updateActions();
}

void MainWindow::compareDump(const std::shared_ptr<const DumpPreview>& preview) {
    struct Sides {
        std::shared_ptr<const GraphFacts> before, after;
    };
    jobs_->start<Sides>(
        QStringLiteral("dump-comparison"), tr("Comparing"),
        [preview](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Sides>> {
            auto sides = std::make_shared<Sides>();
            MGS_ASSIGN(sides->before, computeGraphFacts(preview->before, cancel, progress));
            MGS_ASSIGN(sides->after, computeGraphFacts(preview->after, cancel, progress));
            return sides;
        },
        this,
        [this](JobRunner::Result<Sides> sides) {
            if (sides) compare_->compare((*sides)->before, (*sides)->after, tr("before"), tr("as it would be written"));
            else if (sides.error().code != ErrorCode::cancelled) error_->showError(sides.error());
        });
}

void MainWindow::showRunTimeline(const std::shared_ptr<const RunReport>& report) {
    struct RunTimeline {
        std::shared_ptr<const TimelineScene> scene;
        std::shared_ptr<const GraphProfile> profile;
        std::vector<ProfileOprId> ofOpr;
    };
    jobs_->start<RunTimeline>(
        QStringLiteral("run-timeline"), tr("Preparing the timeline"),
        [report, facts = documents_->model()->facts](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const RunTimeline>> {
            if (report->testcases.empty() || report->testcases.front().steps.empty()) return fail(ErrorCode::run_failed, "The run recorded no steps.");
            const TestcaseRun& run = report->testcases.front();
            const auto profile = profile_of_run(*facts->graph, facts->info, run.steps[median_iteration(run)], &report->plan);
            auto made = std::make_shared<RunTimeline>();
            made->ofOpr = join_profile(*facts->graph, facts->info, *profile).of_opr;
            made->scene = makeTimelineScene(timeline_of(profile));
            made->profile = profile;
            return made;
        },
        this,
        [this, report](JobRunner::Result<RunTimeline> made) {
            if (!made) {
                if (made.error().code != ErrorCode::cancelled) error_->showError(made.error());
                return;
            }
            showTimeline((*made)->scene);
            profileOfOpr_ = (*made)->ofOpr;
            timelineOfRun_ = true;
            const TestcaseRun& run = report->testcases.front();
            const QString title = tr("profiled run on %1, %n threads", nullptr, report->threads).arg(text(report->backend));
            timelinePanel_->setCaption(tr("%1: iteration %2 of %3, the one of median length (%4)").arg(title).arg(median_iteration(run) + 1).arg(run.seconds.size())
                                           .arg(secondsText(run.seconds[median_iteration(run)])));
            reportProfile((*made)->profile, title);
            profileCompare_->addRun(documents_->model()->facts, report);
            showView(View::timeline);
            highlightInTimeline(selection_->current());
        });
}

void MainWindow::runFailed(const Error& error) {
    testcases_->setRunning(false);
    if (error.code == ErrorCode::cancelled) testcases_->model()->stopped();
    else testcases_->model()->failed(tr("did not finish"));
    updateActions();
    if (error.code == ErrorCode::cancelled) {
        log_->append(tr("The run was stopped."));
        return;
    }
    log_->append(text(error.text()));
    problems_->setProblems(tr("run"), {{ProblemRow::Severity::error, {}, text(error.text()), {}}});
    QString sentence = text(error.message);
    if (!error.where.empty() && error.message.find(error.where) == std::string::npos) sentence = QStringLiteral("%1: %2").arg(text(error.where), sentence);
    // A worker that died left everything here as it was: one can just run again.
    error_->showMessage(ErrorBar::Severity::error, sentence, {}, error.code == ErrorCode::worker_died ? tr("Run again") : QString());
    barAction_ = [this] { launch(runs_->lastRequest()); };
    static_cast<void>(documents_->modelIsCurrent()); // a file that changed is what stopped it, and reloading helps
    if (!error.where.empty()) selectByName(text(error.where));
}

void MainWindow::lookUpValue(VarId var) {
    const auto known = values_.find(var, testcases_->currentTestcase());
    if (!known) {
        valueStack_->setCurrentIndex(1);
        return;
    }
    inspector_->setValue(var, known->value, known->source);
    const QString testcase = known->ofRun ? (testcases_->currentTestcase() ? tr("testcase #%1, ").arg(*testcases_->currentTestcase()) : tr("own inputs, ")) : QString();
    value_->setTensor(known->value, text(documents_->model()->facts->graph->display_name(var)), testcase + known->source);
    valueStack_->setCurrentIndex(0);
}

} // namespace megascope
