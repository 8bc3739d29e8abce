#pragma once

#include <cstddef>

#include "exec/reference/elemwise_mode.h"

namespace megascope {

/// Is there a formula for floats?
[[nodiscard]] bool has_float_formula(ElemwiseMode mode);

/// out[i] = mode(a[i], b[i], c[i], d[i]) for i < count; unused operands may be null. `out` may equal an operand.
/// Vector code for the common modes, chosen for the processor when the program starts; plain loops for the rest.
void float_formula(ElemwiseMode mode, const float* a, const float* b, const float* c, const float* d, float* out,
                   std::size_t count);

} // namespace megascope
