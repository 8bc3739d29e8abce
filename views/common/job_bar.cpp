#include "views/common/job_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

#include "views/common/icon.h"

namespace megascope {

QString jobText(const JobInfo& job) { return job.what.isEmpty() ? job.title : QStringLiteral("%1: %2").arg(job.title, job.what); }

JobBar::JobBar(JobRunner* jobs, QWidget* parent) : QWidget(parent), jobs_(jobs) {
    text_ = new QLabel(this);
    bar_ = new QProgressBar(this);
    bar_->setTextVisible(false);
    bar_->setFixedHeight(8);
    bar_->setMinimumWidth(80);
    bar_->setMaximumWidth(140);
    cancel_ = new QToolButton(this);
    cancel_->setIcon(themedIcon(QStringLiteral("close")));
    cancel_->setAutoRaise(true);
    cancel_->setToolTip(tr("Cancel"));
    cancel_->setAccessibleName(tr("Cancel"));
    more_ = new QToolButton(this);
    more_->setAutoRaise(true);
    more_->setToolTip(tr("All running jobs"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 4, 0);
    layout->setSpacing(6);
    layout->addWidget(more_);
    layout->addWidget(text_);
    layout->addWidget(bar_);
    layout->addWidget(cancel_);
    connect(cancel_, &QToolButton::clicked, this, [this] {
        if (shown_.valid()) jobs_->cancel(shown_);
    });
    connect(more_, &QToolButton::clicked, this, &JobBar::listJobs);
    connect(jobs_, &JobRunner::progressed, this, &JobBar::refresh);
    connect(jobs_, &JobRunner::jobEnded, this, &JobBar::refresh);
    hide();
}

void JobBar::refresh() {
    const auto jobs = jobs_->jobs();
    const auto now = std::chrono::steady_clock::now();
    const JobInfo* newest = nullptr;
    std::size_t visible = 0;
    for (const JobInfo& job : jobs) {
        if (now - job.started < std::chrono::milliseconds(showAfterMs)) continue;
        newest = &job;
        ++visible;
    }
    if (!newest) {
        shown_ = {};
        hide();
        return;
    }
    shown_ = newest->id;
    text_->setText(jobText(*newest));
    bar_->setRange(0, newest->total > 0 ? 1000 : 0);
    if (newest->total > 0) bar_->setValue(static_cast<int>(1000.0 * static_cast<double>(std::min(newest->done, newest->total)) / static_cast<double>(newest->total)));
    more_->setVisible(visible > 1);
    more_->setText(QStringLiteral("+%1").arg(visible - 1));
    show();
}

void JobBar::listJobs() {
    QMenu menu;
    for (const JobInfo& job : jobs_->jobs())
        menu.addAction(themedIcon(QStringLiteral("close")), tr("Cancel: %1").arg(jobText(job)), this, [this, id = job.id] { jobs_->cancel(id); });
    menu.exec(more_->mapToGlobal(QPoint(0, -menu.sizeHint().height())));
}

} // namespace megascope
