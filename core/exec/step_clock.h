#pragma once

#include <chrono>

namespace megascope {

/// Seconds since it was made, for StepRecord.
class StepClock {
public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace megascope
