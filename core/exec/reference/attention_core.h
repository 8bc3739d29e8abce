#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "graph/param.h"
#include "tensor/tensor.h"

namespace megascope {

/// A linear projection y = x W + b inside the flat weights of a MultiHeadAttn; absent projections pass x on.
struct Projection {
    std::int64_t in = 0;
    std::int64_t out = 0; ///< 0 = absent
    std::size_t weight = 0; ///< start of W (in × out, row-major) in the flat weights
    std::optional<std::size_t> bias; ///< start of b
    [[nodiscard]] std::int64_t size() const { return out ? out : in; } ///< of the result
};

/// The sizes of a MultiHeadAttn. Sequences have shape (batch, length, size).
struct Attention {
    std::int64_t batch = 0;
    std::int64_t queries = 0; ///< T
    std::int64_t given = 0;   ///< keys and values as given
    std::int64_t keys = 0;    ///< S: with bias_k and the zero key
    std::int64_t heads = 1;
    bool bias_kv = false;
    bool zero_key = false;
    bool mask = false;        ///< a mask is added to the scores
    bool residual = false;
    double scale = 1;
    Projection q, k, v, o;

    [[nodiscard]] std::int64_t qk_head() const { return q.size() / heads; }
    [[nodiscard]] std::int64_t v_head() const { return v.size() / heads; }
};

/// Numbers of the inputs; mask (batch heads, T, S), bias_k and bias_v one row each.
struct AttentionInputs {
    std::vector<double> q, k, v, weights, mask, bias_k, bias_v;
};

struct AttentionRun {
    std::vector<double> q, k, v;  ///< after projection and with the added keys: (batch, length, size)
    std::vector<double> weights;  ///< softmax of the scores: (batch heads, T, S)
    std::vector<double> context;  ///< heads side by side: (batch, T, v size)
    std::vector<double> out;      ///< (batch, T, o size)
};

struct AttentionGradients {
    std::vector<double> q, k, v, weights, bias_k, bias_v;
};

/// Errors: invalid_argument when the inputs contradict the param; unsupported for dropout while training.
[[nodiscard]] Expected<Attention> attention_sizes(const Param& param, const Shape& q, const Shape& k, const Shape& v,
                                                  std::size_t weight_elements);
[[nodiscard]] AttentionRun attend(const Attention& a, const AttentionInputs& in);
[[nodiscard]] AttentionGradients attend_backward(const Attention& a, const AttentionInputs& in, const AttentionRun& run,
                                                 std::span<const double> diff);

} // namespace megascope
