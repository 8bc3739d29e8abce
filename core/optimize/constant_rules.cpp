#include "optimize/constant_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "optimize/build.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

/// Only the channel axis (the third from the end) may be longer than 1.
bool is_per_channel(const Workspace& graph, VarId var) {
    const Shape* shape = graph.shape(var);
    if (!shape) return false;
    for (std::size_t i = 0; i < shape->ndim(); ++i)
        if (i + 3 != shape->ndim() && (*shape)[i] != 1) return false;
    return true;
}

/// A vector counts as a matrix of one row.
std::optional<Shape> as_matrix(const Workspace& graph, VarId var) {
    const Shape* shape = graph.shape(var);
    if (!shape || shape->ndim() > 2) return std::nullopt;
    if (shape->ndim() == 1) return Shape{1, (*shape)[0]};
    return *shape;
}

bool is_group(const Opr& conv) { return conv.param().enum_name("sparse") == "GROUP"; }
bool is_one(const Workspace& graph, VarId var) { return graph.shape(var) && *graph.shape(var) == Shape{1}; }

VarId one_like(Workspace& graph, VarId x) { return graph.scalar(1, graph.dtype(x), x); }
VarId flat(Workspace& graph, VarId x) { return reshape(graph, x, graph.scalar(1, DTypeId::int32, x), 0); }

/// A convolution or matrix product with the params of another one and no configuration of its own.
VarId like(Workspace& graph, const Opr& original, VarId a, VarId b) {
    Opr opr = make_opr(original.type, {a, b}, original.params);
    return graph.insert1(std::move(opr));
}

struct Operands {
    const Opr& f;
    const Opr& g;
    VarId a, b, c;
};

std::optional<RuleResult> elemwise_elemwise(Workspace& graph, const Operands& o) {
    const Shape* b = graph.shape(o.b);
    const Shape* c = graph.shape(o.c);
    const auto mode = static_cast<ElemwiseMode>(o.f.param().integer("mode"));
    if (!b || !c || o.f.param() != o.g.param()) return std::nullopt;
    if (mode != add && mode != mul && mode != max && mode != min) return std::nullopt;
    const std::optional<Shape> both = broadcast(*b, *c);
    if (!both || (*both != *b && *both != *c)) return std::nullopt; // the constants would grow
    const VarId inner = graph.elemwise(mode, {o.b, o.c});
    return RuleResult{graph.elemwise(mode, {o.a, inner}), inner};
}

/// conv(x·k, w) → conv(x, w·k)
std::optional<RuleResult> conv_of_mul(Workspace& graph, const Operands& o) {
    if (static_cast<ElemwiseMode>(o.g.param().integer("mode")) != mul || !is_per_channel(graph, o.b)) return std::nullopt;
    VarId k = o.b;
    if (is_group(o.f) && !is_one(graph, k)) {
        const VarId one = one_like(graph, k);
        const VarId groups = shape_of(graph, o.c, 0);
        const VarId channels = shape_of(graph, o.c, 2);
        k = reshape(graph, k, concat(graph, {groups, one, channels, one, one}, 0));
    }
    const VarId inner = times(graph, k, o.c);
    return RuleResult{like(graph, o.f, o.a, inner), inner};
}

/// conv(x, w)·k → conv(x, w·k)
std::optional<RuleResult> mul_of_conv(Workspace& graph, const Operands& o) {
    if (static_cast<ElemwiseMode>(o.f.param().integer("mode")) != mul || !is_per_channel(graph, o.c)) return std::nullopt;
    VarId k = o.c;
    if (is_group(o.g)) {
        const VarId one = one_like(graph, k);
        const VarId groups = shape_of(graph, o.b, 0);
        const VarId channels = shape_of(graph, o.b, 1);
        const VarId target = concat(graph, {groups, channels, one, one, one}, 0);
        k = is_one(graph, k) ? broadcast_to(graph, k, target) : reshape(graph, k, target);
    } else {
        k = reshape(graph, k, graph.int32s({1, 1, 1, 1}, k), 0);
    }
    const VarId inner = times(graph, k, o.b);
    return RuleResult{like(graph, o.g, o.a, inner), inner};
}

/// matmul(x·k, w) → matmul(x, w·k)
std::optional<RuleResult> matmul_of_mul(Workspace& graph, const Operands& o) {
    if (static_cast<ElemwiseMode>(o.g.param().integer("mode")) != mul) return std::nullopt;
    const std::optional<Shape> shape = as_matrix(graph, o.b);
    if (!shape || (*shape)[o.f.param().boolean("transposeA") ? 1 : 0] != 1) return std::nullopt;
    VarId k = flat(graph, o.b);
    k = o.f.param().boolean("transposeB") ? dimshuffle(graph, k, {-1, 0}) : dimshuffle(graph, k, {0, -1});
    const VarId inner = times(graph, k, o.c);
    return RuleResult{like(graph, o.f, o.a, inner), inner};
}

/// matmul(x, w)·k → matmul(x, w·k)
std::optional<RuleResult> mul_of_matmul(Workspace& graph, const Operands& o) {
    if (static_cast<ElemwiseMode>(o.f.param().integer("mode")) != mul) return std::nullopt;
    const std::optional<Shape> shape = as_matrix(graph, o.c);
    if (!shape || (*shape)[0] != 1) return std::nullopt;
    VarId k = flat(graph, o.c);
    k = o.g.param().boolean("transposeB") ? dimshuffle(graph, k, {0, -1}) : dimshuffle(graph, k, {-1, 0});
    const VarId inner = times(graph, k, o.b);
    return RuleResult{like(graph, o.g, o.a, inner), inner};
}

/// conv(x + b, w) → conv(x, w) + b'
std::optional<RuleResult> conv_of_add(Workspace& graph, const Operands& o) {
    if (!is_per_channel(graph, o.b)) return std::nullopt;
    const Param& param = o.f.param();
    if (param.integer("pad_h") != 0 || param.integer("pad_w") != 0) return std::nullopt; // b is not added to the padding
    const VarId inner = like(graph, o.f, o.a, o.c);
    Param sum = make_param("Reduce");
    sum.set("axis", std::int64_t{INT32_MAX}); // by target shape
    if (is_group(o.f)) {
        const VarId one = graph.scalar(1, DTypeId::int32, o.b);
        const VarId groups = shape_of(graph, o.c, 0);
        VarId b = reshape(graph, o.b, concat(graph, {groups, one, shape_of(graph, o.c, 2), one, one}, 0));
        b = times(graph, b, o.c);
        const VarId target = concat(graph, {groups, shape_of(graph, o.c, 1), one, one, one}, 0);
        b = graph.insert1(make_opr("Reduce", {b, target}, {sum}));
        b = reshape(graph, b, graph.int32s({1, 1, 1, 1}, b), 1);
        return RuleResult{plus(graph, b, inner), inner};
    }
    VarId b = times(graph, o.b, o.c);
    const VarId channels = shape_of(graph, o.c, 0);
    const VarId target = concat(graph, {channels, one_like(graph, channels)}, 0);
    b = reshape(graph, b, target, 1);
    b = graph.insert1(make_opr("Reduce", {b, target}, {sum}));
    return RuleResult{plus(graph, dimshuffle(graph, b, {-1, 0, 1, -1}), inner), inner};
}

/// matmul(x + b, w) → matmul(x, w) + b'
std::optional<RuleResult> matmul_of_add(Workspace& graph, const Operands& o) {
    const std::optional<Shape> shape = as_matrix(graph, o.b);
    const std::size_t row = o.f.param().boolean("transposeA") ? 1 : 0;
    const Shape* weights = graph.shape(o.c);
    if (!shape || (*shape)[row] != 1 || !weights) return std::nullopt;
    Shape full = *shape;
    full[1 - row] = (*weights)[o.f.param().boolean("transposeB") ? 1 : 0];
    const VarId bias = like(graph, o.f, broadcast_to(graph, o.b, graph.int32s(full.dims(), o.b)), o.c);
    const VarId inner = like(graph, o.f, o.a, o.c);
    return RuleResult{plus(graph, bias, inner), inner};
}

using Rule = std::optional<RuleResult> (*)(Workspace&, const Operands&);
struct RuleEntry {
    std::string_view f;
    std::string_view g;
    Rule apply;
};

constexpr std::array<RuleEntry, 5> associative = {{
    {"Elemwise", "Elemwise", elemwise_elemwise},
    {"Convolution", "Elemwise", conv_of_mul},
    {"MatrixMul", "Elemwise", matmul_of_mul},
    {"Elemwise", "Convolution", mul_of_conv},
    {"Elemwise", "MatrixMul", mul_of_matmul},
}};
constexpr std::array<RuleEntry, 2> distributive = {{
    {"Convolution", "Elemwise", conv_of_add},
    {"MatrixMul", "Elemwise", matmul_of_add},
}};

std::optional<RuleResult> apply(Workspace& graph, std::span<const RuleEntry> rules, OprId f, bool swap_f, bool swap_g) {
    VarId ab = graph.opr(f).inputs[0];
    VarId c = graph.opr(f).inputs[1];
    if (swap_f) std::swap(ab, c);
    const Opr& g = graph.producer(ab);
    VarId a = g.inputs[0];
    VarId b = g.inputs[1];
    if (swap_g) std::swap(a, b);
    for (const RuleEntry& rule : rules)
        if (graph.is(f, rule.f) && g.type == rule.g) return rule.apply(graph, {graph.opr(f), g, a, b, c});
    return std::nullopt;
}

} // namespace

std::optional<RuleResult> reassociate(Workspace& graph, OprId f, bool swap_f, bool swap_g) {
    return apply(graph, associative, f, swap_f, swap_g);
}

std::optional<RuleResult> distribute_over_add(Workspace& graph, OprId f, bool swap_g) {
    return apply(graph, distributive, f, false, swap_g);
}

} // namespace megascope
