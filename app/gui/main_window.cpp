#include "app/gui/main_window.h"

#include <QAbstractAnimation>
#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

#include "app/gui/compare_controller.h"
#include "app/gui/dump_controller.h"
#include "app/gui/file_page.h"
#include "app/gui/find_anything.h"
#include "app/gui/flame_controller.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_export_controller.h"
#include "app/gui/graph_look_controller.h"
#include "app/gui/key_bar.h"
#include "app/gui/memory_controller.h"
#include "app/gui/profile_compare_controller.h"
#include "app/gui/profile_report_controller.h"
#include "app/gui/recent_files.h"
#include "app/gui/roofline_controller.h"
#include "app/gui/run_record_page.h"
#include "app/gui/save_controller.h"
#include "app/gui/selection_controller.h"
#include "app/gui/welcome_page.h"
#include "views/common/empty_state.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/job_bar.h"
#include "views/common/number_text.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/table/opr_table_model.h"
#include "views/table/outline_view.h"
#include "views/table/problem_table_model.h"
#include "views/profile/timeline_panel.h"
#include "views/table/table_page.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

/// The resources lie in a static library, where nothing else refers to them. Outside of any namespace, as Q_INIT_RESOURCE asks.
static void initMegascopeResources() { Q_INIT_RESOURCE(megascope); }

namespace megascope {

MainWindow::MainWindow(std::unique_ptr<Runner> runner, QWidget* parent) : QMainWindow(parent) {
    initMegascopeResources();
    setObjectName(QStringLiteral("mainWindow"));
    setWindowTitle(QStringLiteral("Megascope"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
    jobs_ = new JobRunner(this);
    selection_ = new Selection(this);
    documents_ = new DocumentController(jobs_, this);
    runs_ = new RunController(jobs_, std::move(runner), this);
    testcaseEdits_ = new TestcaseDocument(jobs_, runs_->runner(), this);
    recent_ = new RecentFiles(this);
    saves_ = new SaveController(documents_, jobs_, this);

    buildCentre();
    buildDocks();
    dumps_ = new DumpController(this, jobs_, documents_, testcaseEdits_, error_);
    find_ = new FindAnything(this);
    buildActions();
    fileStatus_ = new QLabel(this);
    runStatus_ = new QLabel(this);
    runStatus_->setForegroundRole(QPalette::PlaceholderText);
    jobBar_ = new JobBar(jobs_, this);
    fileStatus_->setTextFormat(Qt::PlainText);
    fileStatus_->setContentsMargins(8, 0, 8, 0);
    runStatus_->setContentsMargins(8, 0, 8, 0);
    statusBar()->addWidget(fileStatus_);
    statusBar()->addPermanentWidget(runStatus_);
    statusBar()->addPermanentWidget(jobBar_);
    statusBar()->setSizeGripEnabled(false);
    connectViews();
    restoreSettings();
    updateActions();
    updateStatus();
}

MainWindow::~MainWindow() {
    // Children are deleted in order. The views, which drop their jobs when they go, go before the runner: it is made the last one.
    jobs_->setParent(nullptr);
    jobs_->setParent(this);
}

void MainWindow::buildCentre() {
    error_ = new ErrorBar(this);
    error_->setObjectName(QStringLiteral("errorBar"));
    keyBar_ = new KeyBar(this);
    welcome_ = new WelcomePage(recent_, this);
    graph_ = new GraphView(jobs_, this);
    selecting_ = new SelectionController(graph_, selection_, this); // before all that moves the graph
    timelinePanel_ = new TimelinePanel(this);
    timeline_ = timelinePanel_->view();
    timelineStack_ = new QStackedWidget(this);
    timelineStack_->addWidget(timelinePanel_);
    auto* noTimeline = new EmptyState(QStringLiteral("timeline"), tr("When each operator ran appears here: profile the open model, or open a profile or a trace."),
                                      tr("Profile now (F6)"), this);
    connect(noTimeline, &EmptyState::requested, this, &MainWindow::profileRun);
    timelineStack_->addWidget(noTimeline);
    timelineStack_->setCurrentIndex(1);
    flame_ = new FlameController(jobs_, selection_, this);
    connect(flame_->panel(), &FlamePanel::profileRequested, this, &MainWindow::profileRun);
    memory_ = new MemoryController(
        jobs_, selection_,
        [this](std::function<void(std::shared_ptr<const RunReport>)> done) {
            if (!documents_->model()) return false;
            runs_->plan(baseRequest(), std::move(done));
            return true;
        },
        this);
    connect(memory_->panel(), &MemoryPanel::openRequested, this, &MainWindow::openDialog);
    value_ = new TensorView(jobs_, this);
    value_->setContentsMargins(12, 8, 12, 0);
    valueStack_ = new QStackedWidget(this);
    valueStack_->addWidget(value_);
    noValue_ = new EmptyState(QStringLiteral("tensor"), tr("The selected var's numbers, histogram and picture appear here. Select a var, then compute it."), tr("Compute"), this);
    connect(noValue_, &EmptyState::requested, this, [this] {
        const Pick pick = selection_->current();
        if (pick.var.valid()) computeValue(pick.var);
        else if (pick.opr.valid() && documents_->model() && !documents_->model()->facts->graph->opr(pick.opr).outputs.empty())
            computeValue(documents_->model()->facts->graph->opr(pick.opr).outputs.front());
    });
    valueStack_->addWidget(noValue_);
    valueStack_->setCurrentIndex(1);
    file_ = new FilePage(selection_, this);

    tabs_ = new QTabWidget(this);
    tabs_->setObjectName(QStringLiteral("views"));
    tabs_->setDocumentMode(true);
    tabs_->addTab(graph_, tr("Graph"));
    tabs_->addTab(timelineStack_, tr("Timeline"));
    tabs_->addTab(flame_->panel(), tr("Flame"));
    oprs_ = new OprTableModel(this);
    roofline_ = new RooflineController(jobs_, selection_, oprs_, this);
    connect(roofline_->panel(), &RooflinePanel::profileRequested, this, &MainWindow::profileRun);
    connect(roofline_, &RooflineController::failed, error_, &ErrorBar::showError);
    tabs_->addTab(roofline_->panel(), tr("Roofline"));
    tabs_->addTab(memory_->panel(), tr("Memory"));
    tabs_->addTab(valueStack_, tr("Value"));
    tabs_->addTab(file_, tr("File"));
    compare_ = new CompareController(jobs_, documents_, selection_, this);
    tabs_->addTab(compare_->page(), tr("Compare"));
    profileCompare_ = new ProfileCompareController(jobs_, documents_, selection_, graph_, this);
    profileReport_ = new ProfileReportController(jobs_, documents_, selection_, profileCompare_, this);
    tabs_->addTab(profileReport_->analysis(), tr("Analysis"));
    tabs_->addTab(profileCompare_->page(), tr("Changes"));
    graphTools_ = new GraphController(graph_, jobs_, selection_, selecting_, error_, this);
    graphLook_ = new GraphLookController(graph_, this);
    graphExport_ = new GraphExportController(graph_, jobs_, error_, this);
    graphs_ = {graph_, compare_->view()->first(), compare_->view()->second()};
    for (GraphView* view : {compare_->view()->first(), compare_->view()->second()}) graphLook_->addView(view);
    graphTools_->setComparison(compare_);
    selecting_->setComparison(compare_);
    graphExport_->setComparison(compare_);
    tabs_->addTab(graphTools_->orderPage(), tr("Order"));
    record_ = new RunRecordPage(jobs_, documents_, selection_, this);
    tabs_->setTabVisible(tabs_->addTab(record_, tr("Record")), false);
    centre_ = new QStackedWidget(this);
    centre_->addWidget(welcome_);
    centre_->addWidget(tabs_);
    auto* frame = new QWidget(this);
    auto* layout = new QVBoxLayout(frame);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(error_);
    layout->addWidget(keyBar_);
    layout->addWidget(centre_, 1);
    // The widest page of fields does not keep the window from small screens.
    frame->setMinimumSize(360, 200);
    setCentralWidget(frame);
}

void MainWindow::connectViews() {
    connect(welcome_, &WelcomePage::openRequested, this, &MainWindow::openDialog);
    connect(welcome_, &WelcomePage::sampleRequested, this, &MainWindow::openSample);
    connect(welcome_, &WelcomePage::fileRequested, this, &MainWindow::open);
    connect(documents_, &DocumentController::modelOpened, this, &MainWindow::showModel);
    connect(documents_, &DocumentController::modelClosed, this, &MainWindow::showClosed);
    connect(documents_, &DocumentController::profileOpened, this, &MainWindow::showProfile);
    connect(documents_, &DocumentController::profileJoined, this, &MainWindow::showJoined);
    connect(documents_, &DocumentController::staticMemoryOpened, this, [this](const QString& path, const std::shared_ptr<const StaticMemory>& info) {
        memory_->addStaticInfo(info, QFileInfo(path).fileName());
        recent_->add(path);
        showView(View::memory);
    });
    connect(documents_, &DocumentController::recordOpened, this, &MainWindow::showRecord);
    connect(documents_, &DocumentController::failed, this, &MainWindow::openFailed);
    connect(documents_, &DocumentController::keyWanted, keyBar_, &KeyBar::askFor);
    connect(keyBar_, &KeyBar::entered, this, [this](const QString& path, const ReadOptions& options) {
        error_->dismiss();
        documents_->open(path, options);
    });
    connect(saves_, &SaveController::saved, this, &MainWindow::showSaved);
    connect(saves_, &SaveController::failed, this, [this](const QString& path, const Error& error) {
        error_->showError(error);
        log_->append(tr("Could not save %1: %2").arg(path, text(error.text())));
    });
    connect(file_, &FilePage::graphRequested, documents_, &DocumentController::showGraph);
    connect(compare_, &CompareController::failed, this, &MainWindow::openFailed);
    connect(compare_, &CompareController::shown, this, [this] { setPerspective(Perspective::compare); });
    connect(profileCompare_, &ProfileCompareController::compared, this, [this] { showView(View::changes); });
    connect(profileCompare_, &ProfileCompareController::coloursReleased, this, &MainWindow::colourGraph);
    connect(profileCompare_, &ProfileCompareController::failed, this, &MainWindow::openFailed);
    connect(profileReport_, &ProfileReportController::failed, this, [this](const QString&, const Error& error) { error_->showError(error); });
    connect(profileReport_, &ProfileReportController::written, this, [this](const QString& path) { log_->append(tr("Wrote %1").arg(path)); });
    connect(graphExport_, &GraphExportController::written, this, [this](const QString& path) {
        log_->append(tr("Wrote %1").arg(path));
        statusBar()->showMessage(tr("Wrote %1").arg(path), 10000);
    });
    connect(graphExport_, &GraphExportController::copied, this, [this](const QString& what) { statusBar()->showMessage(what, 10000); });
    connect(find_, &FindAnything::picked, selection_, &Selection::select);
    connect(find_, &FindAnything::fileRequested, this, &MainWindow::open);

    selecting_->connectTable(tablePage(QStringLiteral("operators")));
    selecting_->connectInspector(inspector_);
    outline_->setBookmarks(graphTools_->bookmarks());

    // One selection and one hover for every view.
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        if (pick.opr.valid()) graph_->setSelectedOpr(pick.opr);
        else if (pick.var.valid()) graph_->setSelectedVar(pick.var);
        else graph_->clearSelection();
        highlightInTimeline(pick);
        updateActions();
    });
    connect(selection_, &Selection::historyChanged, this, &MainWindow::updateActions);
    connect(graph_, &GraphView::oprSelected, selection_, [this](OprId opr) { selection_->select(Pick::of(opr)); });
    connect(graph_, &GraphView::varSelected, selection_, [this](VarId var) { selection_->select(Pick::of(var)); });
    connect(graph_, &GraphView::selectionCleared, selection_, &Selection::clear);
    connect(graph_, &GraphView::hovered, selection_, [this](OprId opr) { selection_->hover(opr.valid() ? Pick::of(opr) : Pick()); });
    connect(graph_, &GraphView::failed, this, [this](const Error& error) { error_->showError(error); });
    connect(timeline_, &TimelineView::sliceClicked, this, [this](std::size_t, std::uint32_t source) { sliceClicked(source); });
    for (TablePage* page : tables_) connect(page, &TablePage::activated, this, [this](Pick) { showView(View::graph); });
    connect(outline_, &OutlineView::activated, this, [this](Pick) { showView(View::graph); });

    connect(inspector_, &Inspector::valueWanted, this, &MainWindow::lookUpValue);
    connect(inspector_, &Inspector::computeRequested, this, &MainWindow::computeValue);
    connect(record_, &RunRecordPage::compareRequested, this, &MainWindow::compareRecordWithRun);
    connect(testcases_, &TestcasePanel::runRequested, this, &MainWindow::runSelected);
    connect(testcases_, &TestcasePanel::runAllRequested, this, &MainWindow::runAll);
    connect(testcases_, &TestcasePanel::saveRequested, dumps_, &DumpController::saveTestcases);
    connect(testcaseEdits_, &TestcaseDocument::changed, this, &MainWindow::testcasesChanged);
    connect(dumps_, &DumpController::openRequested, this, &MainWindow::open);
    connect(dumps_, &DumpController::compareRequested, this, &MainWindow::compareDump);
    connect(dumps_, &DumpController::log, this, [this](const QString& line) { log_->append(line); });
    connect(testcases_, &TestcasePanel::stopRequested, runs_, &RunController::stop);
    connect(testcases_, &TestcasePanel::currentChanged, inspector_, &Inspector::clearValue);
    connect(runs_, &RunController::started, this, [this] {
        error_->dismiss();
        testcases_->setRunning(true);
        updateActions();
    });
    connect(runs_, &RunController::finished, this, &MainWindow::runFinished);
    connect(runs_, &RunController::failed, this, &MainWindow::runFailed);
    connect(documents_, &DocumentController::changedOnDisk, this, &MainWindow::sayChanged);
    connect(testcaseEdits_, &TestcaseDocument::failed, this, [this] { static_cast<void>(documents_->modelIsCurrent()); }); // perhaps that is why
    connect(testcases_->editor(), &InputsEditor::edited, this, [this] {
        values_.forgetOwnInputs();
        inspector_->clearValue();
    });
    connect(error_, &ErrorBar::actionRequested, this, [this] {
        error_->dismiss();
        if (barAction_) barAction_();
    });
}

void MainWindow::restoreSettings() {
    const QSettings settings;
    const QString theme = settings.value(QStringLiteral("theme"), QStringLiteral("system")).toString();
    setTheme(theme == QLatin1String("dark") ? ThemeMode::dark : theme == QLatin1String("light") ? ThemeMode::light : ThemeMode::system);
    if (!restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray())) resize(1280, 800);
    const int perspective = settings.value(QStringLiteral("perspective"), 0).toInt();
    setPerspective(perspective == 1 ? Perspective::run : perspective == 2 ? Perspective::profile : Perspective::inspect);
    for (TablePage* page : tables_) page->restoreState();
}

void MainWindow::open(const QString& path) {
    // A model takes the place of the open one; a profile joins it.
    const bool replaces = CompareController::isModelFile(path) && !looksLikeRunRecord(path);
    if (replaces && !dumps_->mayDiscard([this, path] { open(path); })) return;
    error_->dismiss();
    keyBar_->hide();
    documents_->open(path);
}

void MainWindow::openAll(const QStringList& paths) {
    QStringList models;
    QStringList others;
    for (const QString& path : paths) (CompareController::isModelFile(path) && !looksLikeRunRecord(path) ? models : others) << path;
    if (models.size() > 1) {
        const auto compare = [this, second = models[1], tooMany = models.mid(2)] {
            compareWith(second);
            if (!tooMany.isEmpty()) sayNotOpened(tooMany);
        };
        connect(documents_, &DocumentController::modelOpened, this, compare, Qt::SingleShotConnection);
    }
    if (!models.isEmpty()) open(models.front());
    for (const QString& path : others) open(path);
}

void MainWindow::reload() {
    if (!dumps_->mayDiscard([this] { reload(); })) return;
    error_->dismiss();
    documents_->reload();
}

void MainWindow::sayNotOpened(const QStringList& paths) {
    QStringList names;
    for (const QString& path : paths) names << QFileInfo(path).fileName();
    const QString sentence = tr("A window shows one model and compares it with a second one: start Megascope again for %1.").arg(names.join(QStringLiteral(", ")));
    log_->append(sentence);
    if (!error_->isVisible()) error_->showMessage(ErrorBar::Severity::warning, sentence, paths.join(QLatin1Char('\n')));
}

void MainWindow::compareWith(const QString& path) {
    error_->dismiss();
    compare_->compareWith(path);
}

QString MainWindow::samplePath() {
    // Installed: beside bin/ in share/; built: the source tree's folder is linked beside the program by the build.
    const QDir program(QCoreApplication::applicationDirPath());
    for (const QString& candidate : {QStringLiteral("../share/megascope/samples"), QStringLiteral("samples")}) {
        const QDir dir(program.filePath(candidate));
        if (dir.exists(QStringLiteral("resnet18_w4.test.mge"))) return dir.absolutePath();
    }
    return {};
}

void MainWindow::openSample() {
    const QString dir = samplePath();
    if (dir.isEmpty()) {
        error_->showMessage(ErrorBar::Severity::warning, tr("The sample models are not installed beside this program."));
        return;
    }
    open(QDir(dir).filePath(QStringLiteral("resnet18_w4.test.mge")));
}

void MainWindow::showView(View view) {
    tabs_->setCurrentIndex(static_cast<int>(view));
    if (centre_->currentWidget() != tabs_) centre_->setCurrentWidget(tabs_);
}

bool MainWindow::selectByName(const QString& name) {
    if (!documents_->model()) return false;
    const Graph& graph = *documents_->model()->facts->graph;
    const std::string wanted = name.toStdString();
    for (const Opr& opr : graph.oprs()) {
        if (graph.display_name(opr.id) != wanted) continue;
        selection_->select(Pick::of(opr.id));
        return true;
    }
    for (const Var& var : graph.vars()) {
        if (graph.display_name(var.id) != wanted) continue;
        selection_->select(Pick::of(var.id));
        return true;
    }
    return false;
}

bool MainWindow::settled() const {
    if (!jobs_->idle() || std::any_of(graphs_.begin(), graphs_.end(), [](const GraphView* view) { return view->busy() || view->gliding(); }) || (dumps_->dialog() && !dumps_->dialog()->settled())) return false;
    // Views move to what was selected, docks to their place, and typing is looked at a moment later. Endless animations (a busy bar)
    // and messages that vanish after seconds are not waited for.
    for (const auto* animation : findChildren<QAbstractAnimation*>())
        if (animation->state() == QAbstractAnimation::Running && animation->totalDuration() >= 0) return false;
    constexpr int delay = 1000;
    for (const auto* timer : findChildren<QTimer*>())
        if (timer->isActive() && timer->isSingleShot() && timer->interval() < delay) return false;
    return true;
}

void MainWindow::setTheme(ThemeMode mode) {
    applyTheme(*qApp, mode);
    for (qsizetype i = 0; i < themeActions_.size(); ++i) themeActions_[i]->setChecked(i == static_cast<int>(mode));
    static constexpr std::array names = {"system", "light", "dark"};
    QSettings().setValue(QStringLiteral("theme"), QLatin1String(names[static_cast<std::size_t>(mode)]));
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!dumps_->mayDiscard([this] { close(); })) {
        event->ignore();
        return;
    }
    QSettings settings;
    settings.setValue(QStringLiteral("geometry"), saveGeometry());
    settings.setValue(QStringLiteral("perspective"), static_cast<int>(perspective_));
    settings.setValue(QStringLiteral("arrangement/%1").arg(static_cast<int>(perspective_)), saveState());
    for (TablePage* page : tables_) page->saveState();
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    // With Shift a dump is set beside the open one instead of taking its place.
    const bool beside = event->modifiers() & Qt::ShiftModifier && documents_->model();
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) paths << url.toLocalFile();
    if (paths.isEmpty() && event->mimeData()->hasUrls())
        error_->showMessage(ErrorBar::Severity::warning, tr("Only files of this machine can be opened: copy %1 here first.").arg(event->mimeData()->urls().front().toDisplayString()));
    if (beside && !paths.isEmpty() && CompareController::isModelFile(paths.front())) compareWith(paths.takeFirst());
    openAll(paths);
    event->acceptProposedAction();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    // Network file systems do not tell of changes.
    if (event->type() == QEvent::ActivationChange && isActiveWindow()) documents_->checkFiles();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (find_) find_->hide();
}

} // namespace megascope
