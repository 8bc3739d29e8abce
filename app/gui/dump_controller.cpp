#include "app/gui/dump_controller.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QShortcut>

#include <utility>

#include "app/gui/help_dialog.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/dump/dump_form.h"

namespace megascope {

DumpController::DumpController(QWidget* window, JobRunner* jobs, DocumentController* documents, TestcaseDocument* testcases, ErrorBar* errors)
    : QObject(window), window_(window), jobs_(jobs), documents_(documents), testcases_(testcases), errors_(errors) {
    dump_ = new QAction(themedIcon(QStringLiteral("dump")), tr("&Dump…"), this);
    dump_->setIconText(tr("Dump"));
    dump_->setObjectName(QStringLiteral("dumpAction"));
    dump_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_D));
    dump_->setToolTip(tr("Write the graph as MegEngine's trace.dump does: optimized, with testcases, with other names (Ctrl+D)"));
    save_ = new QAction(tr("Save &testcases…"), this);
    save_->setObjectName(QStringLiteral("saveTestcasesAction"));
    save_->setShortcut(QKeySequence::Save); // what is edited here is testcases
    connect(dump_, &QAction::triggered, this, &DumpController::showDialog);
    connect(save_, &QAction::triggered, this, &DumpController::saveTestcases);
    connect(testcases_, &TestcaseDocument::changed, this, &DumpController::updateActions);
    connect(testcases_, &TestcaseDocument::failed, this, [this](const Error& error) {
        afterSaving_ = {};
        errors_->showError(error);
    });
    connect(testcases_, &TestcaseDocument::saved, this, [this](const QString& path) {
        emit log(tr("Saved testcases to %1").arg(path));
        if (const auto then = std::exchange(afterSaving_, {})) QMetaObject::invokeMethod(this, then, Qt::QueuedConnection);
    });
    connect(documents_, &DocumentController::modelOpened, this, &DumpController::updateSource);
    connect(documents_, &DocumentController::modelClosed, this, &DumpController::updateSource);
    updateActions();
}

void DumpController::fillMenu(QMenu* menu) {
    menu->addAction(save_);
    menu->addAction(dump_);
}

void DumpController::updateActions() {
    dump_->setEnabled(documents_->model() != nullptr);
    save_->setEnabled(testcases_->modified() && !testcases_->busy());
}

void DumpController::updateSource() {
    updateActions();
    if (!dialog_) return;
    if (!documents_->model()) dialog_->close();
    else if (dialog_->isVisible()) showDialog();
}

void DumpController::showDialog() {
    const auto opened = documents_->model();
    if (!opened || !documents_->modelIsCurrent()) return;
    if (!dialog_) {
        dialog_ = new DumpDialog(jobs_, window_);
        connect(new QShortcut(QKeySequence::HelpContents, dialog_), &QShortcut::activated, dialog_, [dialog = dialog_.data()] { showHelpFor(dialog, dialog); });
        connect(dialog_, &DumpDialog::openRequested, this, &DumpController::openRequested);
        connect(dialog_, &DumpDialog::compareRequested, this, &DumpController::compareRequested);
        connect(dialog_, &DumpDialog::dumped, this, [this](const QString& path) { emit log(tr("Dumped to %1").arg(path)); });
    }
    // The testcases belong to the file's first graph.
    const bool first = opened->graph == 0 && testcases_->open();
    dialog_->setSource(opened->model, opened->graph, first ? &testcases_->list().now() : nullptr, opened->path, first && testcases_->list().edited());
    dialog_->show();
    dialog_->raise();
    dialog_->activateWindow();
}

void DumpController::saveTestcases() {
    afterSaving_ = {};
    if (!documents_->model() || !documents_->modelIsCurrent()) return;
    const QFileInfo info(documents_->model()->path);
    QString base = info.completeBaseName();
    if (!base.endsWith(QLatin1String(".test"))) base += QStringLiteral(".test");
    const QString path = QFileDialog::getSaveFileName(window_, tr("Save testcases"), info.absolutePath() + QLatin1Char('/') + base + QStringLiteral(".mge"),
                                                      tr("MegEngine models (*.mge);;All files (*)"));
    if (!path.isEmpty()) testcases_->save(path);
}

bool DumpController::mayDiscard(std::function<void()> then) {
    if (!testcases_->modified()) return true;
    const auto answer = QMessageBox::question(window_, tr("Edited testcases"), tr("The edited testcases were not saved. Discard them?"),
                                              QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
    if (answer == QMessageBox::Save) {
        saveTestcases();
        if (testcases_->saving()) afterSaving_ = std::move(then);
    }
    return answer == QMessageBox::Discard;
}

} // namespace megascope
