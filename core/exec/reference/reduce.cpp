#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// The values of the schema's ReduceMode.
enum class Mode : std::uint8_t { sum = 0, sum_sqr, product, min, max, mean };

/// Folds all elements of `src` into one accumulator per element of the result. `T` is double or int64; `fold` combines.
template <class T, class Fold>
std::vector<T> fold_all(const TensorRef& src, const Shape& result, T start, Fold fold) {
    std::vector<T> sums(result.elements(), start);
    const StridedView views[] = {contiguous(src.shape), {0, broadcast_strides(result, src.shape)}};
    RowWalk walk(src.shape, views);
    std::vector<T> values(block_elements);
    for (std::int64_t row = 0; row < walk.rows(); ++row, walk.next()) {
        for (std::int64_t at = 0; at < walk.row_length(); at += static_cast<std::int64_t>(block_elements)) {
            const auto count = static_cast<std::size_t>(std::min<std::int64_t>(block_elements, walk.row_length() - at));
            load_block(src, walk.start(0) + at * walk.step(0), walk.step(0), std::span<T>(values.data(), count));
            T* to = sums.data() + walk.start(1) + at * walk.step(1);
            if (walk.step(1) == 0) {
                T sum = *to;
                for (std::size_t i = 0; i < count; ++i) sum = fold(sum, values[i]);
                *to = sum;
            } else {
                const std::int64_t step = walk.step(1);
                for (std::size_t i = 0; i < count; ++i) {
                    T& sum = to[static_cast<std::int64_t>(i) * step];
                    sum = fold(sum, values[i]);
                }
            }
        }
    }
    return sums;
}

std::vector<double> reduce_real(Mode mode, const TensorRef& src, const Shape& result) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (mode) {
    case Mode::sum:
    case Mode::mean: return fold_all<double>(src, result, 0, [](double s, double x) { return s + x; });
    case Mode::sum_sqr: return fold_all<double>(src, result, 0, [](double s, double x) { return s + x * x; });
    case Mode::product: return fold_all<double>(src, result, 1, [](double s, double x) { return s * x; });
    // A NaN stays once it was met.
    case Mode::min:
        return fold_all<double>(src, result, infinity, [](double s, double x) { return std::isnan(s) || s < x ? s : x; });
    case Mode::max:
        return fold_all<double>(src, result, -infinity, [](double s, double x) { return std::isnan(s) || s > x ? s : x; });
    }
    return {};
}

/// Sums and products modulo 2^64, so that the low bits are those of the dtype's own arithmetic.
std::vector<std::int64_t> reduce_integer(Mode mode, const TensorRef& src, const Shape& result) {
    using Int = std::int64_t;
    const auto u = [](Int v) { return static_cast<std::uint64_t>(v); };
    switch (mode) {
    case Mode::sum:
    case Mode::mean: return fold_all<Int>(src, result, 0, [u](Int s, Int x) { return static_cast<Int>(u(s) + u(x)); });
    case Mode::sum_sqr: return fold_all<Int>(src, result, 0, [u](Int s, Int x) { return static_cast<Int>(u(s) + u(x) * u(x)); });
    case Mode::product: return fold_all<Int>(src, result, 1, [u](Int s, Int x) { return static_cast<Int>(u(s) * u(x)); });
    case Mode::min: return fold_all<Int>(src, result, INT64_MAX, [](Int s, Int x) { return std::min(s, x); });
    case Mode::max: return fold_all<Int>(src, result, INT64_MIN, [](Int s, Int x) { return std::max(s, x); });
    }
    return {};
}

Expected<void> reduce(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    if (args.opr.param().enum_name("data_type") == "FLOAT_IO16xC32")
        return fail(ErrorCode::unsupported, "Reduce with data type FLOAT_IO16xC32 was withdrawn by MegEngine.");
    const auto joined = broadcast(src.shape, dst.shape);
    if (!joined || *joined != src.shape)
        return fail(ErrorCode::invalid_argument,
                    "Reduce cannot reduce shape " + src.shape.text() + " to " + dst.shape.text() + ".");
    const auto mode = static_cast<Mode>(args.opr.param().integer("mode"));
    if (mode > Mode::mean) return fail(ErrorCode::unsupported, "Reduce mode " + args.opr.param().enum_name("mode") + " is not known.");
    const std::size_t results = dst.elements();
    const std::int64_t folded = results == 0 ? 1 : static_cast<std::int64_t>(src.elements() / results);

    const bool extreme = mode == Mode::min || mode == Mode::max;
    if (src.dtype.is_float() || (src.dtype.is_quantized() && !extreme)) {
        std::vector<double> sums = reduce_real(mode, src, dst.shape);
        if (mode == Mode::mean)
            for (double& s : sums) s /= static_cast<double>(folded);
        store_block(dst, 0, std::span<const double>(sums));
        return {};
    }
    std::vector<std::int64_t> sums = reduce_integer(mode, src, dst.shape);
    if (mode == Mode::mean && folded != 0)
        for (std::int64_t& s : sums) s = wrap_integer(dst.dtype, s) / folded;
    store_block(dst, 0, std::span<const std::int64_t>(sums));
    return {};
}

/// Where the extreme lies along an axis. Comparison is strict, so the first of equals wins; a NaN counts as better.
template <bool largest>
Expected<void> arg_extreme(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const auto axis = resolve_axis(args.opr.param().integer("axis"), src.shape.ndim());
    if (!axis) return fail(ErrorCode::invalid_argument, args.opr.type + " has no such axis in shape " + src.shape.text() + ".");
    const std::int64_t size = src.shape[*axis];
    std::int64_t inner = 1;
    for (std::size_t i = *axis + 1; i < src.shape.ndim(); ++i) inner *= src.shape[i];
    const std::int64_t outer = size * inner == 0 ? 0 : static_cast<std::int64_t>(src.elements()) / (size * inner);
    const auto better = [](double x, double best) { return std::isnan(x) || (largest ? x > best : x < best); };
    std::vector<double> values(static_cast<std::size_t>(inner == 1 ? size : 0));
    std::array<double, block_elements> block, best;
    std::array<std::int64_t, block_elements> place;
    for (std::int64_t o = 0; o < outer; ++o) {
        if (inner == 1) {
            load_block(src, o * size, 1, std::span<double>(values));
            std::size_t found = 0;
            for (std::size_t k = 1; k < values.size(); ++k)
                if (better(values[k], values[found])) found = k;
            store_integer(dst, static_cast<std::size_t>(o), static_cast<std::int64_t>(found));
            continue;
        }
        // Many axes side by side, a block of them at a time.
        for (std::int64_t begin = 0; begin < inner; begin += static_cast<std::int64_t>(block_elements)) {
            const auto count = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(block_elements), inner - begin));
            load_block(src, o * size * inner + begin, 1, std::span(best.data(), count));
            std::fill_n(place.begin(), count, 0);
            for (std::int64_t k = 1; k < size; ++k) {
                load_block(src, (o * size + k) * inner + begin, 1, std::span(block.data(), count));
                for (std::size_t i = 0; i < count; ++i) {
                    const bool wins = better(block[i], best[i]);
                    best[i] = wins ? block[i] : best[i];
                    place[i] = wins ? k : place[i];
                }
            }
            store_block(dst, o * inner + begin, std::span<const std::int64_t>(place.data(), count));
        }
    }
    return {};
}

} // namespace

void add_reduce_kernels(ReferenceKernels& kernels) {
    kernels["Reduce"] = {reduce};
    kernels["Argmax"] = {arg_extreme<true>};
    kernels["Argmin"] = {arg_extreme<false>};
}

} // namespace megascope
