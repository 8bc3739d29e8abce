#include "trace/functional/nn.h"

#include <functional>
#include <optional>

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/functional/shape.h"
#include "trace/trace_error.h"

namespace megascope::functional {
namespace {

OprDesc convolution(const char* type, const ConvOptions& options) {
    OprDesc desc(type);
    desc.set_enum("mode", options.flip ? "CONVOLUTION" : "CROSS_CORRELATION");
    desc.set("pad_h", options.padding.h).set("pad_w", options.padding.w);
    desc.set("stride_h", options.stride.h).set("stride_w", options.stride.w);
    desc.set("dilate_h", options.dilation.h).set("dilate_w", options.dilation.w);
    desc.set_enum("sparse", options.groups > 1 ? "GROUP" : "DENSE");
    return desc;
}

OprDesc pooling(const char* mode, const PoolOptions& options) {
    OprDesc desc("Pooling");
    desc.set_enum("mode", mode);
    desc.set("window_h", options.window.h).set("window_w", options.window.w);
    desc.set("stride_h", options.stride.h).set("stride_w", options.stride.w);
    desc.set("pad_h", options.padding.h).set("pad_w", options.padding.w);
    return desc;
}

std::int64_t axis_in(const EagerTensor& x, std::int64_t axis) {
    const std::size_t ndim = x.ndim();
    const auto resolved = resolve_axis(axis, ndim);
    if (!resolved)
        throw OprError(ErrorCode::invalid_argument,
                       "Axis " + std::to_string(axis) + " does not exist in a tensor of " + std::to_string(ndim) + " axes.");
    return static_cast<std::int64_t>(*resolved);
}

/// Drops the reduced axis; named like the reduction it belongs to, as in MegEngine's dumps.
EagerTensor drop_axis(const EagerTensor& x, std::int64_t axis, const char* name) {
    OprDesc desc("AxisAddRemove");
    desc.set("desc", std::vector<AxisDesc>{{AxisDesc::Method::remove, static_cast<std::int32_t>(axis)}}).with_name(name);
    return apply1(desc, {x});
}

OprDesc matrix_product(const char* type, const MatMulOptions& options) {
    return OprDesc(type).set("transposeA", options.transpose_a).set("transposeB", options.transpose_b);
}

// Steps inside one product, which get default names.
EagerTensor hidden(OprDesc desc, std::initializer_list<EagerTensor> inputs) { return apply1(desc.without_name(), inputs); }
EagerTensor hidden_shape(const EagerTensor& x) { return symbolic_shape() ? hidden(OprDesc("GetVarShape"), {x}) : shape_of(x); }
/// sizes[begin:end] for begin (or end) = -1.
EagerTensor hidden_part(const EagerTensor& sizes, bool last) {
    OprDesc desc("Subtensor");
    desc.set("items", std::vector<IndexItem>{{.axis = 0, .begin = last, .end = !last}});
    return hidden(desc, {sizes, int_vector({-1})});
}
EagerTensor hidden_concat(const EagerTensor& a, const EagerTensor& b) { return hidden(OprDesc("Concat"), {a, b}); }

/// x with leading axes, times a matrix: the leading axes become rows.
EagerTensor rows_times_matrix(const EagerTensor& x, const EagerTensor& matrix, const MatMulOptions& options) {
    const EagerTensor sizes = hidden_shape(x);
    const EagerTensor leading = hidden_part(sizes, false);
    const EagerTensor rows = hidden(OprDesc("Reduce").set_enum("mode", "PRODUCT").set("axis", std::int64_t{0}), {leading});
    const EagerTensor flat = hidden(OprDesc("Reshape"), {x, hidden_concat(rows, hidden_part(sizes, true))});
    const EagerTensor product = apply1(matrix_product("MatrixMul", options), {flat, matrix});
    return hidden(OprDesc("Reshape"), {product, hidden_concat(leading, hidden_part(hidden_shape(product), true))});
}

EagerTensor hidden_tail(const EagerTensor& sizes, bool last) {
    OprDesc desc("Subtensor");
    desc.set("items", std::vector<IndexItem>{{.axis = 0, .begin = last, .end = !last}});
    return hidden(desc, {sizes, int_vector({-2})});
}

/// More than one batch axis: they become one, because the operator takes three axes.
EagerTensor batched_product(const EagerTensor& a, const EagerTensor& b, const MatMulOptions& options) {
    if (a.ndim() == 3) return apply1(matrix_product("BatchedMatrixMul", options), {a, b});
    const EagerTensor sizes = hidden_shape(a), batch = hidden_tail(sizes, false);
    const EagerTensor count = hidden(OprDesc("Reduce").set_enum("mode", "PRODUCT").set("axis", std::int64_t{0}), {batch});
    const auto flat = [&](const EagerTensor& x, const EagerTensor& all) {
        return hidden(OprDesc("Reshape"), {x, hidden_concat(count, hidden_tail(all, true))});
    };
    const EagerTensor product = apply1(matrix_product("BatchedMatrixMul", options), {flat(a, sizes), flat(b, hidden_shape(b))});
    return hidden(OprDesc("Reshape"), {product, hidden_concat(batch, hidden_tail(hidden_shape(product), true))});
}

/// The leading axes of `other` in front of the matrix `x`.
EagerTensor as_batch(const EagerTensor& x, const EagerTensor& other) {
    return hidden(OprDesc("Broadcast"), {x, hidden_concat(hidden_tail(hidden_shape(other), false), hidden_shape(x))});
}

} // namespace

EagerTensor conv2d(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias, const ConvOptions& options) {
    const EagerTensor y = apply1(convolution("Convolution", options), {x, weight});
    return bias.valid() ? y + bias : y;
}

EagerTensor conv_transpose2d(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias, const ConvOptions& options) {
    const EagerTensor y = apply1(convolution("ConvolutionBackwardData", options), {weight, x});
    return bias.valid() ? y + bias : y;
}

EagerTensor matmul(const EagerTensor& a, const EagerTensor& b, const MatMulOptions& options) {
    const std::size_t m = a.ndim(), n = b.ndim();
    if (m == 1 && n == 1) return dot(a, b);
    if (m == 1) return squeeze(matmul(expand_dims(a, 0), b, {false, options.transpose_b}), -2);
    if (n == 1) return squeeze(matmul(a, expand_dims(b, 1), {options.transpose_a, false}), -1);
    if (m == 2 && n == 2) return apply1(matrix_product("MatrixMul", options), {a, b});
    if (n == 2 && !options.transpose_a) return rows_times_matrix(a, b, options);
    const EagerTensor left = m < n ? as_batch(a, b) : a, right = n < m ? as_batch(b, a) : b;
    return batched_product(left, right, options);
}

EagerTensor linear(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias) {
    const EagerTensor y = matmul(x, weight, {.transpose_b = true});
    return bias.valid() ? y + bias : y;
}

EagerTensor dot(const EagerTensor& a, const EagerTensor& b) { return apply1(OprDesc("Dot"), {a, b}); }

EagerTensor max_pool2d(const EagerTensor& x, const PoolOptions& options) { return apply1(pooling("MAX", options), {x}); }

EagerTensor avg_pool2d(const EagerTensor& x, const PoolOptions& options, bool count_padding) {
    return apply1(pooling(count_padding ? "AVERAGE" : "AVERAGE_COUNT_EXCLUDE_PADDING", options), {x});
}

EagerTensor adaptive_max_pool2d(const EagerTensor& x, Pair size) {
    return apply1(OprDesc("AdaptivePooling").set_enum("mode", "MAX"), {x, int_vector({size.h, size.w})});
}

EagerTensor adaptive_avg_pool2d(const EagerTensor& x, Pair size) {
    return apply1(OprDesc("AdaptivePooling").set_enum("mode", "AVERAGE"), {x, int_vector({size.h, size.w})});
}

EagerTensor batch_norm(const EagerTensor& x, const EagerTensor& scale, const EagerTensor& bias, const EagerTensor& mean,
                       const EagerTensor& var, double eps) {
    OprDesc desc("BatchNorm");
    desc.set_enum("param_dim", "DIM_1C11").set_enum("fwd_mode", "INFERENCE").set("epsilon", eps);
    return apply1(desc, {x, scale, bias, mean, var}, 3);
}

BatchNormResult batch_norm_training(const EagerTensor& x, const EagerTensor& scale, const EagerTensor& bias, const EagerTensor& mean,
                                    const EagerTensor& var, double momentum, double eps) {
    OprDesc desc("BatchNorm");
    desc.set_enum("param_dim", "DIM_1C11").set_enum("fwd_mode", "TRAINING").set("epsilon", eps).set("avg_factor", 1 - momentum);
    BatchNormResult result;
    if (mean.valid() && var.valid()) {
        std::vector<EagerTensor> out = apply_opr(desc, {x, scale, bias, mean, var});
        result = {out[5], out[0], out[1], out[2], out[3]};
    } else {
        std::vector<EagerTensor> out = apply_opr(desc, {x, scale, bias});
        result = {out[3], {}, {}, out[0], out[1]};
    }
    return result;
}

EagerTensor layer_norm(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias, double eps) {
    const Shape shape = x.shape();
    const std::size_t dims = weight.valid() ? weight.ndim() : 1;
    std::uint64_t size = 1;
    for (std::size_t i = 0; i < dims && i < shape.ndim(); ++i) size *= static_cast<std::uint64_t>(shape[shape.ndim() - 1 - i]);
    OprDesc desc("LayerNorm");
    desc.set("affine", weight.valid()).set("eps", static_cast<float>(eps));
    desc.set("normalized_dim", static_cast<std::uint64_t>(dims)).set("normalized_size", size);
    return weight.valid() ? apply1(desc, {x, weight, bias}) : apply1(desc, {x});
}

EagerTensor softmax(const EagerTensor& x, std::int64_t axis) { return apply1(OprDesc("Softmax").set("axis", axis_in(x, axis)), {x}); }

EagerTensor log_softmax(const EagerTensor& x, std::int64_t axis) {
    const EagerTensor shifted = x - max(x, axis, true);
    return shifted - log(sum(exp(shifted), axis, true));
}

EagerTensor reduce(std::string_view mode, const EagerTensor& x, std::int64_t axis, bool keepdims) {
    OprDesc desc("Reduce");
    desc.set_enum("mode", mode);
    if (axis == all_axes) {
        const EagerTensor target = int_vector({1});
        const EagerTensor all = apply1(desc, {x, target});
        if (!keepdims) return all;
        const std::vector<std::int64_t> ones(x.ndim(), 1);
        return reshape(all, ones);
    }
    const std::int64_t at = axis_in(x, axis);
    const EagerTensor kept = apply1(desc.set("axis", at), {x});
    return keepdims || x.ndim() == 1 ? kept : drop_axis(kept, at, "Reduce");
}

EagerTensor sum(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("SUM", x, axis, keepdims); }
EagerTensor mean(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("MEAN", x, axis, keepdims); }
EagerTensor max(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("MAX", x, axis, keepdims); }
EagerTensor min(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("MIN", x, axis, keepdims); }
EagerTensor prod(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("PRODUCT", x, axis, keepdims); }
EagerTensor sum_sqr(const EagerTensor& x, std::int64_t axis, bool keepdims) { return reduce("SUM_SQR", x, axis, keepdims); }

EagerTensor argmax(const EagerTensor& x, std::int64_t axis, bool keepdims) {
    const std::int64_t at = axis_in(x, axis);
    const EagerTensor kept = apply1(OprDesc("Argmax").set("axis", at), {x});
    return keepdims || x.ndim() == 1 ? kept : squeeze(kept, at);
}

EagerTensor argmin(const EagerTensor& x, std::int64_t axis, bool keepdims) {
    const std::int64_t at = axis_in(x, axis);
    const EagerTensor kept = apply1(OprDesc("Argmin").set("axis", at), {x});
    return keepdims || x.ndim() == 1 ? kept : squeeze(kept, at);
}

namespace {

/// The operators of sorting take a matrix: any other tensor becomes one whose rows are those of its last axis, and back. The first
/// axis stays free, so that a recorded graph takes any batch. `kept`: how many of a row remain; nothing = all.
Sorted by_rows(const EagerTensor& x, std::optional<std::int64_t> kept, const std::function<std::vector<EagerTensor>(const EagerTensor& rows)>& apply) {
    const Shape shape = x.shape();
    if (shape.ndim() == 2) {
        const std::vector<EagerTensor> out = apply(x);
        return {out[0], out[1]};
    }
    if (shape.ndim() == 1) {
        const std::vector<EagerTensor> out = apply(reshape(x, {1, -1}));
        return {reshape(out[0], {-1}), reshape(out[1], {-1})};
    }
    const std::vector<EagerTensor> out = apply(reshape(x, {-1, shape[shape.ndim() - 1]}));
    std::vector<std::int64_t> back(shape.begin(), shape.end());
    back.front() = -1;
    if (kept) back.back() = *kept;
    return {reshape(out[0], back), reshape(out[1], back)};
}

} // namespace

Sorted topk(const EagerTensor& x, std::int64_t k, bool descending) {
    OprDesc desc("TopK");
    desc.set_enum("mode", "VALUE_IDX_SORTED");
    return by_rows(x, k, [&](const EagerTensor& rows) { return apply_opr(desc, {rows, int_vector({descending ? -k : k})}); });
}

Sorted sort(const EagerTensor& x, bool descending) {
    OprDesc desc("Argsort");
    desc.set_enum("order", descending ? "DESCENDING" : "ASCENDING");
    return by_rows(x, std::nullopt, [&](const EagerTensor& rows) { return apply_opr(desc, {rows}); });
}

} // namespace megascope::functional
