#include "exec/forward.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace megascope {
namespace {

constexpr std::array<std::string_view, 9> forwarding_types = {
    "AssertEqual", "AxisAddRemove", "Copy", "Identity", "MarkDynamicVar", "MarkNoBroadcastElemwise", "PersistentOutputStorage",
    "Reshape",     "VirtualDep",
};

} // namespace

bool forwards_first_input(const Opr& opr) {
    return !opr.inputs.empty() && opr.outputs.size() == 1 &&
           std::ranges::find(forwarding_types, opr.type) != forwarding_types.end();
}

std::optional<Tensor> forward_tensor(const Tensor& input, const DType& dtype, const Shape& shape) {
    if (input.dtype().id != dtype.id || input.elements() != shape.elements()) return std::nullopt;
    // Rows of sub-byte dtypes start at whole bytes: the bytes only stay where they are when the rows do.
    if (dtype.is_sub_byte() &&
        (shape.ndim() == 0 || input.shape().ndim() == 0 || shape[shape.ndim() - 1] != input.shape()[input.shape().ndim() - 1]))
        return std::nullopt;
    return input.viewed_as(dtype, shape);
}

} // namespace megascope
