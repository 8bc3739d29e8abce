#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "exec/reference/image_layout.h"

namespace megascope {

/// Resize as the library does it for NHWC images of one or three channels in uint8 or float32: like OpenCV, rows first along the
/// width, then along the height, uint8 in fixed point. All five modes. `to` gets whole numbers for uint8.
/// Errors: unsupported (an unknown mode).
[[nodiscard]] Expected<void> resize_nhwc(const std::string& mode, bool is_uint8, const std::vector<float>& from, const ImageLayout& in,
                                         std::vector<float>& to, const ImageLayout& out);

} // namespace megascope
