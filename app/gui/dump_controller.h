#pragma once

#include <QObject>
#include <QPointer>

#include <functional>

#include "app/gui/document_controller.h"
#include "views/dump/dump_dialog.h"
#include "views/testcase/testcase_document.h"

class QAction;
class QMenu;
class QWidget;

namespace megascope {

class ErrorBar;

/// Writing from the window: the Dump dialog, saving edited testcases, and the question before edits are lost. GUI thread.
class DumpController : public QObject {
    Q_OBJECT
public:
    DumpController(QWidget* window, JobRunner* jobs, DocumentController* documents, TestcaseDocument* testcases, ErrorBar* errors);

    [[nodiscard]] QAction* dumpAction() const { return dump_; }
    /// Adds "Dump…" and "Save testcases…".
    void fillMenu(QMenu* menu);
    void updateActions();
    [[nodiscard]] DumpDialog* dialog() const { return dialog_; }

    void showDialog();
    void saveTestcases();
    /// May what is open go away? Asks when testcases were edited and not saved. When they are to be saved first the answer is no, and
    /// `then` is called once that is done.
    [[nodiscard]] bool mayDiscard(std::function<void()> then);

signals:
    void openRequested(const QString& path);
    void compareRequested(std::shared_ptr<const megascope::DumpPreview> preview);
    void log(const QString& line);

private:
    void updateSource();

    QWidget* window_;
    JobRunner* jobs_;
    DocumentController* documents_;
    TestcaseDocument* testcases_;
    ErrorBar* errors_;
    QAction* dump_;
    QAction* save_;
    QPointer<DumpDialog> dialog_;
    std::function<void()> afterSaving_; ///< what waits for the testcases to be saved
};

} // namespace megascope
