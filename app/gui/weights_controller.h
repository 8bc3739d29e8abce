#pragma once

#include <QObject>

#include <vector>

#include "views/common/job_runner.h"

class QAction;
class QMenu;

namespace megascope {

class ErrorBar;
class TablePage;
class WeightTableModel;

/// What the table of weights needs beside its rows: statistics, counted by a job when the table is first looked at, and files with
/// the values. GUI thread.
class WeightsController : public QObject {
    Q_OBJECT
public:
    WeightsController(JobRunner* jobs, TablePage* page, WeightTableModel* model, ErrorBar* errors, QObject* parent);

    /// Adds "All weights…".
    void addActions(QMenu* menu);
    /// The table came into sight, or shows another model.
    void look();
    /// Writes the weights of these source rows as one .npz file.
    void save(const std::vector<int>& rows, const QString& path);

signals:
    void written(const QString& path);

private:
    void choose(const std::vector<int>& rows);
    void updateActions();

    JobRunner* jobs_;
    TablePage* page_;
    WeightTableModel* model_;
    ErrorBar* errors_;
    QAction* all_;
    QAction* chosen_;
};

} // namespace megascope
