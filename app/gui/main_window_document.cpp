#include <QActionGroup>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>

#include <cmath>

#include "app/gui/compare_controller.h"
#include "app/gui/file_page.h"
#include "app/gui/find_anything.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_export_controller.h"
#include "app/gui/graph_look_controller.h"
#include "app/gui/flame_controller.h"
#include "app/gui/memory_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/profile_compare_controller.h"
#include "app/gui/profile_report_controller.h"
#include "app/gui/recent_files.h"
#include "app/gui/roofline_controller.h"
#include "app/gui/run_record_page.h"
#include "app/gui/save_controller.h"
#include "app/gui/selection_controller.h"
#include "app/gui/weights_controller.h"
#include "views/common/error_bar.h"
#include "views/common/number_text.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/profile/timeline_panel.h"
#include "views/table/opr_table_model.h"
#include "views/table/outline_view.h"
#include "views/table/problem_table_model.h"
#include "views/table/result_table_model.h"
#include "views/table/var_table_model.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

namespace megascope {

void MainWindow::showGraph(const std::shared_ptr<const GraphFacts>& facts) {
    selection_->reset();
    times_.reset();
    compare_->setTimes(nullptr);
    profileCompare_->graphChanged();
    profileReport_->clear();
    flame_->clear();
    roofline_->clear();
    memory_->setGraph(facts);
    oprs_->setFacts(facts);
    vars_->setFacts(facts);
    weights_->setFacts(facts);
    weightTools_->look();
    outline_->setFacts(facts);
    inspector_->setFacts(facts);
    find_->setFacts(facts);
    if (facts) graph_->setGraph(facts->graph, std::shared_ptr<const GraphInfo>(facts, &facts->info), {facts, &facts->steps});
    else graph_->setGraph(nullptr, nullptr);
    const QString path = documents_->model() ? documents_->model()->path : QString();
    selecting_->setFacts(facts);
    graphTools_->setFacts(facts, path);
    graphExport_->setSource(facts != nullptr, path);
    graphLook_->setFacts(facts);
}

void MainWindow::showModel(const std::shared_ptr<const OpenedModel>& opened) {
    // The same file again: whoever looked at something goes on looking at it.
    const bool again = shown_ && shown_->path == opened->path && shown_->graph == opened->graph;
    QString selected;
    if (again) {
        const Graph& graph = *shown_->facts->graph;
        const Pick pick = selection_->current();
        if (pick.opr.valid()) selected = text(graph.display_name(pick.opr));
        else if (pick.var.valid()) selected = text(graph.display_name(pick.var));
    }
    shown_ = opened;
    runs_->stop();
    values_.setModel(opened);
    results_->setReport(nullptr, nullptr);
    showGraph(opened->facts);
    testcases_->setModel(opened->model, opened->facts->graph);
    testcaseEdits_->setSource(std::filesystem::path(opened->path.toStdU16String()), opened->open, opened->stamp);
    file_->setModel(opened);
    value_->clear();
    valueStack_->setCurrentIndex(1);
    if (timelineOfRun_) showTimeline(nullptr);
    if (const auto& profile = documents_->profile(); profile && timelineScene_ == profile->scene) {
        // It stays open beside the model; what the two have in common is found by a job.
        profileOfOpr_.clear();
        if (profile->profile) reportProfile(profile->profile, QFileInfo(profile->path).fileName());
        else profileReport_->setTrace(profile->scene, QFileInfo(profile->path).fileName());
    }
    problems_->clear();
    fileProblems(*opened);
    centre_->setCurrentWidget(tabs_);
    if (!again) {
        if (perspective_ == Perspective::compare) setPerspective(Perspective::inspect);
        if (perspective_ != Perspective::profile) tabs_->setCurrentWidget(graph_);
    }
    recent_->add(opened->path);
    setWindowTitle(QStringLiteral("%1 — Megascope").arg(QFileInfo(opened->path).fileName()));
    setWindowFilePath(opened->path);
    log_->append(tr("Opened %1: %2").arg(opened->path, text(opened->model->description)));
    if (!selected.isEmpty()) selectByName(selected);
    updateActions();
    updateStatus();
}

void MainWindow::fileProblems(const OpenedModel& opened) {
    std::vector<ProblemRow> file;
    if (const auto graphs = opened.model->graphs.size(); graphs > 1)
        file.push_back({ProblemRow::Severity::note, {}, tr("This file holds %n graphs; the File tab chooses which one is shown.", nullptr, static_cast<int>(graphs)), {}});
    for (const std::string& warning : opened.model->warnings) file.push_back({ProblemRow::Severity::warning, {}, text(warning), {}});
    problems_->setProblems(tr("file"), std::move(file));
    std::vector<ProblemRow> shapes;
    for (const InferProblem& problem : opened.facts->info.problems)
        shapes.push_back({ProblemRow::Severity::warning, {}, QStringLiteral("%1: %2").arg(text(opened.facts->graph->display_name(problem.opr)), text(problem.error.message)), Pick::of(problem.opr)});
    problems_->setProblems(tr("shapes"), std::move(shapes));
}

void MainWindow::showClosed() {
    shown_.reset();
    runs_->stop();
    values_.setModel(nullptr);
    results_->setReport(nullptr, nullptr);
    showGraph(nullptr);
    testcases_->setModel(nullptr, nullptr);
    file_->setModel(nullptr);
    problems_->clear();
    value_->clear();
    valueStack_->setCurrentIndex(1);
    showTimeline(nullptr);
    record_->setRecord(nullptr);
    tabs_->setTabVisible(tabs_->indexOf(record_), false);
    error_->dismiss();
    centre_->setCurrentIndex(0);
    setWindowTitle(QStringLiteral("Megascope"));
    setWindowFilePath({});
    updateActions();
    updateStatus();
}

void MainWindow::openFailed(const QString& path, const Error& error) {
    const QString name = QFileInfo(path).fileName();
    // The message names what the bytes are; the bar says which file it is about.
    QString sentence = text(error.message);
    if (!sentence.contains(name)) sentence = QStringLiteral("%1: %2").arg(name, sentence);
    QString details = path;
    if (error.offset) details += QLatin1Char('\n') + tr("At byte %1.").arg(*error.offset);
    if (!error.where.empty()) details += QLatin1Char('\n') + text(error.where);
    error_->showMessage(ErrorBar::Severity::error, sentence, details);
    log_->append(tr("Could not open %1: %2").arg(path, text(error.text())));
}

void MainWindow::sayChanged(const QString& path) {
    const QString name = QFileInfo(path).fileName();
    const bool model = documents_->model() && documents_->model()->path == path;
    const QString sentence = model ? tr("%1 changed on disk: reload it before anything is run or written.").arg(name)
                                   : tr("%1 changed on disk.").arg(name);
    log_->append(sentence);
    error_->showMessage(ErrorBar::Severity::warning, sentence, path + (model ? QLatin1Char('\n') + tr("Values that are shown may be those of the file that was opened, or of the one that is there now.") : QString()), tr("Reload"));
    barAction_ = [this] { reload(); };
}

void MainWindow::showRecord(const std::shared_ptr<const RunRecord>& record) {
    record_->setRecord(record);
    tabs_->setTabVisible(tabs_->indexOf(record_), true);
    recent_->add(record->path);
    log_->append(tr("Opened %1: %2").arg(record->path, record_->caption()));
    if (!documents_->model()) setWindowTitle(QStringLiteral("%1 — Megascope").arg(QFileInfo(record->path).fileName()));
    showView(View::record);
    updateActions();
}

void MainWindow::showSaved(const std::shared_ptr<const SavedDump>& dump) {
    const QString what = dump->append ? tr("Appended to %1") : tr("Saved %1");
    const QString facts = QStringLiteral("%1, %2, %3").arg(text(container_name(dump->container)), tr("%n operators", nullptr, static_cast<int>(dump->summary.opr_count)),
                                                           tr("%1 bytes").arg(dump->file_bytes));
    log_->append(what.arg(dump->path) + QStringLiteral(": ") + facts);
    statusBar()->showMessage(what.arg(QFileInfo(dump->path).fileName()) + QStringLiteral(": ") + facts, 10000);
    recent_->add(dump->path);
    // What is shown must be what a run would open.
    const auto& opened = documents_->model();
    if (opened && QFileInfo(opened->path).canonicalFilePath() == QFileInfo(dump->path).canonicalFilePath()) open(opened->path);
}

void MainWindow::showTimeline(std::shared_ptr<const TimelineScene> scene) {
    timelineScene_ = std::move(scene);
    profileOfOpr_.clear();
    timelinePanel_->setScene(timelineScene_);
    timelineStack_->setCurrentIndex(timelineScene_ ? 0 : 1);
    if (!timelineScene_) timelineOfRun_ = false;
}

void MainWindow::sliceClicked(std::uint32_t source) {
    if (!timelineScene_ || !timelineScene_->timeline->profile) return;
    for (std::size_t i = 0; i < profileOfOpr_.size(); ++i) {
        if (!profileOfOpr_[i].valid() || profileOfOpr_[i].value() != source) continue;
        selection_->select(Pick::of(OprId(i)));
        return;
    }
    timeline_->setHighlighted(source); // an operator that is not in the open graph
}

void MainWindow::highlightInTimeline(Pick pick) {
    if (!timelineScene_ || !timelineScene_->timeline->profile) return;
    OprId opr = pick.opr;
    if (pick.var.valid() && documents_->model()) opr = documents_->model()->facts->graph->var(pick.var).producer;
    const bool known = opr.valid() && opr.index() < profileOfOpr_.size() && profileOfOpr_[opr.index()].valid();
    timeline_->setHighlighted(known ? std::optional(profileOfOpr_[opr.index()].value()) : std::nullopt);
}

std::shared_ptr<const GraphFacts> MainWindow::shownFacts() const {
    if (documents_->model()) return documents_->model()->facts;
    return documents_->profile() ? documents_->profile()->facts : nullptr;
}

void MainWindow::showProfile(const std::shared_ptr<const OpenedProfile>& opened) {
    timelineOfRun_ = false;
    showTimeline(opened->scene);
    std::vector<ProblemRow> rows;
    const auto& warnings = opened->profile ? opened->profile->warnings : opened->scene->timeline->warnings;
    for (const std::string& warning : warnings) rows.push_back({ProblemRow::Severity::warning, {}, text(warning), {}});
    problems_->setProblems(tr("profile"), std::move(rows));
    recent_->add(opened->path);
    log_->append(tr("Opened %1: %n slices", nullptr, static_cast<int>(opened->scene->timeline->slices())).arg(opened->path));
    if (!documents_->model()) {
        setWindowTitle(QStringLiteral("%1 — Megascope").arg(QFileInfo(opened->path).fileName()));
        showGraph(opened->facts);
        profileOfOpr_ = opened->ofOpr;
        if (opened->times) setTimes(opened->times);
        memory_->addProfile(opened->profile, opened->ofOpr, QFileInfo(opened->path).fileName());
    }
    profileCompare_->profileOpened(opened);
    const QString name = QFileInfo(opened->path).fileName();
    timelinePanel_->setCaption(name);
    if (opened->profile) reportProfile(opened->profile, name);
    else profileReport_->setTrace(opened->scene, name);
    if (!opened->profile) flame_->showTrace(opened->scene, QFileInfo(opened->path).fileName());
    showView(View::timeline);
    updateActions();
    updateStatus();
}

void MainWindow::reportProfile(std::shared_ptr<const GraphProfile> profile, const QString& title) {
    profileReport_->setProfile(std::move(profile), title, shownFacts(), profileOfOpr_);
}

void MainWindow::showJoined(const std::shared_ptr<const JoinedProfile>& joined) {
    std::vector<ProblemRow> rows;
    const bool all = joined->join.timed_matched == joined->join.timed;
    rows.push_back({all ? ProblemRow::Severity::note : ProblemRow::Severity::warning, {}, text(joined->join.sentence()), {}});
    problems_->setProblems(tr("profile and graph"), std::move(rows));
    log_->append(text(joined->join.sentence()));
    if (timelineScene_ == joined->opened->scene) {
        profileOfOpr_ = joined->join.trustworthy() ? joined->join.of_opr : std::vector<ProfileOprId>();
        reportProfile(joined->opened->profile, QFileInfo(joined->opened->path).fileName());
    }
    if (joined->times) {
        setTimes(joined->times);
        memory_->addProfile(joined->opened->profile, joined->join.of_opr, QFileInfo(joined->opened->path).fileName());
    } else {
        flame_->showTimes(joined->opened->facts, joined->opened->times, false);
        memory_->addProfile(joined->opened->profile, {}, QFileInfo(joined->opened->path).fileName());
        error_->showMessage(ErrorBar::Severity::warning, tr("This profile is of another model: only %1 % of its time belongs to operators of the open one. Its times are shown in the timeline only.").arg(joined->join.time_matched * 100, 0, 'f', 1));
    }
}

void MainWindow::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    oprs_->setTimes(times_);
    outline_->setTimes(times_);
    inspector_->setTimes(times_);
    graphTools_->setTimes(times_);
    graphLook_->setTimes(times_);
    compare_->setTimes(times_);
    colourGraph();
    flame_->showTimes(shownFacts(), times_, true);
    roofline_->showTimes(shownFacts(), times_);
    updateStatus();
    updateActions();
}

void MainWindow::colourGraph() {
    if (!profileCompare_->coloursGraph()) graphLook_->colour();
}

void MainWindow::updateStatus() {
    QStringList parts;
    if (const auto& opened = documents_->model()) {
        const StoredGraph& stored = opened->model->graphs[opened->graph];
        parts << QFileInfo(opened->path).fileName() << text(container_name(stored.container))
              << tr("%n operators", nullptr, static_cast<int>(opened->facts->graph->oprs().size())) << bytesText(static_cast<double>(opened->model->file->bytes().size()));
        if (const auto count = opened->model->testcases.size()) parts << tr("%n testcases", nullptr, static_cast<int>(count));
    } else if (const auto& profile = documents_->profile()) {
        parts << QFileInfo(profile->path).fileName() << (profile->profile ? tr("profile") : tr("trace"));
        if (profile->profile) parts << tr("%n operators", nullptr, static_cast<int>(profile->profile->oprs.size()));
        parts << tr("%n slices", nullptr, static_cast<int>(profile->scene->timeline->slices()))
              << secondsText((profile->scene->timeline->end - profile->scene->timeline->begin) * 1e-6);
        if (const auto count = (profile->profile ? profile->profile->warnings : profile->scene->timeline->warnings).size()) parts << tr("%n warnings", nullptr, static_cast<int>(count));
    }
    fileStatus_->setText(parts.join(QStringLiteral(" · ")));
    runStatus_->setText(times_ ? tr("%1: operators %2").arg(text(times_->source), secondsText(times_->total)) : QString());
}

} // namespace megascope
