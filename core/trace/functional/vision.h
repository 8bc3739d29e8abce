#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/eager_tensor.h"
#include "trace/functional/nn.h"

namespace megascope::functional {

/// Resizes an NCHW tensor; mode "LINEAR", "NEAREST" or "CUBIC".
[[nodiscard]] EagerTensor resize(const EagerTensor& x, Pair size, std::string_view mode = "LINEAR");
/// The same; "bilinear" with align_corners maps corners onto corners (by a perspective map), as MegEngine does.
[[nodiscard]] EagerTensor interpolate(const EagerTensor& x, Pair size, std::string_view mode = "bilinear", bool align_corners = false);

struct WarpOptions {
    std::string_view mode = "LINEAR";
    std::string_view border = "REPLICATE";
    float border_value = 0;
    std::string_view format = "NCHW";
};
/// One 3×3 matrix per output image: output pixel → source pixel.
[[nodiscard]] EagerTensor warp_perspective(const EagerTensor& x, const EagerTensor& matrices, Pair size, const WarpOptions& options = {});
/// One 2×3 matrix per output image.
[[nodiscard]] EagerTensor warp_affine(const EagerTensor& x, const EagerTensor& matrices, Pair size, const WarpOptions& options = {});

/// Boxes (n,4) that no better box overlaps by more than `iou_thresh`: their indices, best first. Without `max_output` up to n;
/// inside a trace it must be given, because then n is the recorded one.
[[nodiscard]] EagerTensor nms(const EagerTensor& boxes, const EagerTensor& scores, double iou_thresh,
                              std::optional<std::int64_t> max_output = {});

} // namespace megascope::functional
