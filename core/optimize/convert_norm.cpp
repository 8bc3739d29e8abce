#include "optimize/build.h"
#include "optimize/converters.h"

namespace megascope {
namespace {

using enum ElemwiseMode;
constexpr DTypeId f32 = DTypeId::float32;

VarId reduce(Workspace& graph, VarId x, std::string_view mode, std::int64_t axis) {
    Param param = make_param("Reduce");
    set_enum(param, "mode", mode);
    param.set("axis", axis);
    return graph.insert1(make_opr("Reduce", {x}, {std::move(param)}));
}

VarId sum_to(Workspace& graph, VarId x, VarId shape) {
    return graph.insert1(make_opr("Reduce", {x, shape}, {make_param("Reduce")})); // SUM, by target shape
}

/// N, C, H, W of the input of a group or instance normalisation.
const Shape& image_shape(const Workspace& graph, OprId opr, VarId x) {
    const Shape* shape = graph.shape(x);
    if (!shape || shape->ndim() < 4) rewrite_failed("Its input has no known shape of four axes.", graph.display_name(opr));
    return *shape;
}

std::int64_t groups_of(const Workspace& graph, OprId opr, const Shape& shape) {
    const std::int64_t groups = graph.opr(opr).type.starts_with("Instance") ? shape[1] : graph.opr(opr).param().integer("group");
    if (groups <= 0 || shape[1] % groups != 0)
        rewrite_failed("Its " + std::to_string(shape[1]) + " channels do not form " + std::to_string(groups) + " groups.", graph.display_name(opr));
    return groups;
}

} // namespace

VarId convert_group_norm(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const VarId x = in[0];
    const auto epsilon = static_cast<float>(graph.opr(opr).param().real("eps"));
    const VarId half = graph.scalar(0.5, f32, x);
    const VarId eps = graph.scalar(epsilon, f32, x);
    const VarId original = shape_of(graph, x);
    const Shape shape = image_shape(graph, opr, x);
    const std::int64_t groups = groups_of(graph, opr, shape);
    const std::int64_t inner = shape[1] * shape[2] * shape[3] / groups;
    const VarId data = reshape(graph, x, graph.int32s({shape[0], groups, inner}, x));
    const VarId mean = reduce(graph, data, "MEAN", 2);
    const VarId mean_of_squares = reduce(graph, times(graph, data, data), "MEAN", 2);
    const VarId variance = minus(graph, mean_of_squares, times(graph, mean, mean));
    const VarId deviation = graph.elemwise(pow, {plus(graph, variance, eps), half});
    const VarId centered = minus(graph, data, mean);
    const VarId result = reshape(graph, graph.elemwise(true_div, {centered, deviation}), original);
    if (in.size() < 3) return result;
    return plus(graph, times(graph, result, in[1]), in[2]);
}

VarId convert_group_norm_backward(Workspace& graph, OprId opr, std::span<const VarId> in) {
    if (in.size() < 5) rewrite_failed("It has no weight; the converter needs one.", graph.display_name(opr));
    const VarId x = in[1];
    const auto epsilon = static_cast<float>(graph.opr(opr).param().real("eps"));
    const VarId half = graph.scalar(0.5, f32, x);
    const VarId eps = graph.scalar(epsilon, f32, x);
    const VarId one = graph.scalar(1, DTypeId::int32, x);
    const Shape shape = image_shape(graph, opr, in[0]);
    const std::int64_t groups = groups_of(graph, opr, shape);
    const std::int64_t size = shape[1] * shape[2] * shape[3] / groups;
    const VarId original = shape_of(graph, x);
    const VarId data = reshape(graph, x, graph.int32s({shape[0], groups, size}, x));
    const VarId deviation = graph.elemwise(pow, {plus(graph, in[4], eps), half});
    const VarId inverse = graph.elemwise(true_div, {one, deviation});
    const VarId centered = minus(graph, data, in[3]);
    VarId normalized = reshape(graph, times(graph, centered, inverse), original);
    const VarId count = graph.scalar(static_cast<double>(size), DTypeId::int32, x);
    const VarId factor = graph.elemwise(true_div, {inverse, count});
    VarId gradient = times(graph, in[0], in[2]);
    const VarId split = graph.int32s({shape[0], groups, shape[1] / groups, shape[2], shape[3]}, x);
    normalized = reshape(graph, normalized, split);
    gradient = reshape(graph, gradient, split);
    const VarId scaled = times(graph, count, gradient);
    const VarId per_group = graph.int32s({shape[0], groups, 1, 1, 1}, x);
    const VarId gradient_sum = sum_to(graph, gradient, per_group);
    const VarId scaled_sum = sum_to(graph, scaled, per_group);
    const VarId along = times(graph, normalized, scaled_sum);
    const VarId rest = minus(graph, minus(graph, scaled, gradient_sum), along);
    return reshape(graph, times(graph, factor, rest), original);
}

VarId convert_softmax(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const std::int64_t axis = graph.opr(opr).param().integer("axis");
    const VarId largest = reduce(graph, in[0], "MAX", axis);
    const VarId powers = graph.elemwise(exp, {minus(graph, in[0], largest)});
    return graph.elemwise(true_div, {powers, reduce(graph, powers, "SUM", axis)});
}

VarId convert_layer_norm(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const VarId x = in[0];
    const auto epsilon = static_cast<float>(graph.opr(opr).param().real("eps"));
    const auto normalized = static_cast<std::int64_t>(graph.opr(opr).param().u64("normalized_dim"));
    const VarId original = shape_of(graph, x);
    if (!graph.shape(x)) rewrite_failed("The shape of its input is not known.", graph.display_name(opr));
    const std::int64_t kept = static_cast<std::int64_t>(graph.shape(x)->ndim()) - normalized;
    const VarId end = graph.scalar(static_cast<double>(kept), DTypeId::int32, x);
    Param slice = make_param("IndexDescMaskDump");
    slice.set("items", std::vector<IndexItem>{{.axis = 0, .end = true}});
    const VarId outer = graph.insert1(make_opr("Subtensor", {original, end}, {std::move(slice)}));
    const VarId open = graph.scalar(-1, DTypeId::int32, x);
    const VarId rows = reshape(graph, x, concat(graph, {outer, open}, 0), kept);
    const VarId mean = reduce(graph, rows, "MEAN", -1);
    const VarId squares = reduce(graph, rows, "SUM_SQR", -1);
    const VarId row_shape = shape_of(graph, squares);
    const VarId elements = reduce(graph, original, "PRODUCT", 0);
    const VarId row_count = reduce(graph, row_shape, "PRODUCT", 0);
    const VarId size = cast(graph, graph.elemwise(floor_div, {elements, row_count}), graph.dtype(x));
    const VarId inverse_size = pow_c(graph, size, -1);
    const VarId eps = graph.scalar(epsilon, f32, x);
    const VarId mean_of_squares = graph.elemwise(fuse_mul_add3, {squares, inverse_size, eps});
    const VarId square_of_mean = pow_c(graph, mean, 2);
    const VarId inverse = pow_c(graph, minus(graph, mean_of_squares, square_of_mean), -0.5F);
    const VarId shift = times(graph, negated(graph, mean), inverse);
    const VarId result = reshape(graph, graph.elemwise(fuse_mul_add3, {rows, inverse, shift}), original);
    if (in.size() < 3) return result;
    return plus(graph, times(graph, result, in[1]), in[2]);
}

VarId convert_dropout(Workspace& graph, OprId opr, std::span<const VarId> in) {
    const auto dropped = static_cast<float>(graph.opr(opr).param().real("drop_prob"));
    Param param = make_param("UniformRNG");
    param.set("seed", graph.opr(opr).param().u64("seed"));
    const VarId shape = shape_of(graph, in[0]);
    const VarId random = graph.insert1(make_opr("UniformRNG", {shape}, {std::move(param)}));
    const VarId probability = graph.scalar(dropped, f32, in[0]);
    const VarId kept = cast(graph, cast(graph, graph.elemwise(lt, {probability, random}), DTypeId::bool_), f32);
    const VarId remaining = times(graph, in[0], kept);
    return times(graph, remaining, graph.scalar(1 / (1 - dropped), f32, in[0]));
}

} // namespace megascope
