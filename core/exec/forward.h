#pragma once

#include <optional>

#include "graph/graph.h"

namespace megascope {

/// Operators whose first output is their first input's bytes, under the inferred shape: Identity, Reshape, AssertEqual, …
[[nodiscard]] bool forwards_first_input(const Opr& opr);

/// `input` under the dtype and shape of the output; nothing when the bytes would have to move (sub-byte rows that change).
[[nodiscard]] std::optional<Tensor> forward_tensor(const Tensor& input, const DType& dtype, const Shape& shape);

} // namespace megascope
