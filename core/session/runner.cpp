#include "session/runner.h"

#include <algorithm>

namespace megascope {

bool TestcaseRun::passed() const {
    return !error && std::ranges::all_of(verdicts, [](const AssertVerdict& v) { return v.passed; });
}

} // namespace megascope
