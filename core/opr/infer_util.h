#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opr/infer.h"

namespace megascope {

// What the InferFns of the family files have in common. Sizes come from files that nobody has checked: arithmetic on them
// saturates, and `infer_opr` refuses results that are negative or too large.

using Inferred = Expected<std::vector<VarDesc>>;

/// invalid_argument with "<type>: <sentence>".
[[nodiscard]] tl::unexpected<Error> misfit(const Opr& opr, const std::string& sentence);

/// Null when the input does not exist or its shape is not known.
[[nodiscard]] const Shape* shape_of(const InferContext& c, std::size_t input);
/// Nothing when the input does not exist or its dtype is not known.
[[nodiscard]] std::optional<DType> dtype_of(const InferContext& c, std::size_t input);
/// Are the shapes of all inputs known?
[[nodiscard]] bool shapes_known(const InferContext& c);

[[nodiscard]] inline VarDesc describe(std::optional<DType> dtype, std::optional<Shape> shape = {}) { return {dtype, shape, {}}; }
[[nodiscard]] inline Inferred one(std::optional<DType> dtype, std::optional<Shape> shape = {}) {
    return std::vector<VarDesc>{describe(dtype, shape)};
}

/// "… 3 axes, but src has shape 2×3." when the shape is known and has another rank.
[[nodiscard]] Expected<void> want_rank(const InferContext& c, std::size_t input, std::size_t rank, std::string_view name);

/// The input's value as integers: nothing when it is not known. Errors: it is not a vector of at most `limit` whole numbers.
[[nodiscard]] Expected<std::optional<std::vector<std::int64_t>>> integers_of(const InferContext& c, std::size_t input,
                                                                             std::size_t limit = Shape::max_ndim);
/// An input that holds a shape (1 to 7 sizes ≥ 0): nothing when its value is not known.
[[nodiscard]] Expected<std::optional<Shape>> shape_value(const InferContext& c, std::size_t input);

[[nodiscard]] std::int64_t saturated_mul(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t saturated_add(std::int64_t a, std::int64_t b);
/// `a` ≥ 0, `b` > 0.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// One axis of a sliding window.
struct Window {
    std::int64_t pad = 0;
    std::int64_t size = 1;
    std::int64_t stride = 1;
    std::int64_t dilate = 1;
};
/// Positions of the window on an axis: floor((in + 2·pad − extent) / stride) + 1. Errors: stride, size or dilate are 0, or the
/// window does not fit once.
[[nodiscard]] Expected<std::int64_t> window_positions(const Opr& opr, std::int64_t in, const Window& window);
/// The inverse for transposed convolutions: (out − 1)·stride + extent − 2·pad. Errors: not positive.
[[nodiscard]] Expected<std::int64_t> window_source(const Opr& opr, std::int64_t out, const Window& window);

/// An InferFn: output k looks like input `inputs[k]`.
template <std::size_t... inputs>
[[nodiscard]] Inferred infer_like(const InferContext& c) {
    return std::vector<VarDesc>{describe(dtype_of(c, inputs), shape_of(c, inputs) ? std::optional(*shape_of(c, inputs)) : std::nullopt)...};
}

/// A copy of the known shape, or nothing.
[[nodiscard]] inline std::optional<Shape> maybe(const Shape* shape) { return shape ? std::optional(*shape) : std::nullopt; }

} // namespace megascope
