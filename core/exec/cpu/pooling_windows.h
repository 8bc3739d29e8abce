#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace megascope {

enum class PoolingMode : std::uint8_t { maximum = 0, average = 1, average_without_padding = 2 }; // the schema's numbers

/// What a Pooling or AdaptivePooling does, or whose gradient it is, on plain N, C, H, W.
struct PoolingWindows {
    std::string_view letters; ///< the stored form of both images
    Shape src, dst;
    PoolingMode mode = PoolingMode::maximum;
    std::array<std::int64_t, 2> size{}, stride{}, pad{}; ///< height, width
};

/// Nothing for other operators, formats of two kinds, empty images, and windows that may lie wholly in the padding: the plain
/// kernel says what happens then.
[[nodiscard]] std::optional<PoolingWindows> pooling_windows(const Opr& opr, const Shape& src, const Shape& dst);

} // namespace megascope
