#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// The first `count` positions in ascending (descending) order; equal values keep their order; NaN stands last either way.
std::vector<std::int64_t> sorted_order(std::span<const double> values, bool descending, std::size_t count) {
    struct Keyed {
        double value;
        std::int64_t at;
    };
    std::vector<Keyed> keyed;
    std::vector<std::int64_t> no_numbers;
    keyed.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        if (std::isnan(values[i]))
            no_numbers.push_back(at);
        else
            keyed.push_back({descending ? -values[i] : values[i], at});
    }
    const auto before = [](const Keyed& a, const Keyed& b) { return a.value < b.value || (a.value == b.value && a.at < b.at); };
    const auto end = keyed.begin() + static_cast<std::ptrdiff_t>(std::min(count, keyed.size()));
    if (end != keyed.end()) std::nth_element(keyed.begin(), end, keyed.end(), before);
    std::sort(keyed.begin(), end, before);
    std::vector<std::int64_t> order;
    order.reserve(count);
    for (auto k = keyed.begin(); k != end; ++k) order.push_back(k->at);
    for (std::size_t i = 0; order.size() < count; ++i) order.push_back(no_numbers[i]);
    return order;
}

Expected<void> argsort(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    if (src.shape.ndim() != 2)
        return fail(ErrorCode::invalid_argument, "Argsort sorts the rows of a matrix, not of shape " + src.shape.text() + ".");
    const bool descending = args.opr.param().enum_name("order") == "DESCENDING";
    const std::int64_t n = src.shape[1];
    std::vector<double> row(static_cast<std::size_t>(n));
    std::vector<std::int64_t> positions;
    positions.reserve(src.elements());
    for (std::int64_t r = 0; r < src.shape[0]; ++r) {
        load_block(src, r * n, 1, std::span<double>(row));
        const auto order = sorted_order(row, descending, row.size());
        store_block(args.outputs[1], r * n, std::span<const std::int64_t>(order));
        for (const std::int64_t i : order) positions.push_back(r * n + i);
    }
    gather_elements(src, positions, args.outputs[0]);
    return {};
}

/// Inputs: gradient of the sorted values, indices, a tensor whose shape the result has. The same operator serves TopK, whose
/// rows have fewer entries than the source.
Expected<void> argsort_backward(const KernelArgs& args) {
    const TensorRef& diff = args.inputs[0];
    const TensorRef& indices = args.inputs[1];
    const MutTensorRef& grad = args.outputs[0];
    if (grad.shape.ndim() != 2 || diff.shape.ndim() != 2 || diff.shape != indices.shape || diff.shape[0] != grad.shape[0])
        return fail(ErrorCode::invalid_argument, "ArgsortBackward: shapes " + diff.shape.text() + " and " + indices.shape.text() +
                                                     " do not fit " + grad.shape.text() + ".");
    const std::vector<std::int64_t> zeros(grad.elements(), 0);
    from_stored(zeros, grad);
    std::vector<std::int64_t> positions(diff.elements());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const std::int64_t place = stored_at(indices, i);
        if (place < 0 || place >= grad.shape[1])
            return fail(ErrorCode::run_failed, "Index " + std::to_string(place) + " is outside axis 1 of size " +
                                                   std::to_string(grad.shape[1]) + ".");
        positions[i] = static_cast<std::int64_t>(i) / diff.shape[1] * grad.shape[1] + place;
    }
    scatter_add(diff, positions, grad);
    return {};
}

/// k > 0: the k smallest, k < 0: the |k| largest, at most as many as there are; always given in order, which is one of the
/// orders NOSORT allows.
Expected<void> topk(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    if (args.inputs[1].elements() != 1)
        return fail(ErrorCode::invalid_argument, "TopK takes one k, not shape " + args.inputs[1].shape.text() + ".");
    const std::int64_t k = stored_at(args.inputs[1], 0);
    const std::int64_t count = std::min(std::abs(k), src.shape[1]);
    if (src.shape.ndim() != 2 || count == 0)
        return fail(ErrorCode::invalid_argument,
                    "TopK with k = " + std::to_string(k) + " does not fit data of shape " + src.shape.text() + ".");
    const bool only_kth = args.opr.param().enum_name("mode") == "KTH_ONLY";
    const auto n = src.shape[1];
    std::vector<double> row(static_cast<std::size_t>(n));
    std::vector<std::int64_t> positions;
    for (std::int64_t r = 0; r < src.shape[0]; ++r) {
        load_block(src, r * n, 1, std::span<double>(row));
        const auto order = sorted_order(row, k < 0, static_cast<std::size_t>(count));
        if (only_kth) {
            positions.push_back(r * n + order.back());
            continue;
        }
        for (const std::int64_t i : order) positions.push_back(r * n + i);
        if (args.outputs.size() > 1) store_block(args.outputs[1], r * count, std::span<const std::int64_t>(order));
    }
    if (positions.size() != args.outputs[0].elements()) return fail(ErrorCode::invalid_argument, "TopK: the result does not fit.");
    gather_elements(src, positions, args.outputs[0]);
    return {};
}

struct SumAxes {
    std::int64_t outer, size, inner;
};

/// Running sums along the middle one of three axes, a block of the inner axis at a time; an inner axis of 1 has blocks along the
/// middle one.
template <class T, class Add>
void running_sums(const TensorRef& src, const MutTensorRef& dst, const SumAxes& axes, bool exclusive, bool reverse, Add add) {
    constexpr auto most = static_cast<std::int64_t>(block_elements);
    std::array<T, block_elements> sums, values, results;
    const auto write = [&](std::int64_t at, std::size_t count) { store_block(dst, at, std::span<const T>(results.data(), count)); };
    for (std::int64_t o = 0; o < axes.outer; ++o) {
        const std::int64_t base = o * axes.size * axes.inner;
        if (axes.inner == 1) {
            T sum = 0;
            for (std::int64_t done = 0; done < axes.size; done += most) {
                const auto count = static_cast<std::size_t>(std::min(most, axes.size - done));
                const std::int64_t at = base + (reverse ? axes.size - done - static_cast<std::int64_t>(count) : done);
                load_block(src, at, 1, std::span(values.data(), count));
                for (std::size_t step = 0; step < count; ++step) {
                    const std::size_t i = reverse ? count - 1 - step : step;
                    const T before = sum;
                    sum = add(sum, values[i]);
                    results[i] = exclusive ? before : sum;
                }
                write(at, count);
            }
            continue;
        }
        for (std::int64_t begin = 0; begin < axes.inner; begin += most) {
            const auto count = static_cast<std::size_t>(std::min(most, axes.inner - begin));
            std::fill_n(sums.begin(), count, T{0});
            for (std::int64_t step = 0; step < axes.size; ++step) {
                const std::int64_t at = base + (reverse ? axes.size - 1 - step : step) * axes.inner + begin;
                load_block(src, at, 1, std::span(values.data(), count));
                for (std::size_t i = 0; i < count; ++i) {
                    const T before = sums[i];
                    sums[i] = add(sums[i], values[i]);
                    results[i] = exclusive ? before : sums[i];
                }
                write(at, count);
            }
        }
    }
}

Expected<void> cumsum(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const Param& param = args.opr.param();
    std::int64_t size = static_cast<std::int64_t>(src.elements());
    std::int64_t inner = 1;
    if (const std::int64_t axis = param.integer("axis"); axis != std::numeric_limits<std::int32_t>::max()) {
        const auto resolved = resolve_axis(axis, src.shape.ndim());
        if (!resolved)
            return fail(ErrorCode::invalid_argument, "Cumsum: shape " + src.shape.text() + " has no axis " + std::to_string(axis) + ".");
        size = src.shape[*resolved];
        for (std::size_t i = *resolved + 1; i < src.shape.ndim(); ++i) inner *= src.shape[i];
    }
    if (src.elements() == 0) return {};
    const bool exclusive = param.boolean("exclusive");
    const bool reverse = param.boolean("reverse");
    const std::int64_t outer = static_cast<std::int64_t>(src.elements()) / (size * inner);
    if (src.dtype.is_float() || src.dtype.is_quantized())
        running_sums<double>(src, dst, {outer, size, inner}, exclusive, reverse, [](double a, double b) { return a + b; });
    else
        running_sums<std::int64_t>(src, dst, {outer, size, inner}, exclusive, reverse, [](std::int64_t a, std::int64_t b) {
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); // wraps
        });
    return {};
}

} // namespace

void add_sorting_kernels(ReferenceKernels& kernels) {
    kernels["Argsort"] = {argsort};
    kernels["ArgsortBackward"] = {argsort_backward};
    kernels["TopK"] = {topk};
    kernels["Cumsum"] = {cumsum};
}

} // namespace megascope
