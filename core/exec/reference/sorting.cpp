#include <algorithm>
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

/// Ascending; equal values keep their order; NaN stands last either way.
std::vector<std::int64_t> sorted_order(std::span<const double> values, bool descending) {
    std::vector<std::int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
        const double x = values[static_cast<std::size_t>(a)];
        const double y = values[static_cast<std::size_t>(b)];
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
        return descending ? x > y : x < y;
    });
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
        const auto order = sorted_order(row, descending);
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
        auto order = sorted_order(row, k < 0);
        order.resize(static_cast<std::size_t>(count));
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
    const bool real = src.dtype.is_float() || src.dtype.is_quantized();
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
            double sum = 0;
            std::uint64_t whole = 0;
            for (std::int64_t step = 0; step < size; ++step) {
                const auto at = static_cast<std::size_t>((o * size + (reverse ? size - 1 - step : step)) * inner + i);
                const double before = sum;
                const std::uint64_t whole_before = whole;
                if (real) {
                    sum += real_at(src, at);
                    store_real(dst, at, exclusive ? before : sum);
                } else {
                    whole += static_cast<std::uint64_t>(stored_at(src, at));
                    store_integer(dst, at, wrap_integer(dst.dtype, static_cast<std::int64_t>(exclusive ? whole_before : whole)));
                }
            }
        }
    }
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
