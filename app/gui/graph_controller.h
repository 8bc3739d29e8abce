#pragma once

#include <QObject>
#include <QString>

#include <memory>

#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"

class QAction;
class QMenu;
class QStackedWidget;
class QWidget;

namespace megascope {

class ErrorBar;
class ExecutionOrderView;
class FindPanel;
class GraphView;

/// What the window does with its graph view beyond drawing: search, ways and cones, bookmarks, export, and the view of the
/// execution order. GUI thread.
class GraphController : public QObject {
    Q_OBJECT
public:
    GraphController(GraphView* graph, JobRunner* jobs, Selection* selection, ErrorBar* error, QWidget* window);

    /// The tab "Order".
    [[nodiscard]] QWidget* orderPage() const;
    [[nodiscard]] ExecutionOrderView* order() const { return order_; }
    [[nodiscard]] FindPanel* finder() const { return find_; }

    void addExportActions(QMenu* menu);
    void addCopyActions(QMenu* menu);
    void buildMenu(QMenu* menu);

    /// Another graph is shown; `path` is what bookmarks are remembered for. Null: none.
    void setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path);
    /// Numbers of a run or profile; null: none.
    void setTimes(std::shared_ptr<const OprTimes> times);

    [[nodiscard]] const std::vector<OprId>& bookmarks() const { return bookmarks_; }

public slots:
    void exportGraph();
    void copyPicture();
    void copyText();
    void toggleBookmark();
    void markPathStart();
    void showPath();
    /// Lists and marks everything that the selected operator depends on, or that depends on it.
    void showCone(bool up);

private:
    void fillBookmarks(QMenu* menu);
    void saveBookmarks() const;
    void changeNeighbours(int step);
    [[nodiscard]] OprId selectedOpr() const;
    QAction* add(QMenu* menu, const QString& title, const QKeySequence& key, std::function<void()> slot);

    GraphView* graph_;
    Selection* selection_;
    ErrorBar* error_;
    QWidget* window_;
    FindPanel* find_;
    QStackedWidget* orderStack_;
    ExecutionOrderView* order_;
    std::shared_ptr<const GraphFacts> facts_;
    QString path_;
    std::vector<OprId> bookmarks_;
    OprId pathStart_;
    QList<QAction*> actions_; ///< enabled while a graph is shown
};

} // namespace megascope
