#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// The distributions on top of a standardised generator, written out so that a seed gives the same numbers everywhere.
/// They follow the library's distributions, not its sequences, which depend on the device.
class Random {
public:
    explicit Random(std::uint64_t seed) : bits_(seed) {}

    /// (0, 1] in steps of 2^-24, which float32 and float16 hold without becoming 0.
    double uniform() { return static_cast<double>((bits_() >> 40) + 1) * 0x1p-24; }

    /// Box and Muller.
    double gaussian() {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        const double radius = std::sqrt(-2 * std::log(fine()));
        const double angle = 2 * std::numbers::pi * fine();
        spare_ = radius * std::sin(angle);
        has_spare_ = true;
        return radius * std::cos(angle);
    }

    /// Marsaglia and Tsang; a shape below 1 is raised by one and corrected by a power of a uniform number.
    double gamma(double shape) {
        if (!(shape > 0)) return std::numeric_limits<double>::quiet_NaN();
        if (shape < 1) return gamma(shape + 1) * std::pow(fine(), 1 / shape);
        const double d = shape - 1.0 / 3;
        const double c = 1 / std::sqrt(9 * d);
        for (;;) {
            const double x = gaussian();
            const double v = std::pow(1 + c * x, 3);
            if (v <= 0) continue;
            if (std::log(fine()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
        }
    }

    double exponential() { return -std::log(fine()); }

    /// Arrivals within a time of `rate` for small rates; otherwise Hörmann's transformed rejection (PTRS).
    double poisson(double rate) {
        if (!(rate >= 0)) return std::numeric_limits<double>::quiet_NaN();
        if (rate < 30) {
            double time = exponential();
            double count = 0;
            for (; time <= rate; time += exponential()) ++count;
            return count;
        }
        const double b = 0.931 + 2.53 * std::sqrt(rate);
        const double a = -0.059 + 0.02483 * b;
        const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        const double v_r = 0.9277 - 3.6224 / (b - 2);
        for (;;) {
            const double u = fine() - 0.5;
            const double v = fine();
            const double us = 0.5 - std::abs(u);
            const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
            if (us >= 0.07 && v <= v_r) return k;
            if (k < 0 || (us < 0.013 && v > us)) continue;
            if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= -rate + k * std::log(rate) - std::lgamma(k + 1)) return k;
        }
    }

    std::vector<std::int64_t> permutation(std::size_t n) {
        std::vector<std::int64_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
        return order;
    }

private:
    /// (0, 1] with 53 bits.
    double fine() { return static_cast<double>((bits_() >> 11) + 1) * 0x1p-53; }
    /// 0 … n-1, all equally likely.
    std::size_t below(std::size_t n) {
        const std::uint64_t limit = UINT64_MAX - UINT64_MAX % n;
        for (;;)
            if (const std::uint64_t r = bits_(); r < limit) return static_cast<std::size_t>(r % n);
    }

    std::mt19937_64 bits_;
    double spare_ = 0;
    bool has_spare_ = false;
};

Random generator(const KernelArgs& args) { return Random(args.opr.param().u64("seed")); }

/// Fills output 0 with f(i).
template <class F>
Expected<void> fill(const KernelArgs& args, F f) {
    const MutTensorRef& out = args.outputs[0];
    for (std::size_t i = 0; i < out.elements(); ++i) store_real(out, i, f(i));
    return {};
}
Expected<void> need_same_size(const KernelArgs& args) {
    for (const TensorRef& input : args.inputs)
        if (input.elements() != args.outputs[0].elements())
            return fail(ErrorCode::invalid_argument, args.opr.type + ": the inputs must have one shape.");
    return {};
}

Expected<void> uniform(const KernelArgs& args) {
    Random random = generator(args);
    return fill(args, [&](std::size_t) { return random.uniform(); });
}
Expected<void> gaussian(const KernelArgs& args) {
    Random random = generator(args);
    const double mean = args.opr.param().real("mean");
    const double std = args.opr.param().real("std");
    return fill(args, [&](std::size_t) { return mean + std * random.gaussian(); });
}
Expected<void> gamma(const KernelArgs& args) {
    MGS_TRY(need_same_size(args));
    Random random = generator(args);
    return fill(args, [&](std::size_t i) { return random.gamma(real_at(args.inputs[0], i)) * real_at(args.inputs[1], i); });
}
Expected<void> beta(const KernelArgs& args) {
    MGS_TRY(need_same_size(args));
    Random random = generator(args);
    return fill(args, [&](std::size_t i) {
        const double a = random.gamma(real_at(args.inputs[0], i));
        const double b = random.gamma(real_at(args.inputs[1], i));
        return a / (a + b);
    });
}
Expected<void> poisson(const KernelArgs& args) {
    MGS_TRY(need_same_size(args));
    Random random = generator(args);
    return fill(args, [&](std::size_t i) { return random.poisson(real_at(args.inputs[0], i)); });
}
Expected<void> exponential(const KernelArgs& args) {
    MGS_TRY(need_same_size(args));
    Random random = generator(args);
    return fill(args, [&](std::size_t i) { return random.exponential() / real_at(args.inputs[0], i); });
}

Expected<void> permutation(const KernelArgs& args) {
    const auto order = generator(args).permutation(args.outputs[0].elements());
    return fill(args, [&](std::size_t i) { return static_cast<double>(order[i]); });
}

/// Positions of the rows `order` of axis 0.
std::vector<std::int64_t> row_positions(const std::vector<std::int64_t>& order, std::size_t elements) {
    const std::size_t run = order.empty() ? 0 : elements / order.size();
    std::vector<std::int64_t> positions;
    positions.reserve(elements);
    for (const std::int64_t row : order)
        for (std::size_t i = 0; i < run; ++i) positions.push_back(row * static_cast<std::int64_t>(run) + static_cast<std::int64_t>(i));
    return positions;
}

Expected<void> shuffle(const KernelArgs& args) {
    const TensorRef& data = args.inputs[0];
    const auto order = generator(args).permutation(data.shape.ndim() ? static_cast<std::size_t>(data.shape[0]) : 1);
    gather_elements(data, row_positions(order, data.elements()), args.outputs[0]);
    from_stored(order, args.outputs[1]);
    return {};
}

/// Inputs: gradient of the shuffled data, the index output, the data (for its shape).
Expected<void> shuffle_backward(const KernelArgs& args) {
    const std::vector<std::int64_t> order = to_stored(args.inputs[1]);
    const auto rows = static_cast<std::int64_t>(order.size());
    for (const std::int64_t row : order)
        if (row < 0 || row >= rows)
            return fail(ErrorCode::run_failed, "Index " + std::to_string(row) + " is outside axis 0 of size " + std::to_string(rows) + ".");
    if (args.inputs[0].elements() != args.outputs[0].elements() || args.inputs[0].dtype.id != args.outputs[0].dtype.id)
        return fail(ErrorCode::invalid_argument, "ShuffleRNGBackward: the gradient does not fit.");
    scatter_elements(args.inputs[0], row_positions(order, args.outputs[0].elements()), args.outputs[0]);
    return {};
}

/// Each row of the last axis holds weights; samples are category numbers. Without replacement a chosen category is out.
Expected<void> multinomial(const KernelArgs& args) {
    const TensorRef& probs = args.inputs[0];
    const MutTensorRef& out = args.outputs[0];
    if (probs.shape.ndim() == 0 || out.shape.ndim() == 0) return fail(ErrorCode::invalid_argument, "MultinomialRNG takes rows of weights.");
    const auto n = static_cast<std::size_t>(probs.shape[probs.shape.ndim() - 1]);
    const auto samples = static_cast<std::size_t>(out.shape[out.shape.ndim() - 1]);
    const bool replacement = args.opr.param().boolean("replacement");
    if (n == 0 || (!replacement && samples > n))
        return fail(ErrorCode::invalid_argument, "MultinomialRNG cannot draw " + std::to_string(samples) + " of " + std::to_string(n) + " categories.");
    Random random = generator(args);
    const std::size_t rows = probs.elements() / n;
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<double> weights(n);
        for (std::size_t i = 0; i < n; ++i) weights[i] = std::max(real_at(probs, r * n + i), 0.0);
        for (std::size_t s = 0; s < samples; ++s) {
            const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
            double left = random.uniform() * total;
            std::size_t choice = 0;
            for (std::size_t i = 0; i < n; ++i) {
                if (weights[i] <= 0) continue;
                choice = i;
                left -= weights[i];
                if (left <= 0) break;
            }
            store_integer(out, r * samples + s, static_cast<std::int64_t>(choice));
            if (!replacement) weights[choice] = 0;
        }
    }
    return {};
}

/// Kept elements grow by 1 / (1 - p), so that the mean stays. The mask holds 1 for kept elements.
Expected<void> dropout(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const double p = args.opr.param().real("drop_prob");
    const double grow = p < 1 ? 1 / (1 - p) : 0;
    Random random = generator(args);
    const MutTensorRef& mask = args.outputs[1];
    for (std::size_t i = 0; i < src.elements(); ++i) {
        const bool kept = random.uniform() > p;
        store_real(args.outputs[0], i, kept ? real_at(src, i) * grow : 0);
        if (i < mask.elements()) store_integer(mask, i, kept);
    }
    return {};
}
Expected<void> dropout_backward(const KernelArgs& args) {
    const TensorRef& diff = args.inputs[0];
    const TensorRef& mask = args.inputs[1];
    const double p = args.opr.param().real("drop_prob");
    const double grow = p < 1 ? 1 / (1 - p) : 0;
    if (mask.elements() < diff.elements()) return fail(ErrorCode::invalid_argument, "DropoutBackward: the mask does not fit.");
    for (std::size_t i = 0; i < diff.elements(); ++i)
        store_real(args.outputs[0], i, stored_at(mask, i) != 0 ? real_at(diff, i) * grow : 0);
    return {};
}

} // namespace

void add_random_kernels(ReferenceKernels& kernels) {
    kernels["UniformRNG"] = {uniform};
    kernels["GaussianRNG"] = {gaussian};
    kernels["GammaRNG"] = {gamma};
    kernels["BetaRNG"] = {beta};
    kernels["PoissonRNG"] = {poisson};
    kernels["ExponentialRNG"] = {exponential};
    kernels["PermutationRNG"] = {permutation};
    kernels["ShuffleRNG"] = {shuffle};
    kernels["ShuffleRNGBackward"] = {shuffle_backward};
    kernels["MultinomialRNG"] = {multinomial};
    kernels["Dropout"] = {dropout};
    kernels["DropoutBackward"] = {dropout_backward};
}

} // namespace megascope
