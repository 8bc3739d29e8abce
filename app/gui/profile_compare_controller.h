#pragma once

#include <QObject>

#include <memory>
#include <vector>

#include "app/gui/document_controller.h"
#include "session/runner.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/profile_compare_view.h"

class QAction;
class QMenu;
class QStackedWidget;

namespace megascope {

class GraphView;

/// Compares the open profile, trace or profiled run with another one: by jobs, in a page of its own, with the graph coloured by
/// change. GUI thread.
class ProfileCompareController : public QObject {
    Q_OBJECT
public:
    /// The window owns all of them.
    ProfileCompareController(JobRunner* jobs, DocumentController* documents, Selection* selection, GraphView* graph, QWidget* parent);

    /// The page for the window's tabs.
    [[nodiscard]] QWidget* page() const;
    [[nodiscard]] ProfileCompareView* view() const { return view_; }
    /// "Compare profiles…", "Compare the last two profiled runs".
    void addActions(QMenu* menu);

    /// A profiled run ended: it is what `compareWith` compares from now on, and may be compared with the one before.
    void addRun(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report);
    /// A profile was opened: it is what `compareWith` compares from now on.
    void profileOpened(std::shared_ptr<const OpenedProfile> opened);
    /// Another graph is shown, or none: runs and colours of the old one are forgotten.
    void graphChanged();

    /// Asks for a file (two when nothing is there to compare).
    void chooseFiles();
    /// What is open is "before", the file or folder "after".
    void compareWith(const QString& path);
    void compareFiles(const QString& before, const QString& after);
    void compareRuns();

    /// Is the graph coloured by change? Then other colours have to wait.
    [[nodiscard]] bool coloursGraph() const;
    /// Something else is to colour the graph.
    void releaseColours();

signals:
    /// A comparison is there to be looked at.
    void compared();
    /// The graph is not coloured by change any more.
    void coloursReleased();
    void failed(const QString& path, const megascope::Error& error);

private:
    struct Run {
        std::shared_ptr<const GraphFacts> facts;
        std::shared_ptr<const RunReport> report;
        QString title;
    };
    /// Makes one side; runs on a job's thread.
    using MakeSide = std::function<Expected<CompareSide>(const CancelToken&, const Progress&)>;
    [[nodiscard]] MakeSide sideOfFile(const QString& path) const;
    [[nodiscard]] MakeSide sideOfRun(const Run& run) const;
    [[nodiscard]] MakeSide sideOfOpened() const;
    void start(MakeSide before, MakeSide after, const QString& path);
    void colour();
    [[nodiscard]] std::shared_ptr<const GraphFacts> shownFacts() const;
    void updateActions();

    JobRunner* jobs_;
    DocumentController* documents_;
    Selection* selection_;
    GraphView* graph_;
    QStackedWidget* page_;
    ProfileCompareView* view_;
    QAction* runsAction_ = nullptr;
    std::vector<Run> runs_; ///< the last two
    int runCount_ = 0;
    std::shared_ptr<const OpenedProfile> opened_;
    bool runIsCurrent_ = false; ///< what is compared is the last run, not the open profile
    std::shared_ptr<const GraphFacts> colouredFacts_; ///< the graph that the comparison was matched with
};

} // namespace megascope
