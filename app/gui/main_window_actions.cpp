#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>

#include "app/gui/compare_controller.h"
#include "app/gui/dump_controller.h"
#include "app/gui/find_anything.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_export_controller.h"
#include "app/gui/graph_look_controller.h"
#include "app/gui/help_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/profile_compare_controller.h"
#include "app/gui/profile_report_controller.h"
#include "app/gui/recent_files.h"
#include "app/gui/trace_part_dialog.h"
#include "app/gui/roofline_controller.h"
#include "app/gui/run_record_page.h"
#include "app/gui/save_controller.h"
#include "app/gui/selection_controller.h"
#include "app/gui/weights_controller.h"
#include "base/thread_pool.h"
#include "exec/backend.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/empty_state.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/table/table_page.h"
#include "views/testcase/testcase_document.h"

namespace megascope {

void MainWindow::buildActions() {
    buildFileMenu();
    buildEditMenu();
    buildViewMenu();
    buildGraphMenu();
    buildRunMenu();
    QMenu* compare = menuBar()->addMenu(tr("&Compare"));
    compare_->buildMenu(compare);
    compare->addSeparator();
    profileCompare_->addActions(compare);
    buildHelpMenu();
    buildToolBar();
}

void MainWindow::buildFileMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    QAction* open = menu->addAction(themedIcon(QStringLiteral("open")), tr("&Open…"), this, &MainWindow::openDialog);
    open->setShortcut(QKeySequence::Open);
    open->setObjectName(QStringLiteral("openAction"));
    menu->addAction(tr("Open &part of a trace…"), this, [this] {
        if (const auto part = askTracePart(this)) documents_->openTracePart(part->path, part->range);
    });
    recentMenu_ = menu->addMenu(tr("Open &Recent"));
    connect(recentMenu_, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    connect(recent_, &RecentFiles::changed, this, [this] { recentMenu_->setEnabled(!recent_->paths().isEmpty()); });
    recentMenu_->setEnabled(!recent_->paths().isEmpty());
    menu->addAction(themedIcon(QStringLiteral("sample")), tr("Open a &Sample"), this, &MainWindow::openSample);
    QMenu* exports = menu->addMenu(themedIcon(QStringLiteral("save")), tr("&Export"));
    profileReport_->addActions(exports);
    weightTools_->addActions(exports);
    menu->addSeparator();
    QAction* saveAs = menu->addAction(themedIcon(QStringLiteral("save")), tr("Save &As…"), saves_, &SaveController::ask);
    saveAs->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S));
    saveAs->setObjectName(QStringLiteral("saveAsAction"));
    modelActions_ << saveAs;
    graphExport_->addExportActions(menu);
    dumps_->fillMenu(menu);
    menu->addSeparator();
    reloadAction_ = menu->addAction(tr("&Reload"), this, &MainWindow::reload);
    reloadAction_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_R));
    reloadAction_->setObjectName(QStringLiteral("reloadAction"));
    closeAction_ = menu->addAction(tr("&Close"), this, [this] {
        if (dumps_->mayDiscard([this] { documents_->close(); })) documents_->close();
    });
    closeAction_->setShortcut(QKeySequence::Close);
    menu->addSeparator();
    QAction* quit = menu->addAction(tr("&Quit"), this, &QWidget::close);
    quit->setShortcut(QKeySequence::Quit);
    quit->setMenuRole(QAction::QuitRole);
}

void MainWindow::buildEditMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Edit"));
    menu->addAction(themedIcon(QStringLiteral("copy")), tr("&Copy table rows as text"), this, [this] { tables_[tableTabs_->currentIndex()]->copy(false); });
    menu->addAction(tr("Copy table rows as CS&V"), this, [this] { tables_[tableTabs_->currentIndex()]->copy(true); });
    graphExport_->addCopyActions(menu);
    menu->addSeparator();
    QAction* anything = menu->addAction(themedIcon(QStringLiteral("search")), tr("Find &anything…"), this, &MainWindow::findAnything);
    anything->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_K));
    QAction* find = menu->addAction(themedIcon(QStringLiteral("filter")), tr("&Find in the graph or filter the table"), this, &MainWindow::findInView);
    find->setShortcut(QKeySequence::Find);
    menu->addSeparator();
    backAction_ = menu->addAction(themedIcon(QStringLiteral("back")), tr("Selection &back"), selecting_, &SelectionController::back);
    backAction_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Left));
    forwardAction_ = menu->addAction(themedIcon(QStringLiteral("forward")), tr("Selection f&orward"), selecting_, &SelectionController::forward);
    forwardAction_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Right));
    QAction* clear = menu->addAction(tr("C&lear selection"), selection_, &Selection::clear);
    modelActions_ << clear;
}

void MainWindow::buildViewMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    static constexpr std::array keys = {Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4};
    auto* perspectives = new QActionGroup(this);
    const QStringList titles = {tr("Perspective: &Inspect"), tr("Perspective: &Run"), tr("Perspective: &Profile"), tr("Perspective: &Compare")};
    for (int i = 0; i < titles.size(); ++i) {
        QAction* action = menu->addAction(titles[i], this, [this, i] { setPerspective(static_cast<Perspective>(i)); });
        action->setCheckable(true);
        action->setShortcut(QKeySequence(Qt::CTRL | keys[static_cast<std::size_t>(i)]));
        perspectives->addAction(action);
        perspectiveActions_ << action;
    }
    menu->addAction(tr("Reset this perspective"), this, &MainWindow::resetPerspective);
    menu->addSeparator();
    const QList<std::pair<QString, View>> views = {{tr("Graph view"), View::graph}, {tr("Timeline view"), View::timeline}, {tr("Flame graph"), View::flame}, {tr("Roofline"), View::roofline}, {tr("Memory view"), View::memory}, {tr("Value view"), View::value}, {tr("File view"), View::file}, {tr("Compare view"), View::compare}, {tr("Profile analysis"), View::analysis}, {tr("Profile changes"), View::changes}, {tr("Execution order"), View::order}};
    for (const auto& [title, view] : views) menu->addAction(title, this, [this, v = view] { showView(v); });
    menu->addSeparator();
    for (QDockWidget* dock : {outlineDock_, testcaseDock_, inspectorDock_, tableDock_}) menu->addAction(dock->toggleViewAction());
    menu->addSeparator();
    menu->addAction(tr("Keyboard to the &next part"), this, [this] { focusArea(1); })->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_F6));
    menu->addAction(tr("Keyboard to the pre&vious part"), this, [this] { focusArea(-1); })->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F6));
    menu->addSeparator();
    QAction* animations = menu->addAction(tr("A&nimations"));
    animations->setObjectName(QStringLiteral("animations"));
    animations->setToolTip(tr("Moves take a moment to keep the eye oriented. Off where the system has no animations."));
    animations->setCheckable(true);
    connect(animations, &QAction::toggled, this, [this](bool on) {
        QSettings().setValue(QStringLiteral("animations"), on);
        setAnimated(on); // of the docks
        for (GraphView* view : graphs_) view->setAnimated(on);
    });
    const bool animated = QSettings().value(QStringLiteral("animations"), true).toBool();
    animations->setChecked(true);
    animations->setChecked(animated);
    QMenu* themes = menu->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(this);
    const QStringList themeTitles = {tr("As the system"), tr("Light"), tr("Dark")};
    for (int i = 0; i < themeTitles.size(); ++i) {
        QAction* action = themes->addAction(themeTitles[i], this, [this, i] { setTheme(static_cast<ThemeMode>(i)); });
        action->setCheckable(true);
        group->addAction(action);
        themeActions_ << action;
    }
}

void MainWindow::buildGraphMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Graph"));
    graphMenu_ = menu;
    // Commands act on what is in sight, switches on every drawing.
    const auto add = [&](const QString& title, void (GraphView::*command)()) {
        QAction* action = menu->addAction(title, this, [this, command] {
            for (GraphView* view : commandedGraphs()) (view->*command)();
        });
        modelActions_ << action;
        return action;
    };
    // F, 1 and 2 belong to the graph view itself while it has the focus; the menu names them.
    add(tr("&Fit in view\tF"), &GraphView::fit)->setIcon(themedIcon(QStringLiteral("fit")));
    add(tr("&Actual size\t1"), &GraphView::zoomToActualSize);
    add(tr("To the &selection\t2"), &GraphView::zoomToSelection);
    add(tr("Zoom &in\t+"), &GraphView::zoomIn);
    add(tr("Zoom &out\t−"), &GraphView::zoomOut);
    menu->addSeparator();
    add(tr("&Expand all groups"), &GraphView::expandAll);
    add(tr("&Collapse all groups"), &GraphView::collapseAll);
    QMenu* levels = menu->addMenu(tr("Expand to &level"));
    for (const int level : {1, 2, 3, 4, 5})
        modelActions_ << levels->addAction(QStringLiteral("&%1").arg(level), this, [this, level] {
            for (GraphView* view : commandedGraphs()) view->expandToDepth(level);
        });
    menu->addSeparator();
    const auto toggle = [&](const QString& title, bool on, void (GraphView::*apply)(bool)) {
        QAction* action = menu->addAction(title);
        action->setCheckable(true);
        action->setChecked(on);
        connect(action, &QAction::toggled, this, [this, apply](bool now) {
            for (GraphView* view : graphs_) (view->*apply)(now);
        });
    };
    toggle(tr("Fold &constants"), graph_->sceneOptions().fold_constants, &GraphView::setFoldConstants);
    toggle(tr("Fold &shape computations"), graph_->sceneOptions().fold_shapes, &GraphView::setFoldShapes);
    toggle(tr("Show &groups"), graph_->sceneOptions().groups, &GraphView::setGroupsShown);
    toggle(tr("Edge &width by bytes"), false, &GraphView::setEdgeWidthByBytes);
    toggle(tr("Left to &right"), graph_->layoutOptions().direction == LayoutDirection::right, &GraphView::setSideways);
    QMenu* engines = menu->addMenu(tr("&Drawn by"));
    engines->setObjectName(QStringLiteral("drawnBy"));
    auto* engine = new QActionGroup(engines);
    const auto drawn_by = [&](const QString& title, LayoutEngine which) {
        QAction* action = engine->addAction(engines->addAction(title, this, [this, which] {
            for (GraphView* view : graphs_) view->setEngine(which);
        }));
        action->setCheckable(true);
        action->setChecked(graph_->layoutOptions().engine == which);
    };
    drawn_by(tr("&Layers (any size)"), LayoutEngine::automatic);
    drawn_by(tr("&Graphviz (up to %1 boxes)").arg(graphviz_node_limit), LayoutEngine::graphviz);
    graphTools_->buildMenu(menu);
    selecting_->buildMenu(menu);
    graphLook_->buildMenu(menu);
    connect(graphLook_, &GraphLookController::colourChosen, this, [this] {
        profileCompare_->releaseColours();
        graphLook_->colour();
    });
    connect(graphLook_, &GraphLookController::colourNeeded, this, &MainWindow::colourGraph);
    tablePage(QStringLiteral("operators"))->setHeaderActions([this](QMenu* header, const QString& column) { graphLook_->addColumnAction(header, column); });
    for (GraphView* view : graphs_) {
        view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(view, &QWidget::customContextMenuRequested, menu, [view, menu](const QPoint& at) { menu->popup(view->mapToGlobal(at)); });
    }
}

QList<GraphView*> MainWindow::commandedGraphs() const {
    if (!compare_->inSight()) return {graph_};
    // The other side follows the one that was touched last.
    if (compare_->view()->movesTogether()) return {compare_->view()->leader()};
    return {compare_->view()->first(), compare_->view()->second()};
}

void MainWindow::buildRunMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Run"));
    runAction_ = menu->addAction(themedIcon(QStringLiteral("run")), tr("&Run"), this, &MainWindow::runSelected);
    runAction_->setShortcut(QKeySequence(Qt::Key_F5));
    runAction_->setToolTip(tr("Run the selected testcases, or your own inputs (F5)"));
    runAllAction_ = menu->addAction(tr("Run &all testcases"), this, &MainWindow::runAll);
    runAllAction_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_F5));
    stopAction_ = menu->addAction(themedIcon(QStringLiteral("stop")), tr("&Stop"), runs_, &RunController::stop);
    stopAction_->setShortcut(QKeySequence(Qt::SHIFT | Qt::Key_F5));
    menu->addSeparator();
    profileAction_ = menu->addAction(themedIcon(QStringLiteral("profile")), tr("&Profile"), this, &MainWindow::profileRun);
    profileAction_->setObjectName(QStringLiteral("profileAction"));
    profileAction_->setShortcut(QKeySequence(Qt::Key_F6));
    profileAction_->setToolTip(tr("Run the current testcase several times and show when each operator ran (F6)"));
}

void MainWindow::buildHelpMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    QAction* help = menu->addAction(themedIcon(QStringLiteral("help")), tr("&Help on what has focus"), this, &MainWindow::showHelp);
    help->setShortcut(QKeySequence(Qt::Key_F1));
    menu->addAction(tr("&About Megascope"), this, &MainWindow::about);
}

void MainWindow::buildToolBar() {
    QToolBar* bar = addToolBar(tr("Main toolbar"));
    bar->setObjectName(QStringLiteral("mainToolBar"));
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    bar->setIconSize(QSize(16, 16));
    {
        auto* open = new QToolButton(bar);
        open->setDefaultAction(findChild<QAction*>(QStringLiteral("openAction")));
        open->setText(tr("Open"));
        open->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        open->setMenu(recentMenu_);
        open->setPopupMode(QToolButton::MenuButtonPopup);
        open->setAutoRaise(true);
        bar->addWidget(open);
    }
    bar->addSeparator();
    bar->addAction(runAction_);
    bar->addAction(stopAction_);
    backend_ = new QComboBox(bar);
    backend_->setObjectName(QStringLiteral("backend"));
    backend_->setToolTip(tr("Backend: where operators run"));
    backend_->setAccessibleName(tr("Backend"));
    for (const auto& backend : all_backends()) {
        const QString name = text(backend->name());
        backend_->addItem(name, name);
        const auto devices = backend->devices();
        if (!devices.empty()) backend_->setItemData(backend_->count() - 1, text(devices.front().description), Qt::ToolTipRole);
    }
    threads_ = new QComboBox(bar);
    threads_->setObjectName(QStringLiteral("threads"));
    threads_->setToolTip(tr("Threads"));
    threads_->setAccessibleName(tr("Threads"));
    for (int n = 1; n <= ThreadPool::available_cores(); n = n < 4 ? n + 1 : n * 2) threads_->addItem(tr("%n threads", nullptr, n), n);
    threads_->addItem(tr("all cores"), 0);
    for (QComboBox* box : {backend_, threads_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        box->setFocusPolicy(Qt::TabFocus);
        bar->addWidget(box);
    }
    bar->addSeparator();
    bar->addAction(profileAction_);
    bar->addAction(findChild<QAction*>(QStringLiteral("compareWithAction")));
    bar->addAction(dumps_->dumpAction());
    auto* spacer = new QWidget(bar);
    spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(spacer);
    bar->addAction(backAction_);
    bar->addAction(forwardAction_);
    for (QAction* action : {backAction_, forwardAction_, stopAction_})
        if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action))) button->setToolButtonStyle(Qt::ToolButtonIconOnly);
    auto* find = new QPushButton(themedIcon(QStringLiteral("search")), tr("Find anything (Ctrl+K)"), bar);
    find->setFlat(false);
    find->setFocusPolicy(Qt::TabFocus);
    connect(find, &QPushButton::clicked, this, &MainWindow::findAnything);
    bar->addWidget(find);
    QSettings settings;
    if (const int at = backend_->findData(settings.value(QStringLiteral("backend"))); at >= 0) backend_->setCurrentIndex(at);
    if (const int at = threads_->findData(settings.value(QStringLiteral("threads"))); at >= 0) threads_->setCurrentIndex(at);
    connect(backend_, &QComboBox::activated, this, [this] { QSettings().setValue(QStringLiteral("backend"), backend_->currentData()); });
    connect(threads_, &QComboBox::activated, this, [this] { QSettings().setValue(QStringLiteral("threads"), threads_->currentData()); });
    const auto setBackend = [this] { testcaseEdits_->setBackend(backend_->currentData().toString(), threads_->currentData().toInt()); };
    for (const QComboBox* box : {backend_, threads_}) connect(box, &QComboBox::currentIndexChanged, this, setBackend);
    setBackend();
    connect(threads_, &QComboBox::currentIndexChanged, roofline_, [this] { roofline_->setThreads(threads_->currentData().toInt()); });
    roofline_->setThreads(threads_->currentData().toInt());
}

void MainWindow::fillRecentMenu() {
    recentMenu_->clear();
    for (const QString& path : recent_->paths()) {
        QString title = QFileInfo(path).fileName() + QStringLiteral("   —   ") + QFileInfo(path).absolutePath();
        QAction* action = recentMenu_->addAction(title.replace(QLatin1Char('&'), QStringLiteral("&&"))); // one alone is a shortcut's mark
        connect(action, &QAction::triggered, this, [this, path] { open(path); });
    }
    recentMenu_->addSeparator();
    recentMenu_->addAction(tr("Clear this list"), recent_, &RecentFiles::clear);
}

void MainWindow::updateActions() {
    const bool model = documents_->model() != nullptr;
    const bool running = runs_->running();
    closeAction_->setEnabled(model || documents_->profile() || record_->record());
    reloadAction_->setEnabled(model || documents_->profile());
    runAction_->setEnabled(model && !running);
    runAllAction_->setEnabled(model && !running && !testcaseEdits_->testcases().empty());
    stopAction_->setEnabled(running);
    profileAction_->setEnabled(model && !running);
    for (QAction* action : modelActions_) action->setEnabled(model);
    backAction_->setEnabled(selection_->canGoBack() || (selection_->current().empty() && selection_->canGoForward()));
    forwardAction_->setEnabled(selection_->canGoForward());
    noValue_->setButtonEnabled(model);
    inspector_->setComputable(model);
    record_->setRunnable(model && !running);
}

void MainWindow::openDialog() {
    QSettings settings;
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model, a profile or a record of a run"), settings.value(QStringLiteral("lastFolder")).toString(),
                                                      tr("Models and profiles (*.mge *.mdl *.lite *.json *.gz);;IO dumps and fast-run caches (*.txt *.log *.bin *.cache);;All files (*)"));
    if (path.isEmpty()) return;
    settings.setValue(QStringLiteral("lastFolder"), QFileInfo(path).absolutePath());
    open(path);
}

void MainWindow::findAnything() {
    QList<FindAnything::Command> commands;
    for (QAction* top : menuBar()->actions())
        if (top->menu()) commands += FindAnything::commandsOf(*top->menu(), recentMenu_); // recent files are found as such
    find_->setCommands(std::move(commands));
    find_->setFiles(recent_->paths());
    find_->popUp();
}

void MainWindow::findInView() {
    const QWidget* focus = QApplication::focusWidget();
    if (compare_->inSight() && compare_->table()->isAncestorOf(focus)) return compare_->table()->focusFilter();
    const bool drawn = centre_->currentWidget() == tabs_ && (tabs_->currentWidget() == graph_ || compare_->inSight());
    if (drawn && !tableDock_->isAncestorOf(focus)) return graphTools_->target().finder->popUp();
    tableDock_->show();
    tables_[tableTabs_->currentIndex()]->focusFilter();
}

void MainWindow::focusArea(int step) {
    QList<QWidget*> areas = {centre_};
    for (QDockWidget* dock : {outlineDock_, testcaseDock_, inspectorDock_, tableDock_})
        if (dock->isVisible() && !dock->visibleRegion().isEmpty()) areas << dock;
    const QWidget* focus = QApplication::focusWidget();
    qsizetype at = 0;
    while (at < areas.size() && !areas[at]->isAncestorOf(focus)) ++at;
    if (at == areas.size()) at = step > 0 ? -1 : 0;
    // A part in which nothing takes the keyboard (an empty state) is passed over.
    for (qsizetype tried = 0; tried < areas.size(); ++tried) {
        at = (at + step + areas.size()) % areas.size();
        QWidget* before = areas[at]->focusWidget();
        const auto takes = [&](const QWidget* w) { return w && areas[at]->isAncestorOf(w) && w->focusPolicy() & Qt::TabFocus && w->isVisible() && w->isEnabled(); };
        if (!takes(before)) {
            before = areas[at]->nextInFocusChain();
            while (before != areas[at] && !takes(before)) before = before->nextInFocusChain();
        }
        if (!takes(before)) continue;
        before->setFocus(Qt::ShortcutFocusReason);
        return;
    }
}

void MainWindow::showHelp() { showHelpFor(this, QApplication::focusWidget()); }

void MainWindow::about() {
    QMessageBox::about(this, tr("About Megascope"),
                       tr("<b>Megascope %1</b><p>Trace inspector and profiler for MegEngine.</p><p>Built with Qt %2.</p>").arg(QStringLiteral(MEGASCOPE_VERSION), QLatin1String(qVersion())));
}

} // namespace megascope
