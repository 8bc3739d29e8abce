#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace megascope {

/// Memory for an output whose shape only the kernel knows (CondTake, NonZero).
using OutputAllocator = std::function<MutTensorRef(std::size_t output, DType dtype, Shape shape)>;

struct KernelArgs {
    const Opr& opr;
    std::span<const TensorRef> inputs;   ///< one per `opr.inputs`
    std::span<const MutTensorRef> outputs; ///< one per counted output, dtype and shape by inference; empty for data-dependent shapes
    const OutputAllocator* allocate = nullptr; ///< only for kernels of data-dependent shapes
};

/// The plain form of an operator: reads inputs, writes outputs, keeps nothing. Used by the reference backend and as every
/// backend's fallback. Errors: invalid_argument / unsupported / run_failed with a sentence.
using PlainKernel = Expected<void> (*)(const KernelArgs& args);

} // namespace megascope
