// BatchNorm in training and inference form, and its gradient.

#include <array>
#include <cmath>
#include <string>

#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

/// Which statistic each element of x belongs to, given the shape of the params (size 1 on the axes that are averaged).
Expected<std::vector<std::size_t>> statistic_of_elements(const Shape& x, const Shape& param) {
    bool fits = param.ndim() == x.ndim();
    for (std::size_t axis = 0; fits && axis < x.ndim(); ++axis) fits = param[axis] == 1 || param[axis] == x[axis];
    if (!fits)
        return fail(ErrorCode::invalid_argument, "BatchNorm params of shape " + param.text() + " do not fit data of shape " + x.text() + ".");
    const auto strides = param.strides();
    std::array<std::int64_t, Shape::max_ndim> at{};
    std::vector<std::size_t> result(x.elements());
    std::int64_t place = 0;
    for (std::size_t& statistic : result) {
        statistic = static_cast<std::size_t>(place);
        for (std::size_t axis = x.ndim(); axis-- > 0;) {
            const std::int64_t step = param[axis] == 1 ? 0 : strides[axis];
            place += step;
            if (++at[axis] < x[axis]) break;
            place -= step * x[axis];
            at[axis] = 0;
        }
    }
    return result;
}

struct Statistics {
    std::vector<double> mean;
    std::vector<double> variance; ///< of the whole population: divided by the count
    double count = 0;             ///< elements per statistic
};

Statistics measure(const std::vector<double>& x, const std::vector<std::size_t>& statistic, std::size_t statistics) {
    Statistics s{std::vector<double>(statistics), std::vector<double>(statistics),
                 statistics ? static_cast<double>(x.size()) / static_cast<double>(statistics) : 0};
    for (std::size_t i = 0; i < x.size(); ++i) s.mean[statistic[i]] += x[i];
    for (double& m : s.mean) m /= s.count;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double d = x[i] - s.mean[statistic[i]];
        s.variance[statistic[i]] += d * d;
    }
    for (double& v : s.variance) v /= s.count;
    return s;
}

Expected<void> check_same_size(const TensorRef& tensor, std::size_t count) {
    if (tensor.elements() == count) return {};
    return fail(ErrorCode::invalid_argument, "A BatchNorm operand of shape " + tensor.shape.text() + " should have " + std::to_string(count) + " elements.");
}

// Outputs: running mean, running variance (both only with six outputs), saved mean, saved inverse deviation, reserve, y.
Expected<void> batch_norm(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& x = args.inputs[0];
    const std::size_t count = args.inputs[1].elements();
    MGS_ASSIGN(const auto statistic, statistic_of_elements(x.shape, args.inputs[1].shape));
    for (std::size_t i = 2; i < args.inputs.size(); ++i) MGS_TRY(check_same_size(args.inputs[i], count));
    const bool inference = param.enum_name("fwd_mode") == "INFERENCE";
    if (inference && args.inputs.size() < 5)
        return fail(ErrorCode::invalid_argument, "BatchNorm in inference mode needs the running mean and variance as inputs.");

    const auto values = to_numbers(x);
    const auto scale = to_numbers(args.inputs[1]);
    const auto bias = to_numbers(args.inputs[2]);
    Statistics s;
    if (inference)
        s = {to_numbers(args.inputs[3]), to_numbers(args.inputs[4]), 0};
    else
        s = measure(values, statistic, count);

    const double eps = param.real("epsilon");
    std::vector<double> inverse(count);
    for (std::size_t i = 0; i < count; ++i) inverse[i] = 1 / std::sqrt(s.variance[i] + eps);
    std::vector<double> y(values.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t k = statistic[i];
        y[i] = scale[k] * (values[i] - s.mean[k]) * inverse[k] + bias[k];
    }

    const std::size_t first = args.outputs.size() == 6 ? 2 : 0; // of the outputs that always exist
    if (first == 2) {
        MGS_TRY(check_same_size(args.outputs[0], count));
        MGS_TRY(check_same_size(args.outputs[1], count));
        auto mean = to_numbers(args.inputs[3]);
        auto variance = to_numbers(args.inputs[4]);
        const double a = param.real("avg_factor");
        for (std::size_t i = 0; i < count; ++i) {
            mean[i] = (1 - a) * mean[i] + a * s.mean[i];
            variance[i] = (1 - a) * variance[i] + a * s.variance[i] * s.count / (s.count - 1);
        }
        from_numbers(mean, args.outputs[0]);
        from_numbers(variance, args.outputs[1]);
    }
    for (std::size_t k = 0; k < 2; ++k) {
        const MutTensorRef& saved = args.outputs[first + k];
        if (saved.elements() == 0) continue;
        MGS_TRY(check_same_size(saved, count));
        from_numbers(k == 0 ? s.mean : inverse, saved);
    }
    clear(args.outputs[first + 2]);
    from_numbers(y, args.outputs[first + 3]);
    return {};
}

// With x^ = (x - mean) * inverse over n elements per statistic: dscale = sum dy x^; dbias = sum dy;
// dx = scale inverse / n * (n dy - dbias - x^ dscale).
Expected<void> batch_norm_backward(const KernelArgs& args) {
    const TensorRef& x = args.inputs[0];
    const std::size_t count = args.inputs[4].elements();
    MGS_ASSIGN(const auto statistic, statistic_of_elements(x.shape, args.inputs[4].shape));
    MGS_TRY(check_same_size(args.inputs[1], x.elements()));
    for (const TensorRef& t : {args.inputs[2], args.inputs[3], TensorRef(args.outputs[0]), TensorRef(args.outputs[1])}) MGS_TRY(check_same_size(t, count));
    const auto values = to_numbers(x);
    const auto dy = to_numbers(args.inputs[1]);
    const auto mean = to_numbers(args.inputs[2]);
    const auto inverse = to_numbers(args.inputs[3]);
    const auto scale = to_numbers(args.inputs[4]);
    std::vector<double> dscale(count);
    std::vector<double> dbias(count);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t k = statistic[i];
        dscale[k] += dy[i] * (values[i] - mean[k]) * inverse[k];
        dbias[k] += dy[i];
    }
    const double n = count ? static_cast<double>(values.size()) / static_cast<double>(count) : 1;
    std::vector<double> dx(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t k = statistic[i];
        const double normal = (values[i] - mean[k]) * inverse[k];
        dx[i] = scale[k] * inverse[k] / n * (n * dy[i] - dbias[k] - normal * dscale[k]);
    }
    from_numbers(dscale, args.outputs[0]);
    from_numbers(dbias, args.outputs[1]);
    from_numbers(dx, args.outputs[2]);
    return {};
}

} // namespace

void add_batch_norm_kernels(ReferenceKernels& kernels) {
    kernels["BatchNorm"] = {batch_norm};
    kernels["BatchNormBackward"] = {batch_norm_backward};
}

} // namespace megascope
