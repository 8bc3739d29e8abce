#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "optimize/workspace.h"

namespace megascope {

// Operators that passes often build, each as MegEngine's `make` does it: the result may be an existing var.

/// TypeCvt; the var itself when it has that dtype.
VarId cast(Workspace& graph, VarId x, const DType& dtype);
/// GetVarShape of the (broadcast) vars; with an axis the size on it.
VarId shape_of(Workspace& graph, VarId var, std::optional<std::int64_t> axis = {});
VarId shape_of(Workspace& graph, std::span<const VarId> vars, std::optional<std::int64_t> axis = {});
/// Reshape; the size on `free_axis` follows from the others.
VarId reshape(Workspace& graph, VarId x, VarId shape, std::optional<std::int64_t> free_axis = {});
VarId broadcast_to(Workspace& graph, VarId x, VarId shape);
VarId concat(Workspace& graph, std::span<const VarId> inputs, std::int64_t axis);
inline VarId concat(Workspace& graph, std::initializer_list<VarId> inputs, std::int64_t axis) {
    return concat(graph, std::span<const VarId>(inputs.begin(), inputs.size()), axis);
}
/// `ndim` 0: the largest axis of the pattern + 1.
VarId dimshuffle(Workspace& graph, VarId x, std::span<const std::int64_t> pattern, std::int64_t ndim = 0);
inline VarId dimshuffle(Workspace& graph, VarId x, std::initializer_list<std::int64_t> pattern, std::int64_t ndim = 0) {
    return dimshuffle(graph, x, std::span<const std::int64_t>(pattern.begin(), pattern.size()), ndim);
}
VarId pow_c(Workspace& graph, VarId x, float exponent);
/// Elemwise POW with a constant of x's dtype.
VarId power(Workspace& graph, VarId x, double exponent);
inline VarId plus(Workspace& graph, VarId a, VarId b) { return graph.elemwise(ElemwiseMode::add, {a, b}); }
inline VarId minus(Workspace& graph, VarId a, VarId b) { return graph.elemwise(ElemwiseMode::sub, {a, b}); }
inline VarId times(Workspace& graph, VarId a, VarId b) { return graph.elemwise(ElemwiseMode::mul, {a, b}); }
inline VarId negated(Workspace& graph, VarId a) { return graph.elemwise(ElemwiseMode::negate, {a}); }
/// A constant of x's dtype, broadcast to x's shape.
VarId filled_like(Workspace& graph, VarId x, double value);

/// May the two inputs be swapped?
[[nodiscard]] bool is_commutative(ElemwiseMode mode);
/// The dtype that an Elemwise computes in when its inputs have these.
[[nodiscard]] DType promoted_dtype(const DType& a, const DType& b);

} // namespace megascope
