#pragma once

#include <QObject>

#include <memory>

#include "app/gui/document_controller.h"
#include "format/writer.h"
#include "views/common/job_runner.h"
#include "views/dump/save_options_dialog.h"

namespace megascope {

/// What was written.
struct SavedDump {
    QString path;
    Container container = Container::fbs_v2;
    bool append = false;
    WriteSummary summary;       ///< of the first graph
    std::uint64_t file_bytes = 0; ///< of the whole file
    std::size_t testcases = 0;
};

/// File > Save As: asks, then writes the open file by a job. The file appears in one step; whatever has the old one mapped, this
/// window included, keeps seeing the old content. GUI thread.
class SaveController : public QObject {
    Q_OBJECT
public:
    SaveController(DocumentController* documents, JobRunner* jobs, QWidget* window) : QObject(window), documents_(documents), jobs_(jobs), window_(window) {}

    /// Shows the options for the open file; nothing happens without one.
    void ask();
    void save(const SaveChoice& choice);

signals:
    void saved(std::shared_ptr<const megascope::SavedDump> dump);
    void failed(const QString& path, const megascope::Error& error);

private:
    DocumentController* documents_;
    JobRunner* jobs_;
    QWidget* window_;
};

} // namespace megascope
