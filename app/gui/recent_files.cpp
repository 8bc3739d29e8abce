#include "app/gui/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace megascope {

namespace {

const QString key = QStringLiteral("recentFiles");

} // namespace

QStringList RecentFiles::paths() const {
    QStringList paths = QSettings().value(key).toStringList();
    paths.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return paths;
}

void RecentFiles::add(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList paths = QSettings().value(key).toStringList();
    paths.removeAll(absolute);
    paths.prepend(absolute);
    while (paths.size() > limit) paths.removeLast();
    QSettings().setValue(key, paths);
    emit changed();
}

void RecentFiles::clear() {
    QSettings().remove(key);
    emit changed();
}

} // namespace megascope
