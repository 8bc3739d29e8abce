#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// Operators whose outputs are stored in the dump: ImmutableTensor, SharedDeviceTensor and the like.
[[nodiscard]] bool holds_constants(const Opr& opr);

/// The stored values of the constants among `order`, by VarId; other entries have no value. They are views of the file: nothing is
/// copied, and elements may lie at any address. Errors: unsupported / corrupt, naming the operator whose value is missing.
[[nodiscard]] Expected<std::vector<Tensor>> stored_constants(const Graph& graph, std::span<const OprId> order);

/// The same for kernels: values are 64-byte aligned (copied only where the file's bytes are not).
[[nodiscard]] Expected<std::vector<Tensor>> load_constants(const Graph& graph, std::span<const OprId> order);

/// The value itself when its elements lie at multiples of 8 bytes, else an aligned copy.
[[nodiscard]] Tensor aligned_for_elements(const Tensor& value);

/// Checks run inputs (parallel to `graph.inputs()`; fewer or valueless entries count as missing) against the dump and fills
/// in the values that a dump carries for missing ones (`dump_default_value`). Values are aligned to 8 bytes. Shapes may differ
/// from the dump's: whether they fit is for the operators to say. Errors: invalid_argument, naming the input.
[[nodiscard]] Expected<std::vector<Tensor>> complete_inputs(const Graph& graph, std::span<const Tensor> inputs);
/// The same into `values`, whose memory is used again.
[[nodiscard]] Expected<void> complete_inputs(const Graph& graph, std::span<const Tensor> inputs, std::vector<Tensor>& values);

} // namespace megascope
