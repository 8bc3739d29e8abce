#pragma once

#include <memory>
#include <mutex>

#include "session/runner.h"

namespace megascope {

/// One runner for all jobs of a window, which take turns: a job that was superseded may still be ending on its thread.
/// `run` may be called from any thread; who is cancelled while waiting leaves at once.
class SharedRunner final : public Runner {
public:
    explicit SharedRunner(std::unique_ptr<Runner> runner) : runner_(std::move(runner)) {}

    Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) override;

private:
    std::timed_mutex turn_;
    std::unique_ptr<Runner> runner_;
};

} // namespace megascope
