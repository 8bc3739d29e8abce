#pragma once

#include <string_view>

#include "exec/cpu/layout.h"

namespace megascope {

/// The layout under which an image tensor of the stored form `letters` ("NCHW", "NCHWc", "CHWNc", …; see
/// reference/axis_layout.h) has the bytes of plain NHWC.
[[nodiscard]] Layout channels_last(std::string_view letters);

} // namespace megascope
