#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "profile/compare_side.h"

namespace megascope {

/// Which item of one side is which item of the other, and how many were found how.
struct CompareMatch {
    std::vector<std::optional<std::uint32_t>> b_of_a;
    std::vector<std::optional<std::uint32_t>> a_of_b;
    std::size_t by_id = 0;        ///< same id and name
    std::size_t by_name = 0;      ///< same name (a trace: and category) on matching tracks
    std::size_t by_structure = 0; ///< same type and output shape in the same order
    std::size_t elsewhere = 0;    ///< a trace: same name and category on another track

    [[nodiscard]] std::size_t matched() const { return by_id + by_name + by_structure + elsewhere; }
};
[[nodiscard]] CompareMatch match_items(const CompareSide& a, const CompareSide& b);

} // namespace megascope
