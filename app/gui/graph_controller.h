#pragma once

#include <QObject>
#include <QString>

#include <memory>

#include "app/gui/graph_target.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"

class QAction;
class QMenu;
class QStackedWidget;
class QWidget;

namespace megascope {

class Bookmarks;
class CompareController;
class ErrorBar;
class ExecutionOrderView;
class FindPanel;
class GraphView;
class SelectionController;

/// What the window does with its graph view beyond drawing: search, ways and cones, bookmarks, and the view of the execution
/// order. GUI thread.
class GraphController : public QObject {
    Q_OBJECT
public:
    GraphController(GraphView* graph, JobRunner* jobs, Selection* selection, SelectionController* selecting, ErrorBar* error, QWidget* window);

    /// The tab "Order".
    [[nodiscard]] QWidget* orderPage() const;
    [[nodiscard]] ExecutionOrderView* order() const { return order_; }
    [[nodiscard]] FindPanel* finder() const { return find_; }
    /// What commands act on now.
    [[nodiscard]] GraphTarget target() const;

    /// While the comparison is in sight, search, ways, cones and focus are about its drawings.
    void setComparison(CompareController* compare) { compare_ = compare; }
    void buildMenu(QMenu* menu);

    /// Another graph is shown; `path` is what bookmarks are remembered for. Null: none.
    void setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path);
    /// Numbers of a run or profile; null: none.
    void setTimes(std::shared_ptr<const OprTimes> times);

    [[nodiscard]] Bookmarks* bookmarks() const { return bookmarks_; }

public slots:
    /// Of everything that is selected.
    void toggleBookmark();
    void goToBookmark(int step);
    void markPathStart();
    /// Lists and marks what lies on all ways, or on one of the shortest, between the marked start and the selection; or between the
    /// two operators that are selected together.
    void showPath(bool shortest = false);
    /// Lists and marks everything that the selected operator depends on, or that depends on it.
    void showCone(bool up);

private:
    void fillBookmarks(QMenu* menu);
    void changeNeighbours(int step);
    [[nodiscard]] OprId selectedOpr() const;
    QAction* add(QMenu* menu, const QString& title, const QKeySequence& key, std::function<void()> slot);

    GraphView* graph_;
    Selection* selection_;
    SelectionController* selecting_;
    ErrorBar* error_;
    QWidget* window_;
    FindPanel* find_;
    Bookmarks* bookmarks_;
    QStackedWidget* orderStack_;
    ExecutionOrderView* order_;
    std::shared_ptr<const GraphFacts> facts_;
    CompareController* compare_ = nullptr;
    OprId pathStart_;
    std::shared_ptr<const GraphFacts> pathStartIn_; ///< the graph that it belongs to
    QList<QAction*> actions_; ///< enabled while a graph is shown
};

} // namespace megascope
