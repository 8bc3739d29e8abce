#include "views/testcase/shared_runner.h"

#include <chrono>

namespace megascope {

namespace {

constexpr std::chrono::milliseconds patience{20}; // short, so that a cancelled job does not hold its thread

} // namespace

Expected<RunReport> SharedRunner::run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) {
    std::unique_lock turn(turn_, std::defer_lock);
    while (!turn.try_lock_for(patience))
        if (cancel.cancelled()) return CancelToken::error();
    if (cancel.cancelled()) return CancelToken::error();
    return runner_->run(request, progress, cancel);
}

} // namespace megascope
