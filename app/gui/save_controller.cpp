#include "app/gui/save_controller.h"

#include <QFileInfo>

#include <filesystem>

namespace megascope {

void SaveController::ask() {
    if (!documents_->model() || !documents_->modelIsCurrent()) return;
    auto* dialog = new SaveOptionsDialog(*documents_->model()->model, documents_->model()->path, window_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { save(dialog->choice()); });
    dialog->open();
}

void SaveController::save(const SaveChoice& choice) {
    if (!documents_->model() || !documents_->modelIsCurrent()) return;
    const QString title = choice.append ? tr("Appending to %1") : tr("Saving %1");
    jobs_->start<SavedDump>(
        QStringLiteral("save"), title.arg(QFileInfo(choice.path).fileName()),
        [choice, model = documents_->model()->model](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const SavedDump>> {
            const std::filesystem::path path(choice.path.toStdU16String());
            progress.report("preparing the graphs", 0, 0);
            const ConvertedDump converted(*model, choice.conversion);
            auto dump = std::make_shared<SavedDump>();
            dump->path = choice.path;
            dump->append = choice.append;
            dump->container = converted.content().main.options.container;
            dump->testcases = converted.content().testcases.size();
            MGS_ASSIGN(dump->summary, save_dump(path, converted.content(), choice.append, cancel, progress));
            std::error_code ignored;
            dump->file_bytes = std::filesystem::file_size(path, ignored);
            return dump;
        },
        this,
        [this, path = choice.path](JobRunner::Result<SavedDump> result) {
            if (result) emit saved(*result);
            else if (result.error().code != ErrorCode::cancelled) emit failed(path, result.error());
        });
}

} // namespace megascope
