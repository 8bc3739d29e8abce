#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace megascope {

struct TraceLinkTag;
using TraceLinkId = Id<TraceLinkTag>;

/// The ids of flow and async events, interned: equal texts get the same id. A trace has as many of them as connections, mostly
/// short numbers met a few times each, so the texts stand in one buffer and the table holds nothing but numbers: an id costs some
/// twenty bytes and no allocation of its own. Not thread-safe while interning; reading is.
class TraceIds {
public:
    TraceLinkId intern(std::string_view text);
    /// Empty for an invalid id; valid until the next `intern`.
    [[nodiscard]] std::string_view operator[](TraceLinkId id) const;
    [[nodiscard]] std::size_t size() const { return ends_.size(); }
    /// Bytes that texts and table take.
    [[nodiscard]] std::size_t memory() const;

private:
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t number = 0; ///< 0: free, otherwise the id + 1
    };
    void grow();

    std::string texts_;
    std::vector<std::uint64_t> ends_; ///< by id: where its text ends; it starts where that of the id before ends
    std::vector<Slot> slots_;         ///< a power of two of them, at most half used
};

} // namespace megascope
