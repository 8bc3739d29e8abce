#pragma once

#include <QObject>
#include <QString>

#include <memory>
#include <optional>

#include "app/gui/document_controller.h"
#include "app/gui/graph_target.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/graph/hover_numbers.h"

class QMenu;
class QSplitter;
class QStackedWidget;
class QWidget;

namespace megascope {

class DifferenceTableModel;
class GraphDiffView;
class TablePage;

/// Two graphs beside each other in a tab of their own, with the table of their differences. GUI thread.
///
/// Anything that has two graphs (two files, a graph before and after optimization) hands them to `compare`.
class CompareController : public QObject {
    Q_OBJECT
public:
    /// `selection` is the window's: where one side is the open graph, both follow each other.
    CompareController(JobRunner* jobs, DocumentController* documents, Selection* selection, QWidget* window);

    /// What the tab shows; owned by the window given to the constructor until it is put into a tab.
    [[nodiscard]] QWidget* page() const;
    [[nodiscard]] GraphDiffView* view() const { return view_; }
    [[nodiscard]] TablePage* table() const { return table_; }
    [[nodiscard]] bool active() const { return left_ != nullptr; }
    /// Both drawings are what the window shows: its graph commands act on them.
    [[nodiscard]] bool inSight() const;
    /// The side that was touched last; nothing while the comparison is not in sight.
    [[nodiscard]] std::optional<GraphTarget> target() const;
    [[nodiscard]] FindPanel* finder(bool left) const { return left ? findLeft_ : findRight_; }
    [[nodiscard]] QString leftTitle() const { return leftTitle_; }
    [[nodiscard]] QString rightTitle() const { return rightTitle_; }
    /// Numbers of a run or profile of the open graph; null: none.
    void setTimes(std::shared_ptr<const OprTimes> times);

    /// Fills a menu "Compare".
    void buildMenu(QMenu* menu);
    /// The file is of a kind that `compareWith` can open (looks at its first bytes; false for what cannot be read).
    [[nodiscard]] static bool isModelFile(const QString& path);

public slots:
    /// Shows two graphs and their differences. Null ends the comparison.
    void compare(std::shared_ptr<const megascope::GraphFacts> left, std::shared_ptr<const megascope::GraphFacts> right, const QString& leftTitle,
                 const QString& rightTitle);
    /// Compares the open model with a file.
    void compareWith(const QString& path);
    /// Asks for the file.
    void chooseFile();
    void swapSides();
    void close();

signals:
    /// A comparison was handed over: the tab is worth a look.
    void shown();
    void failed(const QString& path, const megascope::Error& error);
    void activeChanged(bool active);

private:
    void follow(Pick pick);
    void tellNumbers();

    JobRunner* jobs_;
    DocumentController* documents_;
    Selection* selection_;
    QWidget* window_;
    Selection* own_; ///< of the table of differences, whose rows are no operators of the open graph
    QStackedWidget* stack_;
    GraphDiffView* view_;
    DifferenceTableModel* model_;
    TablePage* table_;
    FindPanel* findLeft_;
    FindPanel* findRight_;
    std::shared_ptr<const GraphFacts> left_, right_;
    std::shared_ptr<const OprTimes> times_;
    QString leftTitle_, rightTitle_;
    bool following_ = false;
};

} // namespace megascope
