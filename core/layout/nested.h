#pragma once

#include "layout/layout.h"

namespace megascope {

/// Lays out nested clusters with the layered engine, inside out: what a cluster holds is a drawing of its own with ports on
/// the frame, and the frame is one box of the drawing around it. So no foreign box can lie inside a frame, expanding one
/// cluster changes only what is around it, and equal clusters (repeated blocks) are laid out once.
/// Many values between the same two boxes run as one line, a bundle; on crowded frames two values are enough for that.
/// Always draws downwards; `sideways` means that the result will be turned, so titles take room on the left.
/// Precondition: `input` was checked by `run_layout`. Errors: cancelled.
[[nodiscard]] Expected<LayoutResult> nested_layout(const LayoutInput& input, const LayoutOptions& options, bool sideways,
                                                   const CancelToken& cancel, const Progress& progress);

} // namespace megascope
