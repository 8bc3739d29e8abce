#include "optimize/arith_in_place.h"

#include <utility>

#include "optimize/almost_equal.h"
#include "optimize/build.h"
#include "optimize/mode_is.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

bool is_value(Workspace& graph, VarId var, float value) {
    const std::optional<double> number = graph.immutable_scalar(var);
    return number && almost_equal(static_cast<float>(*number), value);
}

/// The var under the shape that all of `like` broadcast to.
VarId broadcast_like(Workspace& graph, VarId x, std::span<const VarId> like) {
    DType dtype = graph.dtype(x);
    for (const VarId var : like) dtype = promoted_dtype(dtype, graph.dtype(var));
    x = cast(graph, x, dtype);
    return broadcast_to(graph, x, shape_of(graph, like));
}

VarId broadcast_with(Workspace& graph, VarId x, VarId other) {
    const VarId both[] = {x, other};
    return broadcast_like(graph, x, both);
}

/// x ∘ unit = x.
VarId drop_unit(Workspace& graph, std::span<const VarId> in, float unit) {
    VarId number = in[0];
    VarId other = in[1];
    if (!graph.immutable_scalar(number)) std::swap(number, other);
    return is_value(graph, number, unit) ? broadcast_like(graph, other, in) : VarId();
}

VarId absorb_zero(Workspace& graph, std::span<const VarId> in) {
    VarId number = in[0];
    VarId other = in[1];
    if (!graph.immutable_scalar(number)) std::swap(number, other);
    if (!is_value(graph, number, 0)) return {};
    return broadcast_like(graph, graph.scalar(0, graph.dtype(other), other), in);
}

VarId simplify_log(Workspace& graph, VarId x) {
    const std::optional<ElemwiseMode> inner = graph.mode(x);
    if (!inner) return {};
    const std::vector<VarId> in = graph.producer(x).inputs;
    if ((*inner == mul || *inner == true_div) && (mode_is(graph, in[0], exp) || mode_is(graph, in[1], exp))) {
        const VarId a = graph.elemwise(log, {in[0]});
        const VarId b = graph.elemwise(log, {in[1]});
        return graph.elemwise(*inner == mul ? add : sub, {a, b});
    }
    if (*inner == exp) return in[0];
    if (*inner != add) return {};
    VarId one = in[0];
    VarId other = in[1];
    if (!is_value(graph, one, 1)) std::swap(one, other);
    if (is_value(graph, one, 1)) return broadcast_with(graph, graph.elemwise(log1p, {other}), one);
    if (mode_is(graph, in[0], exp) && mode_is(graph, in[1], exp))
        return graph.elemwise(log_sum_exp, {graph.producer(in[0]).inputs[0], graph.producer(in[1]).inputs[0]});
    return {};
}

} // namespace

VarId filled_like(Workspace& graph, VarId x, double value) {
    const VarId number = graph.scalar(value, graph.dtype(x), x);
    return broadcast_to(graph, number, shape_of(graph, x));
}

VarId simplify_elemwise(Workspace& graph, ElemwiseMode mode, std::span<const VarId> in) {
    switch (mode) {
    case sub:
        if (in[0] == in[1]) return filled_like(graph, in[0], 0);
        if (mode_is(graph, in[0], exp) && is_value(graph, in[1], 1)) {
            const VarId x = graph.producer(in[0]).inputs[0];
            return broadcast_with(graph, graph.elemwise(expm1, {x}), in[1]);
        }
        return {};
    case true_div: return in[0] == in[1] ? filled_like(graph, in[0], 1) : VarId();
    case floor_div:
        if (in[0] == in[1]) return filled_like(graph, in[0], 1);
        if (is_value(graph, in[1], 1)) {
            if (graph.dtype(in[0]).is_float()) return broadcast_with(graph, graph.elemwise(floor, {in[0]}), in[1]);
            if (graph.dtype(in[0]).is_integer()) return broadcast_like(graph, in[0], in);
        }
        return {};
    case add: return drop_unit(graph, in, 0);
    case mul: {
        const VarId kept = drop_unit(graph, in, 1);
        return kept.valid() ? kept : absorb_zero(graph, in);
    }
    case exp: return is_value(graph, in[0], 0) ? filled_like(graph, in[0], 1) : VarId();
    case pow:
        if (is_value(graph, in[1], 0)) return broadcast_like(graph, graph.scalar(1, graph.dtype(in[0]), in[0]), in);
        return is_value(graph, in[1], 1) ? broadcast_like(graph, in[0], in) : VarId();
    case log: return simplify_log(graph, in[0]);
    default: return {};
    }
}

} // namespace megascope
