// Reduce over floats, along any axes of any layout.

#include <algorithm>
#include <array>
#include <limits>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

enum class ReduceMode : std::uint8_t { sum = 0, sum_sqr, product, min, max, mean }; // the schema's numbers

/// Neighbouring axes of the same kind, outermost first in stored order.
struct ReduceAxis {
    std::size_t size = 1;
    bool reduced = false;
};

// Sums are made of short float sums along a run, which vector units do well, and added up in double.

MGS_VECTOR_CODE double run_sum(const float* x, std::size_t count) {
    constexpr std::size_t lanes = 32;
    constexpr std::size_t block = 1024; // floats are added up over 32 terms at most
    double total = 0;
    std::size_t i = 0;
    while (i + lanes <= count) {
        std::array<float, lanes> sums{};
        const std::size_t end = std::min(count / lanes * lanes, i + block);
        for (; i < end; i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) sums[k] += x[i + k];
        for (std::size_t k = 0; k < lanes; ++k) total += static_cast<double>(sums[k]);
    }
    for (; i < count; ++i) total += static_cast<double>(x[i]);
    return total;
}

MGS_VECTOR_CODE double run_sum_sqr(const float* x, std::size_t count) {
    constexpr std::size_t lanes = 32;
    constexpr std::size_t block = 1024;
    double total = 0;
    std::size_t i = 0;
    while (i + lanes <= count) {
        std::array<float, lanes> sums{};
        const std::size_t end = std::min(count / lanes * lanes, i + block);
        for (; i < end; i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) sums[k] += x[i + k] * x[i + k];
        for (std::size_t k = 0; k < lanes; ++k) total += static_cast<double>(sums[k]);
    }
    for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return total;
}

/// NaN propagates.
template <bool largest>
MGS_INLINE float better(float best, float x) {
    return best != best ? best : (x != x ? x : (largest ? (x > best ? x : best) : (x < best ? x : best)));
}

template <bool largest>
MGS_INLINE float run_extreme_body(const float* x, std::size_t count, float start) {
    constexpr std::size_t lanes = 32;
    std::array<float, lanes> best;
    best.fill(start);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t k = 0; k < lanes; ++k) best[k] = better<largest>(best[k], x[i + k]);
    float result = start;
    for (std::size_t k = 0; k < lanes; ++k) result = better<largest>(result, best[k]);
    for (; i < count; ++i) result = better<largest>(result, x[i]);
    return result;
}
MGS_VECTOR_CODE float run_max(const float* x, std::size_t count, float start) { return run_extreme_body<true>(x, count, start); }
MGS_VECTOR_CODE float run_min(const float* x, std::size_t count, float start) { return run_extreme_body<false>(x, count, start); }

/// One accumulator per element: `sums[i]` takes `x[i]`.
MGS_VECTOR_CODE void fold_row(ReduceMode mode, const float* x, double* sums, std::size_t count) {
    switch (mode) {
    case ReduceMode::sum:
    case ReduceMode::mean:
        for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[i]);
        break;
    case ReduceMode::sum_sqr:
        for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        break;
    case ReduceMode::product:
        for (std::size_t i = 0; i < count; ++i) sums[i] *= static_cast<double>(x[i]);
        break;
    case ReduceMode::max:
        for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<double>(better<true>(static_cast<float>(sums[i]), x[i]));
        break;
    case ReduceMode::min:
        for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<double>(better<false>(static_cast<float>(sums[i]), x[i]));
        break;
    }
}

double fold_run(ReduceMode mode, const float* x, std::size_t count, double start) {
    switch (mode) {
    case ReduceMode::sum:
    case ReduceMode::mean: return start + run_sum(x, count);
    case ReduceMode::sum_sqr: return start + run_sum_sqr(x, count);
    case ReduceMode::max: return static_cast<double>(run_max(x, count, static_cast<float>(start)));
    case ReduceMode::min: return static_cast<double>(run_min(x, count, static_cast<float>(start)));
    case ReduceMode::product: break;
    }
    for (std::size_t i = 0; i < count; ++i) start *= static_cast<double>(x[i]);
    return start;
}

double start_value(ReduceMode mode) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (mode) {
    case ReduceMode::product: return 1;
    case ReduceMode::min: return infinity;
    case ReduceMode::max: return -infinity;
    default: return 0;
    }
}

class ReduceKernel final : public CpuKernel {
public:
    ReduceKernel(const CpuThreads& threads, ReduceMode mode, std::vector<ReduceAxis> axes)
        : threads_(threads), mode_(mode), axes_(std::move(axes)) {
        if (axes_.empty()) axes_.push_back({1, true});
        // Pieces for threads: along the outermost axis when it is kept.
        for (const ReduceAxis& axis : axes_) (axis.reduced ? folded_ : results_) *= axis.size;
    }

    std::size_t scratch_bytes() const { return results_ * sizeof(double); }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override {
        const auto* x = reinterpret_cast<const float*>(inputs[0]);
        auto* sums = reinterpret_cast<double*>(scratch);
        auto* out = reinterpret_cast<float*>(outputs[0]);
        std::fill_n(sums, results_, start_value(mode_));
        if (results_ * folded_ > 0) {
            if (!axes_.front().reduced) {
                const std::size_t in_step = results_ * folded_ / axes_.front().size;
                const std::size_t out_step = results_ / axes_.front().size;
                const std::size_t grain = std::max<std::size_t>(1, 32768 / std::max<std::size_t>(in_step, 1));
                if (axes_.size() > 1) {
                    threads_.parallel_for(axes_.front().size, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
                        for (std::size_t i = begin; i < end; ++i) fold(1, x + i * in_step, sums + i * out_step);
                    });
                } else {
                    fold_row(mode_, x, sums, results_);
                }
            } else {
                fold(0, x, sums);
            }
        }
        const double factor = mode_ == ReduceMode::mean ? static_cast<double>(folded_) : 1;
        for (std::size_t i = 0; i < results_; ++i) out[i] = static_cast<float>(sums[i] / factor);
        return {};
    }

private:
    /// Folds the axes from `depth` on; returns through the pointers how far they moved.
    void fold(std::size_t depth, const float* x, double* sums) const {
        const ReduceAxis& axis = axes_[depth];
        if (depth + 1 == axes_.size()) {
            if (axis.reduced)
                *sums = fold_run(mode_, x, axis.size, *sums);
            else
                fold_row(mode_, x, sums, axis.size);
            return;
        }
        std::size_t in_step = 1;
        std::size_t out_step = axis.reduced ? 0 : 1;
        for (std::size_t i = depth + 1; i < axes_.size(); ++i) {
            in_step *= axes_[i].size;
            if (!axes_[i].reduced) out_step *= axes_[i].size;
        }
        for (std::size_t i = 0; i < axis.size; ++i) fold(depth + 1, x + i * in_step, sums + i * out_step);
    }

    const CpuThreads threads_;
    ReduceMode mode_;
    std::vector<ReduceAxis> axes_; ///< of alternating kind
    std::size_t results_ = 1;
    std::size_t folded_ = 1;
};

} // namespace

std::optional<CpuKernelChoice> build_reduce(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (opr.type != "Reduce" || view.group.oprs.size() != 1) return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& dst = view.outputs[0];
    const std::int64_t mode = opr.param().integer("mode");
    if (src.dtype.id != DTypeId::float32 || dst.dtype.id != DTypeId::float32 || mode < 0 || mode > 5) return std::nullopt;
    if (src.shape.elements() == 0 || opr.param().enum_name("data_type") == "FLOAT_IO16xC32") return std::nullopt;
    // The result has the source's axes with size 1 where it is reduced, or is one element, or (target shape) has fewer axes.
    const std::optional<Shape> joined = broadcast(src.shape, dst.shape);
    if (!joined || *joined != src.shape) return std::nullopt;
    const std::size_t skipped = src.shape.ndim() - dst.shape.ndim();
    const Layout from = src.layout.is_blocked() ? Layout::plain(src.shape.ndim()) : src.layout;
    std::vector<ReduceAxis> axes;
    for (const std::uint8_t axis : from.order()) {
        const std::int64_t size = src.shape[axis];
        if (size == 1) continue;
        const bool reduced = axis < skipped || dst.shape[axis - skipped] == 1;
        if (!axes.empty() && axes.back().reduced == reduced)
            axes.back().size *= static_cast<std::size_t>(size);
        else
            axes.push_back({static_cast<std::size_t>(size), reduced});
    }
    CpuKernelChoice choice;
    choice.input_layouts.assign(view.inputs.size(), from);
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_unused[0] = false;
    // Kept axes stay in the source's stored order.
    std::vector<std::uint8_t> order;
    for (const std::uint8_t axis : from.order())
        if (axis >= skipped) order.push_back(static_cast<std::uint8_t>(axis - skipped));
    choice.output_layouts = {Layout::ordered(order)};
    auto kernel = std::make_unique<ReduceKernel>(context.threads, static_cast<ReduceMode>(mode), std::move(axes));
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
