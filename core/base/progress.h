#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace megascope {

/// Reports how far long work is. The callback runs on the working thread; an empty callback makes all calls cheap no-ops.
/// Reports are not throttled here: the receiver (a job, a terminal) decides how often it shows one.
class Progress {
public:
    struct Report {
        std::string_view what;   ///< e.g. "reading operators"; valid only during the call
        std::uint64_t done = 0;
        std::uint64_t total = 0; ///< 0 = unknown
    };
    using Callback = std::function<void(const Report&)>;

    Progress() = default;
    explicit Progress(Callback callback) : callback_(std::move(callback)) {}

    void report(std::string_view what, std::uint64_t done, std::uint64_t total) const {
        if (callback_) callback_({what, done, total});
    }

private:
    Callback callback_;
};

} // namespace megascope
