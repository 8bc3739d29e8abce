#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// Reads an image as MegEngine's dump does (colour, BGR, 8 bit) and brings it into the layout of an input of shape `target`:
/// channels stand at axis 1 when that axis is 1 or 3 (NCHW), else at the last axis (NHWC); a target with three axes has no batch;
/// one channel takes the grey value; without a target the result is 1×3×h×w. `resize` scales to the target's height and width
/// (bilinear); otherwise the image keeps its own size. uint8.
/// Errors: foreign (no image that can be decoded), io, invalid_argument (the target is no image shape).
[[nodiscard]] Expected<Tensor> read_image(const std::filesystem::path& path, const std::optional<Shape>& target, bool resize);

} // namespace megascope
