#pragma once

#include <cstdint>
#include <vector>

#include "trace/eager_tensor.h"

namespace megascope::functional {

/// A pair for height and width; one number means both.
struct Pair {
    std::int64_t h = 1, w = 1;
    Pair(std::int64_t both) : h(both), w(both) {}                    // NOLINT: numbers convert
    Pair(std::int64_t height, std::int64_t width) : h(height), w(width) {}
};

struct ConvOptions {
    Pair stride = 1;
    Pair padding = 0;
    Pair dilation = 1;
    std::int64_t groups = 1;
    bool flip = false; ///< mode CONVOLUTION instead of CROSS_CORRELATION
};

/// x NCHW; weight OC,IC,FH,FW, or G,OC/G,IC/G,FH,FW with groups; bias 1,OC,1,1 or an empty handle.
[[nodiscard]] EagerTensor conv2d(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias = {}, const ConvOptions& options = {});
/// weight IC,OC,FH,FW, or with groups G,IC/G,OC/G,FH,FW.
[[nodiscard]] EagerTensor conv_transpose2d(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias = {},
                                           const ConvOptions& options = {});

struct MatMulOptions {
    bool transpose_a = false;
    bool transpose_b = false;
};
/// Matrices (two axes each), batches of matrices (the same leading axes, or one operand without them), or vectors (one axis each).
[[nodiscard]] EagerTensor matmul(const EagerTensor& a, const EagerTensor& b, const MatMulOptions& options = {});
/// x · weightᵀ + bias; weight OUT,IN; x may have more than two axes.
[[nodiscard]] EagerTensor linear(const EagerTensor& x, const EagerTensor& weight, const EagerTensor& bias = {});
/// The inner product of two vectors.
[[nodiscard]] EagerTensor dot(const EagerTensor& a, const EagerTensor& b);

struct PoolOptions {
    Pair window = 2;
    Pair stride = 2;
    Pair padding = 0;
};
[[nodiscard]] EagerTensor max_pool2d(const EagerTensor& x, const PoolOptions& options);
/// `count_padding`: padded zeros count in the mean.
[[nodiscard]] EagerTensor avg_pool2d(const EagerTensor& x, const PoolOptions& options, bool count_padding = false);
[[nodiscard]] EagerTensor adaptive_max_pool2d(const EagerTensor& x, Pair size);
[[nodiscard]] EagerTensor adaptive_avg_pool2d(const EagerTensor& x, Pair size);

struct BatchNormResult {
    EagerTensor y;
    EagerTensor running_mean, running_var; ///< updated, of the training form with given statistics
    EagerTensor mean, inv_variance;        ///< of this batch, of the training forms
};
/// Statistics, scale and bias are 1,C,1,1. Inference form.
[[nodiscard]] EagerTensor batch_norm(const EagerTensor& x, const EagerTensor& scale, const EagerTensor& bias, const EagerTensor& mean,
                                     const EagerTensor& var, double eps = 1e-5);
/// Training form: normalises by the batch and moves the statistics by `momentum`. Empty handles: none are kept.
[[nodiscard]] BatchNormResult batch_norm_training(const EagerTensor& x, const EagerTensor& scale, const EagerTensor& bias,
                                                  const EagerTensor& mean = {}, const EagerTensor& var = {}, double momentum = 0.9,
                                                  double eps = 1e-5);
/// Over the last `weight.ndim()` axes (one without weight).
[[nodiscard]] EagerTensor layer_norm(const EagerTensor& x, const EagerTensor& weight = {}, const EagerTensor& bias = {}, double eps = 1e-5);
[[nodiscard]] EagerTensor softmax(const EagerTensor& x, std::int64_t axis);
[[nodiscard]] EagerTensor log_softmax(const EagerTensor& x, std::int64_t axis);

/// Reductions of one axis or of all elements (`axis` = all_axes, the result has one element). `keepdims` keeps the axis with size 1.
inline constexpr std::int64_t all_axes = 2147483647;
[[nodiscard]] EagerTensor reduce(std::string_view mode, const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor sum(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor mean(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor max(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor min(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor prod(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor sum_sqr(const EagerTensor& x, std::int64_t axis = all_axes, bool keepdims = false);
[[nodiscard]] EagerTensor argmax(const EagerTensor& x, std::int64_t axis, bool keepdims = false);
[[nodiscard]] EagerTensor argmin(const EagerTensor& x, std::int64_t axis, bool keepdims = false);

struct Sorted {
    EagerTensor values, indices;
};
/// The k smallest (or largest) of each row of the last axis, sorted. MegEngine's own functions take one or two axes; more become rows
/// of a matrix and back.
[[nodiscard]] Sorted topk(const EagerTensor& x, std::int64_t k, bool descending = false);
[[nodiscard]] Sorted sort(const EagerTensor& x, bool descending = false);

} // namespace megascope::functional
