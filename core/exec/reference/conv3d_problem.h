#pragma once

#include <string_view>

#include "exec/reference/conv_core.h"
#include "graph/param.h"
#include "tensor/shape.h"

namespace megascope {

inline constexpr std::string_view volume_order = "NCDHW";
inline constexpr std::string_view filter3d_order = "GOIDHW";

/// A 3-D convolution in plain order.
struct Conv3dProblem {
    std::string_view image;  ///< layout of source and result; see axis_layout.h
    std::string_view filter;
    Shape src;               ///< N, C, D, H, W
    Shape weights;           ///< G, O, I, D, H, W
    Shape dst;
    ConvGeometry geometry;
};

/// Finds the geometry from the shapes. Errors: invalid_argument when they contradict each other.
[[nodiscard]] Expected<Conv3dProblem> conv3d_problem(const Param& param, const Shape& src, const Shape& filter, const Shape& dst);

} // namespace megascope
