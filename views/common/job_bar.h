#pragma once

#include <QWidget>

#include "views/common/job_runner.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace megascope {

/// The newest running job in the status bar: what, how far, ✕. Appears after 200 ms, so short jobs do not flicker; the number of
/// further jobs is told, and a click on it lists them.
class JobBar : public QWidget {
    Q_OBJECT
public:
    static constexpr int showAfterMs = 200;

    explicit JobBar(JobRunner* jobs, QWidget* parent = nullptr);

private:
    void refresh();
    void listJobs();

    JobRunner* jobs_;
    QLabel* text_;
    QProgressBar* bar_;
    QToolButton* cancel_;
    QToolButton* more_;
    JobId shown_;
};

/// "Opening resnet18.mge: reading operators".
[[nodiscard]] QString jobText(const JobInfo& job);

} // namespace megascope
