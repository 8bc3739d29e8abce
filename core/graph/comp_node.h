#pragma once

#include <string>

namespace megascope {

/// A comp node's logical locator as the file spells it: "xpux:0", "cpu0:0", "gpu1:2", "multithread4:0".
/// Empty = none.
struct CompNode {
    std::string locator;

    [[nodiscard]] bool empty() const { return locator.empty(); }
    friend bool operator==(const CompNode&, const CompNode&) = default;
};

} // namespace megascope
