#pragma once

#include "opr/elemwise_mode.h"
#include "opr/fold.h"

namespace megascope {

/// Attaches the value of an element-wise formula when all inputs have values: integers exactly, floats in float32. Only modes
/// that shape computations use are evaluated; for others `out` keeps no value.
void fold_elemwise(const InferContext& c, ElemwiseMode mode, VarDesc& out);

} // namespace megascope
