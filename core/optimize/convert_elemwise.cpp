#include <limits>

#include "optimize/build.h"
#include "optimize/converters.h"

namespace megascope {
namespace {

using enum ElemwiseMode;
constexpr DTypeId f32 = DTypeId::float32;

/// Expressions over one graph; numbers take the dtype of `ref`.
struct Build {
    Workspace& graph;
    VarId ref;

    VarId number(double value) const { return graph.scalar(value, f32, ref); }
    VarId typed(double value) const { return cast(graph, number(value), graph.dtype(ref)); }
    VarId operator()(ElemwiseMode mode, VarId a) const { return graph.elemwise(mode, {a}); }
    VarId operator()(ElemwiseMode mode, VarId a, VarId b) const { return graph.elemwise(mode, {a, b}); }
    VarId operator()(ElemwiseMode mode, VarId a, VarId b, VarId c) const { return graph.elemwise(mode, {a, b, c}); }
};

/// log(x + sqrt(x² ± 1))
VarId area_function(const Build& e, VarId x, ElemwiseMode sign) {
    VarId two = e.number(2);
    VarId half = e.number(0.5);
    VarId one = e.number(1);
    const DType dtype = e.graph.dtype(x);
    two = cast(e.graph, two, dtype);
    half = cast(e.graph, half, dtype);
    one = cast(e.graph, one, dtype);
    const VarId square = e(pow, x, two);
    const VarId shifted = e(sign, square, one);
    const VarId root = e(pow, shifted, half);
    return e(log, e(add, x, root));
}

/// log(1 + exp(−|x|)) and relu(±x), added.
VarId soft_plus(const Build& e, VarId x, bool negative) {
    const VarId decayed = e(exp, e(negate, e(abs, x)));
    const VarId smooth = e(log1p, decayed);
    const VarId sharp = e(relu, negative ? e(negate, x) : x);
    return e(add, smooth, sharp);
}

VarId hyperbolic_sine(const Build& e, VarId x) {
    VarId two = e.number(2);
    VarId half = e.number(0.5);
    VarId one = e.number(1);
    const DType dtype = e.graph.dtype(x);
    two = cast(e.graph, two, dtype);
    half = cast(e.graph, half, dtype);
    one = cast(e.graph, one, dtype);
    const VarId u = e(expm1, x);
    const VarId a = e(mul, u, half);
    const VarId b = e(add, u, one);
    const VarId c = e(add, u, two);
    return e(mul, e(true_div, a, b), c);
}

VarId hyperbolic_cosine(const Build& e, VarId x) {
    const VarId half = e.typed(0.5);
    const VarId up = e(exp, x);
    const VarId down = e(exp, e(negate, x));
    return e(mul, half, e(add, up, down));
}

VarId area_tangent(const Build& e, VarId x) {
    VarId two = e.number(2);
    VarId one = e.number(1);
    two = cast(e.graph, two, e.graph.dtype(x));
    one = cast(e.graph, one, e.graph.dtype(x));
    const VarId above = e(mul, two, x);
    const VarId below = e(sub, one, x);
    return e(true_div, e(log1p, e(true_div, above, below)), two);
}

VarId hard_sigmoid(const Build& e, VarId x) {
    VarId six = e.number(6);
    VarId zero = e.number(0);
    VarId three = e.number(3);
    const DType dtype = e.graph.dtype(x);
    six = cast(e.graph, six, dtype);
    zero = cast(e.graph, zero, dtype);
    three = cast(e.graph, three, dtype);
    return e(true_div, e(min, e(max, e(add, x, three), zero), six), six);
}

VarId relu_six(const Build& e, VarId x) {
    VarId six = e.number(6);
    VarId zero = e.number(0);
    six = cast(e.graph, six, e.graph.dtype(x));
    zero = cast(e.graph, zero, e.graph.dtype(x));
    return e(min, e(max, x, zero), six);
}

} // namespace

VarId convert_elemwise(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const VarId x = in[0];
    const Build e{graph, x};
    switch (*graph.mode(opr)) {
    case sqrt: return e(pow, x, e.typed(0.5));
    case square: return e(pow, x, e.typed(2));
    case tan: {
        const VarId above = e(sin, x);
        return e(true_div, above, e(cos, x));
    }
    case cosh: return hyperbolic_cosine(e, x);
    case sinh: return hyperbolic_sine(e, x);
    case asinh: return area_function(e, x, add);
    case acosh: return area_function(e, x, sub);
    case atanh: return area_tangent(e, x);
    case clip: return e(min, e(max, x, in[1]), in[2]);
    case sign: { // as MegEngine writes it, with the opposite sign
        const VarId zero = e.typed(0);
        const VarId below = e(lt, x, zero);
        return e(sub, below, e(lt, zero, x));
    }
    case hsigmoid: return hard_sigmoid(e, x);
    case relu6: return relu_six(e, x);
    case prelu: {
        const VarId zero = e.typed(0);
        const VarId below = e(min, x, zero);
        const VarId above = e(max, x, zero);
        return e(fuse_mul_add3, below, in[1], above);
    }
    case softplus: return soft_plus(e, x, false);
    case logsigmoid: return e(negate, soft_plus(e, x, true));
    default: return {};
    }
}

VarId convert_elemwise_multi_type(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const std::string mode = graph.opr(opr).param().enum_name("mode");
    const auto as_bool = [&](VarId var) { return cast(graph, var, DTypeId::bool_); };
    if (mode == "EQ") return as_bool(graph.elemwise(eq, in));
    if (mode == "LT") return as_bool(graph.elemwise(lt, in));
    if (mode == "LEQ") return as_bool(graph.elemwise(leq, in));
    if (mode == "NEQ") return graph.elemwise(not_, {as_bool(graph.elemwise(eq, in))});
    if (mode == "ISNAN") return graph.elemwise(not_, {as_bool(graph.elemwise(eq, {in[0], in[0]}))});
    if (mode == "ISINF") { // −infinity is not found, as in MegEngine
        const VarId infinity = graph.scalar(std::numeric_limits<double>::infinity(), f32, in[0]);
        return as_bool(graph.elemwise(eq, {cast(graph, in[0], f32), infinity}));
    }
    return {};
}

VarId convert_where(Workspace& graph, OprId /*opr*/, std::span<const VarId> in) {
    const VarId mask = cast(graph, in[0], graph.dtype(in[1]));
    const VarId first = graph.elemwise(switch_gt0, {mask, in[1]});
    const VarId rest = minus(graph, graph.scalar(1, f32, mask), mask);
    return plus(graph, first, graph.elemwise(switch_gt0, {rest, in[2]}));
}

} // namespace megascope
