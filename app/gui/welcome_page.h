#pragma once

#include <QWidget>

class QListWidget;
class QLabel;

namespace megascope {

class RecentFiles;

/// What the window shows before anything is open.
class WelcomePage : public QWidget {
    Q_OBJECT
public:
    explicit WelcomePage(RecentFiles* recent, QWidget* parent = nullptr);

signals:
    void openRequested();
    void sampleRequested();
    void fileRequested(const QString& path);

private:
    void refresh();

    RecentFiles* recent_;
    QListWidget* list_;
    QLabel* listTitle_;
};

} // namespace megascope
