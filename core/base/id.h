#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace megascope {

/// A 32-bit index that cannot be mixed up with another kind of index. `Tag` is an incomplete type.
/// A default-constructed id is invalid.
template <class Tag>
class Id {
public:
    static constexpr std::uint32_t invalid_value = 0xffffffffU;

    constexpr Id() = default;
    constexpr explicit Id(std::uint32_t value) : value_(value) {}
    constexpr explicit Id(std::size_t value) : value_(static_cast<std::uint32_t>(value)) {}

    [[nodiscard]] constexpr bool valid() const { return value_ != invalid_value; }
    [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
    /// For indexing side tables: `table[id.index()]`.
    [[nodiscard]] constexpr std::size_t index() const { return value_; }

    friend constexpr auto operator<=>(Id, Id) = default;

private:
    std::uint32_t value_ = invalid_value;
};

struct OprTag;
struct VarTag;
/// Position of an operator in `Graph::oprs()`.
using OprId = Id<OprTag>;
/// Position of a var in `Graph::vars()`; equal to the compact var id of a dump.
using VarId = Id<VarTag>;

} // namespace megascope

template <class Tag>
struct std::hash<megascope::Id<Tag>> {
    std::size_t operator()(megascope::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value()); }
};
