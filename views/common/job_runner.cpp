#include "views/common/job_runner.h"

#include <algorithm>

namespace megascope {

void JobRunner::Mailbox::post(std::function<void()> deliver) {
    const std::lock_guard lock(mutex);
    // The target is a context object: events still queued when it is destroyed are dropped by Qt.
    if (target) QMetaObject::invokeMethod(target, std::move(deliver), Qt::QueuedConnection);
}

JobRunner::JobRunner(QObject* parent) : QObject(parent) {
    mailbox_->target = this;
    // Jobs wait for files and child processes as often as they compute.
    pool_.setMaxThreadCount(std::max(4, QThread::idealThreadCount()));
    poll_.setInterval(50);
    connect(&poll_, &QTimer::timeout, this, &JobRunner::progressed);
}

JobRunner::~JobRunner() {
    {
        const std::lock_guard lock(mailbox_->mutex);
        mailbox_->target = nullptr;
    }
    for (const Job& job : jobs_) job.shared->cancel.cancel();
    pool_.clear();
    pool_.waitForDone();
}

void JobRunner::launch(std::function<void()> task) { pool_.start(std::move(task)); }

JobId JobRunner::add(const QString& slot, const QString& title, std::shared_ptr<Shared> shared, std::function<void()> cancelled) {
    const JobId id(next_++);
    JobInfo info;
    info.id = id;
    info.slot = slot;
    info.title = title;
    info.started = std::chrono::steady_clock::now();
    jobs_.push_back({std::move(info), std::move(shared), std::move(cancelled)});
    poll_.start();
    emit jobStarted(id);
    return id;
}

bool JobRunner::take(JobId job) {
    const auto it = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.info.id == job; });
    if (it == jobs_.end()) return false;
    jobs_.erase(it);
    emit jobEnded(job);
    if (jobs_.empty()) {
        poll_.stop();
        // Queued: the receiver of this result may start the next job first.
        QMetaObject::invokeMethod(this, [this] { if (jobs_.empty()) emit becameIdle(); }, Qt::QueuedConnection);
    }
    return true;
}

void JobRunner::cancel(JobId job) {
    const auto it = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.info.id == job; });
    if (it == jobs_.end()) return;
    it->shared->cancel.cancel();
    const auto cancelled = it->cancelled;
    take(job);
    cancelled();
}

void JobRunner::dropSlot(const QString& slot) {
    for (std::size_t i = jobs_.size(); i-- > 0;) {
        if (jobs_[i].info.slot != slot) continue;
        jobs_[i].shared->cancel.cancel();
        take(jobs_[i].info.id);
    }
}

bool JobRunner::busy(const QString& slot) const {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.info.slot == slot; });
}

std::vector<JobInfo> JobRunner::jobs() const {
    std::vector<JobInfo> list;
    list.reserve(jobs_.size());
    for (const Job& job : jobs_) {
        JobInfo info = job.info;
        const std::lock_guard lock(job.shared->mutex);
        info.what = job.shared->what;
        info.done = job.shared->done;
        info.total = job.shared->total;
        list.push_back(std::move(info));
    }
    return list;
}

} // namespace megascope
