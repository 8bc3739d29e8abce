#pragma once

#include "opr/infer_util.h"

namespace megascope {

/// InferFn of RelayoutFormat: one rule per mode.
[[nodiscard]] Inferred infer_relayout_format(const InferContext& c);

} // namespace megascope
