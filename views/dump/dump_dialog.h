#pragma once

#include <QDialog>
#include <QTimer>

#include <memory>

#include "trace/testcase_list.h"
#include "views/common/job_runner.h"
#include "views/dump/dump_preview.h"

class QDialogButtonBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableWidget;

namespace megascope {

class DumpForm;
class ErrorBar;

/// Writes the open graph with every option of MegEngine's trace.dump. Options stand at the left; at the right stands what would be
/// written, computed anew by a job after every change, and the command that does the same. Not modal. GUI thread.
class DumpDialog : public QDialog {
    Q_OBJECT
public:
    explicit DumpDialog(JobRunner* jobs, QWidget* parent = nullptr);
    ~DumpDialog() override;

    /// `graph` is which of the file's graphs is dumped; `edits` its testcases as they are edited (null: none); `edited`: they are not
    /// (so) in the file, so that no command can name them.
    void setSource(std::shared_ptr<const Model> model, std::uint32_t graph, const TestcaseEdits* edits, const QString& path, bool edited = false);
    [[nodiscard]] DumpForm* form() const { return form_; }
    /// Null while it is computed, and after an error.
    [[nodiscard]] std::shared_ptr<const DumpPreview> preview() const { return preview_; }
    [[nodiscard]] QString command() const;
    void setOutput(const QString& path);
    /// Nothing is being computed or about to be.
    [[nodiscard]] bool settled() const;

signals:
    void previewed();
    /// The graph as it is before optimization, and as it would be written.
    void compareRequested(std::shared_ptr<const megascope::DumpPreview> preview);
    void dumped(const QString& path);
    void openRequested(const QString& path);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* buildPreview();
    QWidget* buildOutput();
    void changed();
    void startPreview();
    void showPreview(const std::shared_ptr<const DumpPreview>& preview);
    void showFailure(DumpStage stage, const Error& error);
    void browse();
    void dump();
    void updateState();

    JobRunner* jobs_;
    std::shared_ptr<const Model> model_;
    std::uint32_t index_ = 0;
    std::shared_ptr<const DumpPreview> preview_;
    QTimer delay_;
    DumpForm* form_;
    ErrorBar* error_;
    QLabel* summary_;
    QLabel* notes_;
    QTableWidget* types_;
    QTableWidget* passes_;
    QLabel* commandTitle_;
    QLineEdit* command_;
    QLineEdit* output_;
    QLabel* done_;
    QPushButton *dump_, *compare_, *open_;
};

} // namespace megascope
