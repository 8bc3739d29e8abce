#pragma once

#include <vector>

#include "opr/infer_util.h"

namespace megascope {

/// One axis of an indexing operator after its bounds are resolved against the data's shape.
struct AxisSlice {
    std::size_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t step = 1;
    std::int64_t count = 0; ///< selected positions
    bool single = false;    ///< Subtensor's idx: the axis goes away
};

/// One axis that is indexed by a vector.
struct AxisIndex {
    std::size_t axis = 0;
    std::size_t input = 0; ///< position in the operator's inputs
};

struct Selection {
    std::vector<AxisSlice> slices;
    std::vector<AxisIndex> indices; ///< ascending axes
    bool known = true;              ///< false: a bound's value is not known
};

/// Python's slice semantics for an axis of `size`: negative positions count from the end, bounds are clamped.
/// Errors: step 0.
[[nodiscard]] Expected<AxisSlice> resolve_slice(const Opr& opr, std::size_t axis, std::int64_t size, std::optional<std::int64_t> begin,
                                                std::optional<std::int64_t> end, std::optional<std::int64_t> step);

/// Reads the index description of the operator against `data`. `first` is the position of the first index input (1 or 2).
/// `scalar_index`: idx inputs are host scalars (Subtensor). Errors: axes out of range or repeated, too few inputs.
[[nodiscard]] Expected<Selection> read_selection(const InferContext& c, const Shape& data, std::size_t first, bool scalar_index);

} // namespace megascope
