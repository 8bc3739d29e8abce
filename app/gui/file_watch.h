#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

#include <optional>

#include "base/file_stamp.h"

namespace megascope {

/// Notices that a file was written again since it was opened. A file that is gone has not changed: what was opened stays true.
/// GUI thread.
class FileWatch : public QObject {
    Q_OBJECT
public:
    explicit FileWatch(QObject* parent = nullptr);

    /// From now on this file, as it was with this stamp; an empty path or no stamp watches nothing.
    void watch(const QString& path, const std::optional<FileStamp>& opened);
    /// Looks now.
    [[nodiscard]] bool changed() const;
    /// Looks soon; for file systems that send no notifications.
    void check() { rest_.start(); }

signals:
    /// Once per change, when nothing has written to the file for a moment.
    void changedOnDisk(const QString& path);

private:
    void look();
    void follow();

    QString path_;
    std::optional<FileStamp> opened_;
    std::optional<FileStamp> seen_; ///< the last time
    std::optional<FileStamp> told_; ///< what `changedOnDisk` was about
    QFileSystemWatcher watcher_;
    QTimer rest_;
};

} // namespace megascope
