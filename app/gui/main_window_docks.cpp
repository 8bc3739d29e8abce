#include <QDockWidget>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTableView>
#include <QTabWidget>

#include "app/gui/main_window.h"
#include "app/gui/weights_controller.h"
#include "views/common/empty_state.h"
#include "views/inspector/inspector.h"
#include "views/table/opr_table_model.h"
#include "views/table/outline_view.h"
#include "views/table/problem_table_model.h"
#include "views/table/result_table_model.h"
#include "views/table/table_page.h"
#include "views/table/var_table_model.h"
#include "views/testcase/testcase_panel.h"

namespace megascope {

namespace {

QDockWidget* makeDock(QMainWindow* window, const QString& name, const QString& title, QWidget* content) {
    auto* dock = new QDockWidget(title, window);
    dock->setObjectName(name);
    dock->setWidget(content);
    return dock;
}

} // namespace

QWidget* MainWindow::buildTables() {
    vars_ = new VarTableModel(this);
    weights_ = new WeightTableModel(this);
    for (TableModel* model : std::initializer_list<TableModel*>{oprs_, vars_, weights_}) model->setJobs(jobs_);
    results_ = new ResultTableModel(this);
    problems_ = new ProblemTableModel(this);
    log_ = new LogTableModel(this);
    const auto nothingOpen = [this](const QString& what) { return new EmptyState(QStringLiteral("columns"), what, {}, this); };
    auto* noResults = new EmptyState(QStringLiteral("testcases"), tr("What a run computed, compared with what the testcases expect, appears here."), tr("Run (F5)"), this);
    connect(noResults, &EmptyState::requested, this, &MainWindow::runSelected);
    tables_ = {
        new TablePage(QStringLiteral("operators"), oprs_, selection_, nothingOpen(tr("The operators of an open model appear here.")), this),
        new TablePage(QStringLiteral("vars"), vars_, selection_, nothingOpen(tr("The vars of an open model appear here.")), this),
        new TablePage(QStringLiteral("weights"), weights_, selection_, nothingOpen(tr("The weights and constants of an open model appear here.")), this),
        new TablePage(QStringLiteral("results"), results_, selection_, noResults, this),
        new TablePage(QStringLiteral("problems"), problems_, selection_, nothingOpen(tr("Nothing to complain about.")), this),
        new TablePage(QStringLiteral("log"), log_, selection_, nothingOpen(tr("What happens in this window is written down here.")), this),
    };
    // As they run; the file's order would look like none.
    tables_.front()->view()->sortByColumn(OprTableModel::Order, Qt::AscendingOrder);
    tableStack_ = new QStackedWidget(this);
    tableTabs_ = new QTabBar(this);
    tableTabs_->setObjectName(QStringLiteral("tableTabs"));
    tableTabs_->setDrawBase(false);
    tableTabs_->setExpanding(false);
    for (const QString& title : {tr("Operators"), tr("Vars"), tr("Weights"), tr("Results"), tr("Problems"), tr("Log")}) tableTabs_->addTab(title);
    for (TablePage* page : tables_) tableStack_->addWidget(page);
    connect(tableTabs_, &QTabBar::currentChanged, tableStack_, &QStackedWidget::setCurrentIndex);
    weightTools_ = new WeightsController(jobs_, tablePage(QStringLiteral("weights")), weights_, error_, this);
    connect(tableTabs_, &QTabBar::currentChanged, weightTools_, &WeightsController::look);
    connect(weightTools_, &WeightsController::written, this, [this](const QString& path) {
        log_->append(tr("Wrote %1").arg(path));
        statusBar()->showMessage(tr("Wrote %1").arg(QFileInfo(path).fileName()), 10000);
    });
    connect(problems_, &QAbstractItemModel::modelReset, this, [this] {
        const int count = problems_->sourceRows();
        tableTabs_->setTabText(4, count > 0 ? tr("Problems (%1)").arg(count) : tr("Problems"));
    });
    return tableStack_;
}

void MainWindow::buildDocks() {
    outline_ = new OutlineView(selection_, this);
    testcases_ = new TestcasePanel(testcaseEdits_, this);
    inspector_ = new Inspector(selection_, jobs_, this);
    // Narrower, names and shares cannot be read.
    outline_->setMinimumWidth(fontMetrics().averageCharWidth() * 40);
    outlineDock_ = makeDock(this, QStringLiteral("outlineDock"), tr("Outline"), outline_);
    testcaseDock_ = makeDock(this, QStringLiteral("testcaseDock"), tr("Testcases"), testcases_);
    inspectorDock_ = makeDock(this, QStringLiteral("inspectorDock"), tr("Inspector"), inspector_);
    tableDock_ = makeDock(this, QStringLiteral("tableDock"), tr("Tables"), buildTables());
    // The tabs are the title bar: no line is lost to a title that says "Tables".
    auto* bar = new QWidget(tableDock_);
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(tableTabs_);
    layout->addStretch();
    tableDock_->setTitleBarWidget(bar);
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    connect(outline_, &OutlineView::groupPicked, this, [this](GroupId) { showView(View::graph); });
}

void MainWindow::arrange(Perspective perspective) {
    for (QDockWidget* dock : {outlineDock_, testcaseDock_, inspectorDock_, tableDock_}) {
        removeDockWidget(dock);
        dock->setFloating(false);
    }
    addDockWidget(Qt::LeftDockWidgetArea, outlineDock_);
    addDockWidget(Qt::LeftDockWidgetArea, testcaseDock_);
    splitDockWidget(outlineDock_, testcaseDock_, Qt::Vertical);
    addDockWidget(Qt::RightDockWidgetArea, inspectorDock_);
    addDockWidget(Qt::BottomDockWidgetArea, tableDock_);
    const bool comparing = perspective == Perspective::compare; // both graphs and their table need the room
    outlineDock_->setVisible(perspective != Perspective::run && !comparing);
    testcaseDock_->setVisible(perspective != Perspective::profile && !comparing);
    inspectorDock_->setVisible(!comparing);
    tableDock_->setVisible(!comparing);
    const int unit = fontMetrics().averageCharWidth();
    resizeDocks({outlineDock_, inspectorDock_}, {unit * 42, unit * 46}, Qt::Horizontal);
    resizeDocks({testcaseDock_, inspectorDock_}, {unit * 42, unit * 46}, Qt::Horizontal);
    resizeDocks({tableDock_}, {std::max(height() * 3 / 10, fontMetrics().height() * 8)}, Qt::Vertical);
    resizeDocks({outlineDock_, testcaseDock_}, {300, 180}, Qt::Vertical);
}

void MainWindow::setPerspective(Perspective perspective) {
    QSettings settings;
    if (arranged_) settings.setValue(QStringLiteral("arrangement/%1").arg(static_cast<int>(perspective_)), saveState());
    perspective_ = perspective;
    arranged_ = true;
    const QByteArray remembered = settings.value(QStringLiteral("arrangement/%1").arg(static_cast<int>(perspective))).toByteArray();
    if (remembered.isEmpty() || !restoreState(remembered)) arrange(perspective);
    for (qsizetype i = 0; i < perspectiveActions_.size(); ++i) perspectiveActions_[i]->setChecked(i == static_cast<int>(perspective));
    switch (perspective) {
    case Perspective::inspect:
        tabs_->setCurrentIndex(static_cast<int>(View::graph));
        showTable(QStringLiteral("operators"));
        break;
    case Perspective::run: showTable(QStringLiteral("results")); break;
    case Perspective::profile:
        tabs_->setCurrentIndex(static_cast<int>(View::timeline));
        showTable(QStringLiteral("operators"));
        break;
    case Perspective::compare: tabs_->setCurrentIndex(static_cast<int>(View::compare)); break;
    }
}

void MainWindow::resetPerspective() {
    QSettings().remove(QStringLiteral("arrangement/%1").arg(static_cast<int>(perspective_)));
    arrange(perspective_);
}

void MainWindow::showTable(const QString& name) {
    for (qsizetype i = 0; i < tables_.size(); ++i)
        if (tables_[i] == tablePage(name)) tableTabs_->setCurrentIndex(static_cast<int>(i));
}

void MainWindow::setTableFilter(const QString& text) {
    if (const qsizetype current = tableTabs_->currentIndex(); current >= 0) tables_[current]->setFilterText(text);
}

TablePage* MainWindow::tablePage(const QString& name) const {
    static const QStringList names = {QStringLiteral("operators"), QStringLiteral("vars"), QStringLiteral("weights"), QStringLiteral("results"), QStringLiteral("problems"), QStringLiteral("log")};
    const qsizetype at = names.indexOf(name);
    return at < 0 ? nullptr : tables_[at];
}

} // namespace megascope
