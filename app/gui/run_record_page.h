#pragma once

#include <QWidget>

#include <memory>

#include "app/gui/document_controller.h"
#include "app/gui/record_comparison.h"
#include "app/gui/run_record.h"
#include "views/common/selection.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;

namespace megascope {

class JobRunner;
class ReportTableView;
class TensorView;

/// An IO dump or a fast-run cache as a table; below it the selected row's value, or what else the file says about it. GUI thread.
class RunRecordPage : public QWidget {
    Q_OBJECT
public:
    /// The window owns all of them. A row selects the var of its name in the open model.
    RunRecordPage(JobRunner* jobs, DocumentController* documents, Selection* selection, QWidget* parent);

    /// Null clears.
    void setRecord(std::shared_ptr<const RunRecord> record);
    [[nodiscard]] const std::shared_ptr<const RunRecord>& record() const { return record_; }
    [[nodiscard]] ReportTableView* table() const { return table_; }
    [[nodiscard]] TensorView* value() const { return value_; }
    /// Adds what a comparison with a run found, and shows the first row beyond the tolerance. Of the record that is shown.
    void setComparison(std::shared_ptr<const RecordComparison> comparison);
    [[nodiscard]] const std::shared_ptr<const RecordComparison>& comparison() const { return comparison_; }
    /// A run of the open model is possible.
    void setRunnable(bool runnable);
    [[nodiscard]] QString caption() const;
    [[nodiscard]] QString details() const;

signals:
    /// Run the open model, and hold the record against it.
    void compareRequested();

private:
    void showRow(std::size_t row);
    void selectVar(const QString& name);

    DocumentController* documents_;
    Selection* selection_;
    std::shared_ptr<const RunRecord> record_;
    std::shared_ptr<const RecordComparison> comparison_;
    QPushButton* compare_;
    bool runnable_ = false;
    QLabel* caption_;
    ReportTableView* table_;
    QStackedWidget* below_;
    TensorView* value_;
    QPlainTextEdit* details_;
};

} // namespace megascope
