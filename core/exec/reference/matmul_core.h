#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// Row-major m×k times k×n. Precondition: the spans hold that many elements.
[[nodiscard]] std::vector<double> multiply(std::span<const double> a, std::span<const double> b, std::int64_t m, std::int64_t k,
                                           std::int64_t n);
/// Row-major rows×columns → columns×rows.
[[nodiscard]] std::vector<double> transpose(std::span<const double> matrix, std::int64_t rows, std::int64_t columns);

} // namespace megascope
