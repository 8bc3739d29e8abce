#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/shape.h"

namespace megascope {

// A layout says how the axes of a stored tensor hold the axes of a plain one: one letter per stored axis, outermost first.
// An upper-case letter is an axis or the outer part of a split axis, a lower-case letter the inner part. With the plain order
// "NCHW", "NHWC" is a permutation and "NCHWc" means N, C/p, H, W, p, where p is the size of the stored innermost axis.
// A plain axis that a layout does not name has size 1.

/// Sizes of the plain axes of `order`. Errors: invalid_argument when the stored shape has another number of axes.
[[nodiscard]] Expected<Shape> plain_shape(const Shape& stored, std::string_view layout, std::string_view order);

/// The elements in plain order. Preconditions: `plain_shape` accepted these; one value per stored element.
[[nodiscard]] std::vector<double> unpack(std::span<const double> values, const Shape& stored, std::string_view layout,
                                         std::string_view order);

/// The elements in stored order. Stored elements outside `plain` (channels that pad a pack) become 0; plain elements that the
/// stored tensor has no place for are left out. Preconditions: as many values as `plain` has elements; `plain_shape` accepts
/// `stored`; `plain` has one axis per letter of `order`.
[[nodiscard]] std::vector<double> pack(std::span<const double> values, const Shape& plain, std::string_view order,
                                       const Shape& stored, std::string_view layout);

} // namespace megascope
