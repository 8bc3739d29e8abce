// LayerNorm, GeneralNorm, GroupNorm and InstanceNorm with their gradients.
// All four normalise slices of the data: x^ = (x - mean) * rstd, rstd = 1 / sqrt(variance + eps), y = x^ * weight + bias.

#include <cmath>
#include <string>

#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

/// Element `j` of slice (o, i) lies at (o * length + j) * inner + i.
struct Slices {
    Index outer = 1;
    Index length = 1;
    Index inner = 1;
    Index weights = 1;      ///< elements of weight and bias
    Index channel_size = 0; ///< not 0: the weight belongs to channels of so many elements; 0: one weight per element of a slice

    [[nodiscard]] std::size_t at(Index o, Index j, Index i) const { return sz((o * length + j) * inner + i); }
    [[nodiscard]] std::size_t statistic(Index o, Index i) const { return sz(o * inner + i); }
    [[nodiscard]] std::size_t weight(Index o, Index j) const {
        return sz(channel_size ? (o * length + j) / channel_size % weights : j);
    }
};

template <class Body>
void for_each_slice(const Slices& s, Body body) {
    for (Index o = 0; o < s.outer; ++o)
        for (Index i = 0; i < s.inner; ++i) body(o, i);
}

Expected<Slices> layer_slices(const Param& param, const Shape& data) {
    const auto dims = param.u64("normalized_dim");
    if (dims > data.ndim())
        return fail(ErrorCode::invalid_argument, "LayerNorm over " + std::to_string(dims) + " axes does not fit data of shape " + data.text() + ".");
    Slices s;
    for (std::size_t axis = 0; axis < data.ndim(); ++axis) (axis < data.ndim() - dims ? s.outer : s.length) *= data[axis];
    s.weights = s.length;
    return s;
}

Expected<Slices> general_slices(const Param& param, const Shape& data) {
    const auto begin = param.u64("axis_start");
    const auto end = param.u64("axis_end");
    if (begin >= end || end > data.ndim())
        return fail(ErrorCode::invalid_argument, "GeneralNorm over the axes " + std::to_string(begin) + " to " + std::to_string(end) +
                                                     " does not fit data of shape " + data.text() + ".");
    Slices s;
    for (std::size_t axis = 0; axis < data.ndim(); ++axis) (axis < begin ? s.outer : axis < end ? s.length : s.inner) *= data[axis];
    s.weights = s.length;
    return s;
}

Expected<Slices> channel_slices(const Shape& data, Index groups) {
    if (data.ndim() < 2 || groups < 1 || data[1] % groups != 0)
        return fail(ErrorCode::invalid_argument,
                    "Channels of data of shape " + data.text() + " cannot be normalised in " + std::to_string(groups) + " groups.");
    Slices s;
    s.outer = data[0] * groups;
    s.channel_size = 1;
    for (std::size_t axis = 2; axis < data.ndim(); ++axis) s.channel_size *= data[axis];
    s.length = data[1] / groups * s.channel_size;
    s.weights = data[1];
    s.channel_size = std::max<Index>(s.channel_size, 1); // an empty channel has no elements to weigh
    return s;
}

Expected<Slices> group_slices(const Param& param, const Shape& data) {
    if (param.enum_name("format") != "NCHW")
        return fail(ErrorCode::unsupported, "GroupNorm is defined for format NCHW only, not " + param.enum_name("format") + ".");
    return channel_slices(data, param.integer("group"));
}
Expected<Slices> instance_slices(const Param& param, const Shape& data) {
    if (param.enum_name("format") != "NCHW")
        return fail(ErrorCode::unsupported, "InstanceNorm is defined for format NCHW only, not " + param.enum_name("format") + ".");
    return channel_slices(data, data.ndim() > 1 ? data[1] : 1);
}

/// What the third output of an operator holds.
enum class Third : std::uint8_t { inverse_deviation, variance };
using FindSlices = Expected<Slices> (*)(const Param& param, const Shape& data);

Expected<void> check_sizes(const Slices& s, const std::string& type, std::size_t given, Index expected, const char* what) {
    if (given == sz(expected)) return {};
    return fail(ErrorCode::invalid_argument, "The " + std::string(what) + " of " + type + " has " + std::to_string(given) +
                                                 " elements where " + std::to_string(expected) + " belong to " +
                                                 std::to_string(s.outer * s.inner) + " slices.");
}

template <FindSlices find, Third third>
Expected<void> forward(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& data = args.inputs[0];
    MGS_ASSIGN(const Slices s, find(param, data.shape));
    const bool affine = args.inputs.size() > 2;
    const auto x = to_numbers(data);
    const auto weight = affine ? to_numbers(args.inputs[1]) : std::vector<double>(sz(s.weights), 1.0);
    const auto bias = affine ? to_numbers(args.inputs[2]) : std::vector<double>(sz(s.weights), 0.0);
    MGS_TRY(check_sizes(s, args.opr.type, weight.size(), s.weights, "weight"));
    MGS_TRY(check_sizes(s, args.opr.type, bias.size(), s.weights, "bias"));
    const double eps = param.real("eps");
    std::vector<double> y(x.size());
    std::vector<double> means(sz(s.outer * s.inner));
    std::vector<double> thirds(means.size());
    for_each_slice(s, [&](Index o, Index i) {
        double sum = 0;
        for (Index j = 0; j < s.length; ++j) sum += x[s.at(o, j, i)];
        const double mean = sum / static_cast<double>(s.length);
        double squares = 0;
        for (Index j = 0; j < s.length; ++j) {
            const double d = x[s.at(o, j, i)] - mean;
            squares += d * d;
        }
        const double variance = squares / static_cast<double>(s.length);
        const double rstd = 1 / std::sqrt(variance + eps);
        for (Index j = 0; j < s.length; ++j) {
            const std::size_t at = s.at(o, j, i);
            y[at] = (x[at] - mean) * rstd * weight[s.weight(o, j)] + bias[s.weight(o, j)];
        }
        means[s.statistic(o, i)] = mean;
        thirds[s.statistic(o, i)] = third == Third::variance ? variance : rstd;
    });
    from_numbers(y, args.outputs[0]);
    for (std::size_t k = 1; k < args.outputs.size() && k < 3; ++k) {
        const auto& statistic = k == 1 ? means : thirds;
        MGS_TRY(check_sizes(s, args.opr.type, args.outputs[k].elements(), static_cast<Index>(statistic.size()), "statistic"));
        from_numbers(statistic, args.outputs[k]);
    }
    return {};
}

// With g = diff * weight, per slice: ddata = rstd (g - mean(g) - x^ mean(g x^)); dweight = sum diff x^; dbias = sum diff.
template <FindSlices find, Third third>
Expected<void> backward(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& data = args.inputs[1];
    MGS_ASSIGN(const Slices s, find(param, data.shape));
    const bool affine = args.inputs.size() > 4;
    const auto diff = to_numbers(args.inputs[0]);
    const auto x = to_numbers(data);
    const auto weight = affine ? to_numbers(args.inputs[2]) : std::vector<double>(sz(s.weights), 1.0);
    const auto means = to_numbers(args.inputs[affine ? 3 : 2]);
    const auto thirds = to_numbers(args.inputs[affine ? 4 : 3]);
    MGS_TRY(check_sizes(s, args.opr.type, diff.size(), static_cast<Index>(x.size()), "difference"));
    MGS_TRY(check_sizes(s, args.opr.type, weight.size(), s.weights, "weight"));
    MGS_TRY(check_sizes(s, args.opr.type, means.size(), s.outer * s.inner, "mean"));
    MGS_TRY(check_sizes(s, args.opr.type, thirds.size(), s.outer * s.inner, "statistic"));
    const double eps = param.real("eps");
    std::vector<double> ddata(x.size());
    std::vector<double> dweight(sz(s.weights));
    std::vector<double> dbias(sz(s.weights));
    for_each_slice(s, [&](Index o, Index i) {
        const double mean = means[s.statistic(o, i)];
        const double stored = thirds[s.statistic(o, i)];
        const double rstd = third == Third::variance ? 1 / std::sqrt(stored + eps) : stored;
        double sum_g = 0;
        double sum_gx = 0;
        for (Index j = 0; j < s.length; ++j) {
            const std::size_t at = s.at(o, j, i);
            const std::size_t w = s.weight(o, j);
            const double normal = (x[at] - mean) * rstd;
            sum_g += diff[at] * weight[w];
            sum_gx += diff[at] * weight[w] * normal;
            dweight[w] += diff[at] * normal;
            dbias[w] += diff[at];
        }
        const auto length = static_cast<double>(s.length);
        for (Index j = 0; j < s.length; ++j) {
            const std::size_t at = s.at(o, j, i);
            const double normal = (x[at] - mean) * rstd;
            ddata[at] = rstd * (diff[at] * weight[s.weight(o, j)] - sum_g / length - normal * sum_gx / length);
        }
    });
    from_numbers(ddata, args.outputs[0]);
    if (args.outputs.size() > 2) {
        MGS_TRY(check_sizes(s, args.opr.type, args.outputs[1].elements(), s.weights, "weight gradient"));
        MGS_TRY(check_sizes(s, args.opr.type, args.outputs[2].elements(), s.weights, "bias gradient"));
        from_numbers(dweight, args.outputs[1]);
        from_numbers(dbias, args.outputs[2]);
    }
    return {};
}

} // namespace

void add_norm_kernels(ReferenceKernels& kernels) {
    kernels["LayerNorm"] = {forward<layer_slices, Third::inverse_deviation>};
    kernels["LayerNormBackward"] = {backward<layer_slices, Third::inverse_deviation>};
    kernels["GeneralNorm"] = {forward<general_slices, Third::inverse_deviation>};
    kernels["GeneralNormBackward"] = {backward<general_slices, Third::inverse_deviation>};
    kernels["GroupNorm"] = {forward<group_slices, Third::variance>};
    kernels["GroupNormBackward"] = {backward<group_slices, Third::variance>};
    kernels["InstanceNorm"] = {forward<instance_slices, Third::variance>};
    kernels["InstanceNormBackward"] = {backward<instance_slices, Third::variance>};
}

} // namespace megascope
