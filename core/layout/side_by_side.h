#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope {

/// What stands around one operator, in numbers that mean the same for all operators of a call.
struct Surroundings {
    std::uint32_t type = 0;
    std::vector<std::uint32_t> producers; ///< any order, without doubles; empty: it reads nothing but constants
    std::vector<std::uint32_t> readers;
};

/// Sets of at least `least` operators of one type that read the same, or are read by the same: drawn one by one they would be a long
/// row. Nobody is in two sets. Collapsing the sets, all of them or some, makes no cycle: operators with the same producers have the same
/// rank, and so have those with the same readers, counted from below. Near linear.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> side_by_side(std::vector<Surroundings> operators, std::size_t least);

/// Into how many parts a row of `count` boxes is put, and these parts again, so that all levels have about equally many boxes and none has
/// more than `most`; 1: it needs no parts.
[[nodiscard]] std::size_t parts_of_row(std::size_t count, std::size_t most);

} // namespace megascope
