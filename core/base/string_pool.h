#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/id.h"

namespace megascope {

struct StringTag;
using StringId = Id<StringTag>;

/// Interned strings: equal texts get the same id, so columns hold 4 bytes per text. Views stay valid as long as the pool.
/// Not thread-safe while interning; reading is.
class StringPool {
public:
    StringPool() = default;
    StringPool(StringPool&&) = default;
    StringPool& operator=(StringPool&&) = default;
    StringPool(const StringPool&) = delete;
    StringPool& operator=(const StringPool&) = delete;

    StringId intern(std::string_view text) {
        if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
        const StringId id(texts_.size());
        texts_.emplace_back(text);
        ids_.emplace(texts_.back(), id);
        return id;
    }
    /// Invalid when the text was never interned.
    [[nodiscard]] StringId find(std::string_view text) const {
        const auto found = ids_.find(text);
        return found == ids_.end() ? StringId() : found->second;
    }
    /// Empty for an invalid id.
    [[nodiscard]] std::string_view operator[](StringId id) const { return id.valid() ? std::string_view(texts_[id.index()]) : std::string_view(); }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
    std::deque<std::string> texts_; // a deque never moves its elements: the keys below view them
    std::unordered_map<std::string_view, StringId> ids_;
};

} // namespace megascope
