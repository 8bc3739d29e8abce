#pragma once

#include <atomic>
#include <memory>

#include "base/error.h"

namespace megascope {

/// Cooperative cancellation. Copies share one flag; any thread may cancel or ask.
class CancelToken {
public:
    CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

    void cancel() const { flag_->store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
    /// The error a long function returns when it stops because of this token.
    [[nodiscard]] static tl::unexpected<Error> error() { return fail(ErrorCode::cancelled, "Cancelled."); }

private:
    std::shared_ptr<std::atomic<bool>> flag_;
};

} // namespace megascope
