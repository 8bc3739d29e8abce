#pragma once

#include <optional>
#include <vector>

#include "exec/kernel.h"
#include "exec/reference/strided.h"

namespace megascope {

/// One described axis of an indexing operator, its inputs looked up.
struct AxisIndex {
    std::size_t axis = 0;
    std::optional<std::int64_t> begin;
    std::optional<std::int64_t> end;
    std::optional<std::int64_t> step;
    const TensorRef* index = nullptr; ///< positions instead of an interval
};

/// Reads the param IndexDescMaskDump against the inputs from `first_input` on, for data of the given rank, in stored order.
/// Errors: invalid_argument (an axis twice or out of range, an input missing, a step of 0).
[[nodiscard]] Expected<std::vector<AxisIndex>> read_index_description(const KernelArgs& args, std::size_t first_input,
                                                                      std::size_t ndim);

/// A part of a tensor: its extent and where the elements lie.
struct TensorPart {
    Shape shape;
    StridedView view;
};
/// Narrows `data` by the intervals (Python's slice rules); axes with an index stay whole.
[[nodiscard]] TensorPart apply_intervals(const Shape& data, const std::vector<AxisIndex>& axes);

/// Resolves position `value` (negative: from the end) along an axis of `size`. Error: run_failed, naming value and size.
[[nodiscard]] Expected<std::int64_t> resolve_position(std::int64_t value, std::int64_t size, std::size_t axis);

/// Element positions of a part in row-major order.
[[nodiscard]] std::vector<std::int64_t> part_positions(const TensorPart& part);

} // namespace megascope
