#pragma once

#include <QObject>
#include <QString>

#include <vector>

#include "views/common/job_runner.h"

class QAction;
class QMenu;
class QWidget;

namespace megascope {

class CompareController;
class ErrorBar;
class GraphView;
struct GraphDrawing;

/// Takes the window's graph out of it, or both graphs of the comparison while that is in sight: files of the drawing and of its
/// structure, and the clipboard. All of it runs as jobs; a newer one takes the place of an older one. GUI thread.
class GraphExportController : public QObject {
    Q_OBJECT
public:
    GraphExportController(GraphView* graph, JobRunner* jobs, ErrorBar* error, QWidget* window);

    void setComparison(CompareController* compare) { compare_ = compare; }
    void addExportActions(QMenu* menu);
    void addCopyActions(QMenu* menu);
    /// `path` is that of the open file: its name is proposed. Empty: none.
    void setSource(bool shown, const QString& path);

    /// Writes the whole drawing, or what the view shows; see graph_export.h. Of a comparison both: "net.svg" becomes "net-left.svg" and
    /// "net-right.svg".
    void writeTo(const QString& path, bool whole = true, double pngScale = 0);

signals:
    void written(const QString& path); ///< once for each file
    /// Something was put on the clipboard.
    void copied(const QString& what);

public slots:
    void exportGraph();
    void copyPicture();
    void copyText();

private:
    QAction* add(QMenu* menu, const QString& title, const QKeySequence& key, void (GraphExportController::*slot)());

    /// What is taken out, with what it adds to a file's name.
    struct Part {
        GraphView* view;
        QString suffix;
    };
    [[nodiscard]] std::vector<Part> parts() const;
    [[nodiscard]] static QString pathOf(const QString& path, const Part& part);
    [[nodiscard]] bool mayOverwrite(const QString& path);

    GraphView* graph_;
    CompareController* compare_ = nullptr;
    JobRunner* jobs_;
    ErrorBar* error_;
    QWidget* window_;
    QString source_;
    QList<QAction*> actions_; ///< enabled while a graph is shown
};

} // namespace megascope
