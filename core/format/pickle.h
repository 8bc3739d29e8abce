#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace megascope {

/// One value of a pickle. Values refer to each other by position in the tree and may be shared, even contain themselves.
struct PickleValue {
    enum class Kind : std::uint8_t {
        none, boolean, integer, real,
        big_integer, ///< `text` has its hexadecimal digits
        text, bytes,
        list, tuple, set, ///< `items`
        dict,             ///< `items`: key, value, key, value, …
        global,           ///< `text`: "module.name"; nothing is imported
        object,           ///< `text`: "reduce", "newobj" …; `items`: the callable, its arguments, then its states. Nothing is called
    };
    Kind kind = Kind::none;
    bool boolean = false;
    std::int64_t integer = 0;
    double real = 0;
    std::string text; ///< UTF-8 for `text`, raw for `bytes`
    std::vector<std::uint32_t> items;
};

/// A disassembled pickle: plain values only.
struct PickleTree {
    int protocol = 0;
    std::vector<PickleValue> values;
    std::uint32_t root = 0;
    std::size_t size = 0; ///< bytes up to and including the end mark

    [[nodiscard]] const PickleValue& top() const { return values[root]; }
    /// As Python prints it, cut off after about `limit` bytes and 20 levels: "{'epoch': 3, 'note': 'x'}".
    [[nodiscard]] std::string text_of(std::uint32_t value, std::size_t limit = 4096) const;
    [[nodiscard]] std::string text(std::size_t limit = 4096) const { return text_of(root, limit); }
};

/// Takes a pickle (protocols 0 to 5) apart without executing anything: classes and calls become inert values.
/// Errors: corrupt, with the offset in `bytes`; unsupported, for out-of-band buffers, extension codes and persistent ids.
[[nodiscard]] Expected<PickleTree> read_pickle(std::span<const std::byte> bytes);

} // namespace megascope
