#include "app/gui/file_watch.h"

#include <QFileInfo>

#include <filesystem>

namespace megascope {

namespace {

constexpr int restMs = 300; // dumps are written in pieces

std::optional<FileStamp> stampOf(const QString& path) { return file_stamp(std::filesystem::path(path.toStdU16String())); }

} // namespace

FileWatch::FileWatch(QObject* parent) : QObject(parent) {
    rest_.setSingleShot(true);
    rest_.setInterval(restMs);
    connect(&rest_, &QTimer::timeout, this, &FileWatch::look);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &FileWatch::check);
    connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, &FileWatch::check);
}

void FileWatch::watch(const QString& path, const std::optional<FileStamp>& opened) {
    if (const QStringList old = watcher_.files() + watcher_.directories(); !old.isEmpty()) watcher_.removePaths(old);
    rest_.stop();
    path_ = opened ? path : QString();
    opened_ = opened;
    seen_ = told_ = opened;
    if (path_.isEmpty()) return;
    follow();
    check(); // it may have changed while it was being read
}

void FileWatch::follow() {
    // The folder, too: a file that is replaced by another one is a new file to the system.
    if (!watcher_.files().contains(path_) && QFileInfo::exists(path_)) watcher_.addPath(path_);
    if (const QString folder = QFileInfo(path_).absolutePath(); watcher_.directories().isEmpty()) watcher_.addPath(folder);
}

bool FileWatch::changed() const {
    if (path_.isEmpty()) return false;
    const auto now = stampOf(path_);
    return now && now != opened_;
}

void FileWatch::look() {
    if (path_.isEmpty()) return;
    follow();
    const auto now = stampOf(path_);
    if (!now) return;
    if (now != seen_) { // perhaps it is still being written
        seen_ = now;
        rest_.start();
        return;
    }
    if (now == opened_ || now == told_) return;
    told_ = now;
    emit changedOnDisk(path_);
}

} // namespace megascope
