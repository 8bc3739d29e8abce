// Softmax, LayerNorm, GroupNorm and InstanceNorm of floats: rows that are normalised one by one.

#include <algorithm>
#include <array>
#include <cmath>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

constexpr std::size_t lanes = 32;

/// Short float sums side by side, added up in double.
template <class Term>
MGS_INLINE double lane_sum(std::size_t count, Term term) {
    double total = 0;
    std::size_t i = 0;
    while (i + lanes <= count) {
        std::array<float, lanes> sums{};
        const std::size_t end = std::min(count / lanes * lanes, i + 1024);
        for (; i < end; i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) sums[k] += term(i + k);
        for (std::size_t k = 0; k < lanes; ++k) total += static_cast<double>(sums[k]);
    }
    for (; i < count; ++i) total += static_cast<double>(term(i));
    return total;
}

struct Statistics {
    float mean;
    float variance;
};

MGS_VECTOR_CODE Statistics statistics(const float* x, std::size_t count) {
    const double mean = lane_sum(count, [x](std::size_t i) { return x[i]; }) / static_cast<double>(count);
    const auto m = static_cast<float>(mean);
    const double squares = lane_sum(count, [x, m](std::size_t i) { return (x[i] - m) * (x[i] - m); });
    // The mean that was subtracted is a rounded one; its error is taken out again.
    const double off = mean - static_cast<double>(m);
    return {m, static_cast<float>(squares / static_cast<double>(count) - off * off)};
}

MGS_VECTOR_CODE void normalise(const float* x, float* y, std::size_t count, float mean, float factor, const float* weight,
                               const float* bias) {
    if (weight)
        for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
    else
        for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor;
}

MGS_VECTOR_CODE void scale_shift(const float* x, float* y, std::size_t count, float mean, float factor, float weight,
                                 float bias) {
    for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor * weight + bias;
}

/// exp(x - top) into y; returns the sum.
MGS_VECTOR_CODE double exponentials(const float* x, float* y, std::size_t count, float top) {
    for (std::size_t i = 0; i < count; ++i) y[i] = simd::exp(x[i] - top);
    return lane_sum(count, [y](std::size_t i) { return y[i]; });
}

MGS_VECTOR_CODE float largest(const float* x, std::size_t count) {
    std::array<float, lanes> best;
    best.fill(-__builtin_inff());
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t k = 0; k < lanes; ++k) best[k] = x[i + k] > best[k] ? x[i + k] : best[k];
    float top = -__builtin_inff();
    for (std::size_t k = 0; k < lanes; ++k) top = best[k] > top ? best[k] : top;
    for (; i < count; ++i) top = x[i] > top ? x[i] : top;
    return top;
}

MGS_VECTOR_CODE void scale(float* y, std::size_t count, float factor) {
    for (std::size_t i = 0; i < count; ++i) y[i] *= factor;
}

std::size_t rows_per_piece(std::size_t length) { return std::max<std::size_t>(1, 16384 / std::max<std::size_t>(length, 1)); }

class SoftmaxKernel final : public CpuKernel {
public:
    SoftmaxKernel(const CpuThreads& threads, std::size_t rows, std::size_t length)
        : threads_(threads), rows_(rows), length_(length) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        const auto* x = reinterpret_cast<const float*>(inputs[0]);
        auto* y = reinterpret_cast<float*>(outputs[0]);
        threads_.parallel_for(rows_, rows_per_piece(length_), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t r = begin; r < end; ++r) {
                const double sum = exponentials(x + r * length_, y + r * length_, length_, largest(x + r * length_, length_));
                scale(y + r * length_, length_, static_cast<float>(1 / sum));
            }
        });
        return {};
    }

private:
    const CpuThreads threads_;
    std::size_t rows_;
    std::size_t length_;
};

/// Rows of `length` elements; with `channel_size` the weights belong to runs of so many elements, else to single elements.
struct NormRows {
    std::size_t rows = 1;
    std::size_t length = 1;
    std::size_t channel_size = 0;
    std::size_t channels = 0; ///< with channel_size: weights repeat after so many channels
    bool third_is_variance = false;
    float epsilon = 0;
};

class NormKernel final : public CpuKernel {
public:
    NormKernel(const CpuThreads& threads, const NormRows& rows) : threads_(threads), rows_(rows) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        const auto* x = reinterpret_cast<const float*>(inputs[0]);
        const auto* weight = inputs.size() > 2 ? reinterpret_cast<const float*>(inputs[1]) : nullptr;
        const auto* bias = inputs.size() > 2 ? reinterpret_cast<const float*>(inputs[2]) : nullptr;
        threads_.parallel_for(rows_.rows, rows_per_piece(rows_.length), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t r = begin; r < end; ++r) row(r, x, weight, bias, outputs);
        });
        return {};
    }

private:
    void row(std::size_t r, const float* x, const float* weight, const float* bias, std::span<std::byte* const> outputs) const {
        const float* from = x + r * rows_.length;
        float* to = reinterpret_cast<float*>(outputs[0]) + r * rows_.length;
        const Statistics s = statistics(from, rows_.length);
        const float factor = 1.0F / std::sqrt(s.variance + rows_.epsilon);
        if (rows_.channel_size == 0 || !weight) {
            normalise(from, to, rows_.length, s.mean, factor, weight, bias);
        } else {
            for (std::size_t at = 0; at < rows_.length; at += rows_.channel_size) {
                const std::size_t c = (r * rows_.length + at) / rows_.channel_size % rows_.channels;
                scale_shift(from + at, to + at, rows_.channel_size, s.mean, factor, weight[c], bias[c]);
            }
        }
        if (outputs.size() > 1) reinterpret_cast<float*>(outputs[1])[r] = s.mean;
        if (outputs.size() > 2) reinterpret_cast<float*>(outputs[2])[r] = rows_.third_is_variance ? s.variance : factor;
    }

    const CpuThreads threads_;
    NormRows rows_;
};

bool all_float(std::span<const CpuValueInfo> values) {
    return std::ranges::all_of(values, [](const CpuValueInfo& v) { return v.dtype.id == DTypeId::float32; });
}

std::optional<NormRows> norm_rows(const Opr& opr, const Shape& data) {
    NormRows rows;
    rows.epsilon = static_cast<float>(opr.param().real("eps"));
    if (opr.type == "LayerNorm") {
        const std::uint64_t dims = opr.param().u64("normalized_dim");
        if (dims > data.ndim()) return std::nullopt;
        for (std::size_t i = 0; i < data.ndim(); ++i)
            (i < data.ndim() - dims ? rows.rows : rows.length) *= static_cast<std::size_t>(data[i]);
        return rows;
    }
    if (data.ndim() < 3 || opr.param().enum_name("format") != "NCHW") return std::nullopt;
    const std::int64_t groups = opr.type == "InstanceNorm" ? data[1] : opr.param().integer("group");
    if (groups < 1 || data[1] % groups != 0) return std::nullopt;
    rows.channel_size = 1;
    for (std::size_t i = 2; i < data.ndim(); ++i) rows.channel_size *= static_cast<std::size_t>(data[i]);
    rows.channels = static_cast<std::size_t>(data[1]);
    rows.rows = static_cast<std::size_t>(data[0] * groups);
    rows.length = static_cast<std::size_t>(data[1] / groups) * rows.channel_size;
    rows.third_is_variance = true;
    return rows;
}

} // namespace

std::optional<CpuKernelChoice> build_norm(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    const bool softmax = opr.type == "Softmax";
    if (view.group.oprs.size() != 1 ||
        (!softmax && opr.type != "LayerNorm" && opr.type != "GroupNorm" && opr.type != "InstanceNorm"))
        return std::nullopt;
    if (!all_float(view.inputs) || !all_float(view.outputs) || view.inputs[0].shape.elements() == 0) return std::nullopt;
    const Shape& shape = view.inputs[0].shape;
    CpuKernelChoice choice;
    choice.name = "vector loop";
    if (softmax) {
        const std::optional<std::size_t> axis = resolve_axis(opr.param().integer("axis"), shape.ndim());
        if (!axis) return std::nullopt;
        // The axis innermost, the others as they are.
        std::vector<std::uint8_t> order;
        const Layout now = view.inputs[0].layout.is_blocked() ? Layout::plain(shape.ndim()) : view.inputs[0].layout;
        for (const std::uint8_t a : now.order())
            if (a != *axis) order.push_back(a);
        order.push_back(static_cast<std::uint8_t>(*axis));
        choice.input_layouts = {Layout::ordered(order)};
        choice.output_layouts = choice.input_layouts;
        if (view.inputs[0].dies) choice.in_place_input = 0;
        const auto length = static_cast<std::size_t>(shape[*axis]);
        choice.kernel = std::make_unique<SoftmaxKernel>(context.threads, shape.elements() / length, length);
        return choice;
    }
    const std::optional<NormRows> rows = norm_rows(opr, shape);
    if (!rows || rows->length == 0) return std::nullopt;
    const std::size_t weights = rows->channel_size > 0 ? rows->channels : rows->length;
    if (view.inputs.size() != 1 && view.inputs.size() != 3) return std::nullopt;
    for (std::size_t i = 1; i < view.inputs.size(); ++i)
        if (view.inputs[i].shape.elements() != weights) return std::nullopt;
    for (std::size_t i = 1; i < view.outputs.size(); ++i)
        if (view.outputs[i].shape.elements() != rows->rows) return std::nullopt;
    for (const CpuValueInfo& input : view.inputs) choice.input_layouts.push_back(Layout::plain(input.shape.ndim()));
    for (const CpuValueInfo& output : view.outputs) choice.output_layouts.push_back(Layout::plain(output.shape.ndim()));
    choice.kernel = std::make_unique<NormKernel>(context.threads, *rows);
    return choice;
}

} // namespace megascope
