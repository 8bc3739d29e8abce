#pragma once

#include <QObject>
#include <QStringList>

namespace megascope {

/// The files opened last, newest first, kept in the settings.
class RecentFiles : public QObject {
    Q_OBJECT
public:
    static constexpr int limit = 12;

    explicit RecentFiles(QObject* parent = nullptr) : QObject(parent) {}

    /// Files that do not exist any more are left out.
    [[nodiscard]] QStringList paths() const;
    void add(const QString& path);
    void clear();

signals:
    void changed();
};

} // namespace megascope
