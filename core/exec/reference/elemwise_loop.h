#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "exec/kernel.h"
#include "exec/reference/element_block.h"
#include "exec/reference/strided.h"

namespace megascope {

/// Can every shape be broadcast to `out`? Error: invalid_argument with a sentence.
[[nodiscard]] Expected<void> check_broadcast(std::span<const TensorRef> inputs, const Shape& out);

/// Calls `compute(operands, out, count)` for blocks that cover the output in order, with the inputs broadcast to it and converted
/// to T: `operands[k]` points at `count` values of input k; what `compute` leaves in `out` is stored in the output's dtype.
/// Precondition: `check_broadcast` passed and there are at most six inputs.
template <class T, class Compute>
void for_each_block(std::span<const TensorRef> inputs, const MutTensorRef& output, Compute compute) {
    std::vector<StridedView> views{contiguous(output.shape)};
    for (const TensorRef& input : inputs) views.push_back({0, broadcast_strides(input.shape, output.shape)});
    RowWalk walk(output.shape, views);
    std::array<std::array<T, block_elements>, 6> buffers;
    std::array<const T*, 6> operands{};
    std::array<T, block_elements> result;
    for (std::size_t k = 0; k < inputs.size(); ++k) operands[k] = buffers[k].data();
    for (std::int64_t row = 0; row < walk.rows(); ++row, walk.next()) {
        for (std::int64_t at = 0; at < walk.row_length(); at += static_cast<std::int64_t>(block_elements)) {
            const auto count = static_cast<std::size_t>(std::min<std::int64_t>(block_elements, walk.row_length() - at));
            for (std::size_t k = 0; k < inputs.size(); ++k)
                load_block(inputs[k], walk.start(k + 1) + at * walk.step(k + 1), walk.step(k + 1), std::span(buffers[k].data(), count));
            compute(operands, result.data(), count);
            store_block(output, walk.start(0) + at, std::span<const T>(result.data(), count));
        }
    }
}

} // namespace megascope
