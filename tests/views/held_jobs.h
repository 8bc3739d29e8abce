#pragma once

#include <QThread>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "views/common/job_runner.h"

namespace megascope {

/// A runner whose threads can all be kept busy, so that a job of a test stays where it is.
class HeldJobs : public JobRunner {
public:
    HeldJobs() = default;
    ~HeldJobs() override { release(); }

    void hold() {
        open_->store(false);
        for (int i = 0; i < std::max(4, QThread::idealThreadCount()); ++i) // as many as the runner has
            start<int>(QStringLiteral("hold %1").arg(i), {},
                       [open = open_](const CancelToken&, const Progress&) -> Result<int> {
                           while (!open->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                           return std::make_shared<const int>(0);
                       },
                       this, [](Result<int>) {});
    }
    void release() const { open_->store(true); }
    /// The newest job whose slot begins so; invalid while there is none.
    [[nodiscard]] JobId in(const char* slot) const {
        JobId found;
        for (const JobInfo& job : jobs())
            if (job.slot.startsWith(QLatin1String(slot))) found = job.id;
        return found;
    }

private:
    std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(true);
};

} // namespace megascope
