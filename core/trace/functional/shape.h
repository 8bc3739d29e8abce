#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "trace/eager_tensor.h"

namespace megascope::functional {

/// The sizes as an int32 vector. In a trace with symbolic_shape an operator (GetVarShape); otherwise, and without trace, the
/// sizes of this call as a constant.
[[nodiscard]] EagerTensor shape_of(const EagerTensor& x);
/// One size, as a tensor of one element.
[[nodiscard]] EagerTensor size_of(const EagerTensor& x, std::int64_t axis);
/// Does `shape_of` record operators on this thread now? Set by a running trace.
[[nodiscard]] bool symbolic_shape();
class SymbolicShapeScope {
public:
    explicit SymbolicShapeScope(bool on);
    ~SymbolicShapeScope();
    SymbolicShapeScope(const SymbolicShapeScope&) = delete;
    SymbolicShapeScope& operator=(const SymbolicShapeScope&) = delete;

private:
    bool before_;
};

/// Target sizes; at most one -1 is what remains.
[[nodiscard]] EagerTensor reshape(const EagerTensor& x, std::span<const std::int64_t> shape);
[[nodiscard]] inline EagerTensor reshape(const EagerTensor& x, std::initializer_list<std::int64_t> shape) {
    return reshape(x, std::span(shape.begin(), shape.size()));
}
/// Target sizes computed by the function; `unspecified`: the axis whose size is what remains.
[[nodiscard]] EagerTensor reshape(const EagerTensor& x, const EagerTensor& shape, std::optional<std::int64_t> unspecified = {});
/// Axes from `start` on become one.
[[nodiscard]] EagerTensor flatten(const EagerTensor& x, std::int64_t start = 0);
[[nodiscard]] EagerTensor broadcast_to(const EagerTensor& x, std::span<const std::int64_t> shape);
[[nodiscard]] inline EagerTensor broadcast_to(const EagerTensor& x, std::initializer_list<std::int64_t> shape) {
    return broadcast_to(x, std::span(shape.begin(), shape.size()));
}
[[nodiscard]] EagerTensor broadcast_to(const EagerTensor& x, const EagerTensor& shape);
/// Output axis i is axis pattern[i]; -1 makes a new axis of size 1.
[[nodiscard]] EagerTensor dimshuffle(const EagerTensor& x, const std::vector<std::int64_t>& pattern);
/// A permutation of the axes.
[[nodiscard]] EagerTensor transpose(const EagerTensor& x, const std::vector<std::int64_t>& pattern);
/// New axes of size 1; numbers count in the result.
[[nodiscard]] EagerTensor expand_dims(const EagerTensor& x, std::int64_t axis);
[[nodiscard]] EagerTensor expand_dims(const EagerTensor& x, std::vector<std::int64_t> axes);
/// Drops axes of size 1.
[[nodiscard]] EagerTensor squeeze(const EagerTensor& x, std::int64_t axis);
[[nodiscard]] EagerTensor squeeze(const EagerTensor& x, std::vector<std::int64_t> axes);
[[nodiscard]] EagerTensor concat(const std::vector<EagerTensor>& tensors, std::int64_t axis = 0);
/// Along a new axis.
[[nodiscard]] EagerTensor stack(const std::vector<EagerTensor>& tensors, std::int64_t axis = 0);
/// Parts of these sizes along an axis.
[[nodiscard]] std::vector<EagerTensor> split(const EagerTensor& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0);
/// `count` equal parts. Throws OprError when the axis is not divisible.
[[nodiscard]] std::vector<EagerTensor> split(const EagerTensor& x, std::int64_t count, std::int64_t axis = 0);
/// Each element `times` times along an axis.
[[nodiscard]] EagerTensor repeat(const EagerTensor& x, std::int64_t times, std::int64_t axis);
[[nodiscard]] EagerTensor flip(const EagerTensor& x, std::int64_t axis);
/// Forwards the tensor to another comp node ("cpu1:0").
[[nodiscard]] EagerTensor copy_to(const EagerTensor& x, const std::string& device);
[[nodiscard]] EagerTensor identity(const EagerTensor& x);

} // namespace megascope::functional
