#pragma once

#include <QMainWindow>

#include <functional>
#include <memory>
#include <optional>

#include "app/gui/document_controller.h"
#include "app/gui/value_store.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/common/theme.h"
#include "views/testcase/run_controller.h"

class QActionGroup;
class QComboBox;
class QLabel;
class QStackedWidget;
class QTabBar;
class QTabWidget;

namespace megascope {

class CompareController;
class EmptyState;
class DumpController;
struct DumpPreview;
class ErrorBar;
class FilePage;
class FindAnything;
class GraphController;
class GraphExportController;
class GraphLookController;
class FlameController;
class GraphView;
class Inspector;
class JobBar;
class KeyBar;
class LogTableModel;
class MemoryController;
class OprTableModel;
class OutlineView;
class ProblemTableModel;
class ProfileCompareController;
class ProfileReportController;
class RecentFiles;
class ResultTableModel;
class RooflineController;
class RunRecordPage;
class SaveController;
class SelectionController;
struct SavedDump;
class TablePage;
class TensorView;
class TestcaseDocument;
class TestcasePanel;
class TimelinePanel;
class TimelineView;
class VarTableModel;
class WeightTableModel;
class WeightsController;
class WelcomePage;

/// An arrangement of the docks for one kind of work.
enum class Perspective { inspect, run, profile, compare };

/// The window: wires views, jobs and what is open. Split over main_window*.cpp by concern.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    /// Names of central tabs and tables, for scripts and settings.
    enum class View { graph, timeline, flame, roofline, memory, value, file, compare, analysis, changes, order, record };

    explicit MainWindow(std::unique_ptr<Runner> runner, QWidget* parent = nullptr);
    ~MainWindow() override;

    void open(const QString& path);
    /// Several files at once: one model, a second one that is compared with it, profiles and records.
    void openAll(const QStringList& paths);
    /// Opens what is open again and keeps the view and the selection.
    void reload();
    void openSample();
    /// Says that these models of the command line were not opened: a window shows one and compares it with a second one.
    void sayNotOpened(const QStringList& paths);
    /// Shows a second dump beside the open one.
    void compareWith(const QString& path);
    void showView(View view);
    /// "operators", "vars", "weights", "results", "problems", "log".
    void showTable(const QString& name);
    void setTableFilter(const QString& text);
    /// Selects the operator or var of that name; false when there is none.
    bool selectByName(const QString& name);
    /// Runs the selected testcases, or the own inputs.
    void runSelected();
    void runAll();
    void setPerspective(Perspective perspective);
    void setTheme(ThemeMode mode);

    [[nodiscard]] JobRunner* jobs() const { return jobs_; }
    [[nodiscard]] Selection* selection() const { return selection_; }
    [[nodiscard]] DocumentController* documents() const { return documents_; }
    [[nodiscard]] RunController* runs() const { return runs_; }
    [[nodiscard]] SaveController* saves() const { return saves_; }
    [[nodiscard]] CompareController* comparison() const { return compare_; }
    [[nodiscard]] TestcaseDocument* testcaseEdits() const { return testcaseEdits_; }
    [[nodiscard]] DumpController* dumps() const { return dumps_; }
    [[nodiscard]] GraphView* graphView() const { return graph_; }
    [[nodiscard]] TimelinePanel* timelinePanel() const { return timelinePanel_; }
    [[nodiscard]] ProfileCompareController* profileComparison() const { return profileCompare_; }
    [[nodiscard]] ProfileReportController* profileReports() const { return profileReport_; }
    [[nodiscard]] SelectionController* selecting() const { return selecting_; }
    [[nodiscard]] WeightsController* weightTools() const { return weightTools_; }
    [[nodiscard]] GraphController* graphTools() const { return graphTools_; }
    [[nodiscard]] GraphExportController* graphExport() const { return graphExport_; }
    [[nodiscard]] TablePage* tablePage(const QString& name) const;
    [[nodiscard]] ErrorBar* errorBar() const { return error_; }
    /// Nothing is being computed or drawn anew.
    [[nodiscard]] bool settled() const;
    /// Where the sample dumps are; empty when they are not installed.
    [[nodiscard]] static QString samplePath();

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    // main_window.cpp
    void buildCentre();
    void connectViews();
    void restoreSettings();

    // main_window_docks.cpp
    void buildDocks();
    QWidget* buildTables();
    void arrange(Perspective perspective);
    void resetPerspective();

    // main_window_actions.cpp
    void buildActions();
    void buildFileMenu();
    void buildEditMenu();
    void buildViewMenu();
    void buildGraphMenu();
    void buildRunMenu();
    void buildHelpMenu();
    /// The drawings that commands of the menu Graph act on.
    [[nodiscard]] QList<GraphView*> commandedGraphs() const;
    void buildToolBar();
    void fillRecentMenu();
    void updateActions();
    void openDialog();
    void findAnything();
    void findInView();
    /// The keyboard goes to the next (1) or previous (-1) visible part: the view in the middle, then the docks.
    void focusArea(int step);
    void showHelp();
    void about();

    // main_window_document.cpp
    void showModel(const std::shared_ptr<const OpenedModel>& opened);
    void showClosed();
    void showProfile(const std::shared_ptr<const OpenedProfile>& opened);
    void showJoined(const std::shared_ptr<const JoinedProfile>& joined);
    void showRecord(const std::shared_ptr<const RunRecord>& record);
    void openFailed(const QString& path, const Error& error);
    void sayChanged(const QString& path);
    void showSaved(const std::shared_ptr<const SavedDump>& dump);
    /// The graph of the open model, or a profile's own; null shows none.
    void showGraph(const std::shared_ptr<const GraphFacts>& facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    void colourGraph();
    void reportProfile(std::shared_ptr<const GraphProfile> profile, const QString& title);
    void updateStatus();
    void fileProblems(const OpenedModel& opened);
    void showTimeline(std::shared_ptr<const TimelineScene> scene);
    void sliceClicked(std::uint32_t source);
    void highlightInTimeline(Pick pick);
    /// Facts of the graph that is shown; null when there is none.
    std::shared_ptr<const GraphFacts> shownFacts() const;

    // main_window_run.cpp
    RunRequest baseRequest() const;
    void startRun(RunRequest request, std::vector<std::uint32_t> testcases, bool ownInputs);
    void launch(const RunRequest& request);
    void showStatistics(const std::shared_ptr<const RunReport>& report);
    void testcasesChanged();
    void compareDump(const std::shared_ptr<const DumpPreview>& preview);
    void profileRun();
    void computeValue(VarId var);
    void compareRecordWithRun();
    void showRecordComparison(const std::shared_ptr<const RunReport>& report);
    void runFinished(const std::shared_ptr<const RunReport>& report);
    void runFailed(const Error& error);
    void lookUpValue(VarId var);
    void showRunTimeline(const std::shared_ptr<const RunReport>& report);

    // What runs and is open.
    JobRunner* jobs_;
    Selection* selection_;
    DocumentController* documents_;
    RunController* runs_;
    CompareController* compare_ = nullptr;
    SelectionController* selecting_ = nullptr;
    GraphController* graphTools_ = nullptr;
    GraphLookController* graphLook_ = nullptr;
    GraphExportController* graphExport_ = nullptr;
    TestcaseDocument* testcaseEdits_;
    DumpController* dumps_ = nullptr;
    RecentFiles* recent_;
    SaveController* saves_;
    ValueStore values_;
    std::shared_ptr<const OpenedModel> shown_; ///< the model that the views show
    std::function<void()> barAction_;          ///< what the error bar's button does
    std::shared_ptr<const OprTimes> times_;
    std::vector<ProfileOprId> profileOfOpr_; ///< by OprId: the operator of the shown timeline; empty when nothing matched
    std::shared_ptr<const TimelineScene> timelineScene_;
    bool timelineOfRun_ = false; ///< the timeline shows the last profiled run, not a file
    enum class RunPurpose { testcases, profile, value, record } purpose_ = RunPurpose::testcases;
    VarId wantedValue_;

    // The centre.
    QStackedWidget* centre_ = nullptr;
    WelcomePage* welcome_ = nullptr;
    QTabWidget* tabs_ = nullptr;
    ErrorBar* error_ = nullptr;
    KeyBar* keyBar_ = nullptr;
    GraphView* graph_ = nullptr;
    QList<GraphView*> graphs_; ///< that one and both of the comparison: they draw in one way
    QStackedWidget* timelineStack_ = nullptr;
    TimelinePanel* timelinePanel_ = nullptr;
    TimelineView* timeline_ = nullptr;
    ProfileCompareController* profileCompare_ = nullptr;
    ProfileReportController* profileReport_ = nullptr;
    FlameController* flame_ = nullptr;
    MemoryController* memory_ = nullptr;
    RooflineController* roofline_ = nullptr;
    QStackedWidget* valueStack_ = nullptr;
    TensorView* value_ = nullptr;
    FilePage* file_ = nullptr;
    RunRecordPage* record_ = nullptr; ///< its tab is there once an IO dump or a fast-run cache was opened

    // Docks.
    QDockWidget* outlineDock_ = nullptr;
    QDockWidget* testcaseDock_ = nullptr;
    QDockWidget* inspectorDock_ = nullptr;
    QDockWidget* tableDock_ = nullptr;
    OutlineView* outline_ = nullptr;
    TestcasePanel* testcases_ = nullptr;
    Inspector* inspector_ = nullptr;
    QTabBar* tableTabs_ = nullptr;
    QStackedWidget* tableStack_ = nullptr;
    QList<TablePage*> tables_;
    OprTableModel* oprs_ = nullptr;
    VarTableModel* vars_ = nullptr;
    WeightTableModel* weights_ = nullptr;
    WeightsController* weightTools_ = nullptr;
    ResultTableModel* results_ = nullptr;
    ProblemTableModel* problems_ = nullptr;
    LogTableModel* log_ = nullptr;
    Perspective perspective_ = Perspective::inspect;
    bool arranged_ = false;

    // Actions that change with the state.
    QMenu* recentMenu_ = nullptr;
    QMenu* graphMenu_ = nullptr;
    QAction* closeAction_ = nullptr;
    QAction* reloadAction_ = nullptr;
    QAction* runAction_ = nullptr;
    QAction* runAllAction_ = nullptr;
    QAction* stopAction_ = nullptr;
    QAction* profileAction_ = nullptr;
    QAction* backAction_ = nullptr;
    QAction* forwardAction_ = nullptr;
    EmptyState* noValue_ = nullptr;
    QList<QAction*> modelActions_; ///< enabled while a model is open
    QList<QAction*> perspectiveActions_;
    QList<QAction*> themeActions_;
    QComboBox* backend_ = nullptr;
    QComboBox* threads_ = nullptr;
    FindAnything* find_ = nullptr;

    // Status bar.
    QLabel* fileStatus_ = nullptr;
    QLabel* runStatus_ = nullptr;
    JobBar* jobBar_ = nullptr;
};

} // namespace megascope
