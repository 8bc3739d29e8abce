#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/eager_tensor.h"

namespace megascope::functional {

/// One indexed axis. Bounds may be numbers or tensors of one element that the function computed.
struct Slice {
    std::int64_t axis = 0;
    EagerTensor begin, end, step; ///< empty handles: as left out in Python
    EagerTensor idx;              ///< a position (Subtensor) or a vector of positions

    /// begin:end:step of an axis.
    [[nodiscard]] static Slice range(std::int64_t axis, std::optional<std::int64_t> begin, std::optional<std::int64_t> end = {},
                                     std::optional<std::int64_t> step = {});
    [[nodiscard]] static Slice range(std::int64_t axis, EagerTensor begin, EagerTensor end);
    [[nodiscard]] static Slice step_only(std::int64_t axis, std::int64_t step) { return range(axis, {}, {}, step); }
    /// One position; the axis goes away.
    [[nodiscard]] static Slice at(std::int64_t axis, std::int64_t position);
    [[nodiscard]] static Slice at(std::int64_t axis, EagerTensor position);
};

/// Ranges and single positions: x[1:3, 0, ::2].
[[nodiscard]] EagerTensor subtensor(const EagerTensor& x, std::vector<Slice> slices);
/// A copy of `x` whose selected part is `value`.
[[nodiscard]] EagerTensor set_subtensor(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices);
/// … has `value` added.
[[nodiscard]] EagerTensor incr_subtensor(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices);
/// numpy's advanced indexing: `idx` are int32 tensors that broadcast together; ranges apply first.
[[nodiscard]] EagerTensor multi_axis_index(const EagerTensor& x, std::vector<Slice> slices);
[[nodiscard]] EagerTensor set_multi_axis_index(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices);
/// The outer product of index vectors.
[[nodiscard]] EagerTensor mesh_index(const EagerTensor& x, std::vector<Slice> slices);

/// The elements where `mask` is true, in row-major order, and their positions.
struct Taken {
    EagerTensor values, positions;
};
[[nodiscard]] Taken cond_take(const EagerTensor& mask, const EagerTensor& x);
/// Element [i][j] of the result is x[index[i][j]][j] (axis 0; other axes alike). `index` has the rank of x.
[[nodiscard]] EagerTensor gather(const EagerTensor& x, std::int64_t axis, const EagerTensor& index);
/// Rows of `table`: index of any shape → that shape and the row's.
[[nodiscard]] EagerTensor embedding(const EagerTensor& index, const EagerTensor& table);

} // namespace megascope::functional
