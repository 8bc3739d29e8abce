// Softmax, LRN and their gradients.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

/// Lines along one axis: element j of line (o, i) lies at (o * length + j) * inner + i.
struct Lines {
    std::size_t outer = 1;
    std::size_t length = 1;
    std::size_t inner = 1;
};

Lines lines(const Shape& shape, std::size_t axis) {
    Lines l;
    for (std::size_t a = 0; a < shape.ndim(); ++a) (a < axis ? l.outer : a == axis ? l.length : l.inner) *= static_cast<std::size_t>(shape[a]);
    return l;
}

template <class Body>
void for_each_line(const Lines& l, Body body) {
    for (std::size_t o = 0; o < l.outer; ++o)
        for (std::size_t i = 0; i < l.inner; ++i) body([&l, o, i](std::size_t j) { return (o * l.length + j) * l.inner + i; });
}

Expected<Lines> softmax_lines(const Param& param, const Shape& shape) {
    const auto axis = resolve_axis(param.integer("axis"), shape.ndim());
    if (!axis)
        return fail(ErrorCode::invalid_argument, "Softmax along axis " + std::to_string(param.integer("axis")) + " does not fit the shape " + shape.text() + ".");
    return lines(shape, *axis);
}

Expected<void> softmax(const KernelArgs& args) {
    MGS_ASSIGN(const Lines l, softmax_lines(args.opr.param(), args.inputs[0].shape));
    auto x = to_numbers(args.inputs[0]);
    for_each_line(l, [&](auto at) {
        double top = -std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < l.length; ++j) top = std::max(top, x[at(j)]);
        double sum = 0;
        for (std::size_t j = 0; j < l.length; ++j) sum += x[at(j)] = std::exp(x[at(j)] - top);
        for (std::size_t j = 0; j < l.length; ++j) x[at(j)] /= sum;
    });
    from_numbers(x, args.outputs[0]);
    return {};
}

// dx = y (dy - sum y dy)
Expected<void> softmax_backward(const KernelArgs& args) {
    MGS_ASSIGN(const Lines l, softmax_lines(args.opr.param(), args.inputs[0].shape));
    if (args.inputs[1].shape != args.inputs[0].shape)
        return fail(ErrorCode::invalid_argument, "The difference " + args.inputs[1].shape.text() + " does not have the shape " +
                                                     args.inputs[0].shape.text() + " of the softmax.");
    const auto y = to_numbers(args.inputs[0]);
    auto dx = to_numbers(args.inputs[1]);
    for_each_line(l, [&](auto at) {
        double sum = 0;
        for (std::size_t j = 0; j < l.length; ++j) sum += y[at(j)] * dx[at(j)];
        for (std::size_t j = 0; j < l.length; ++j) dx[at(j)] = y[at(j)] * (dx[at(j)] - sum);
    });
    from_numbers(dx, args.outputs[0]);
    return {};
}

struct Response {
    Lines channels;
    std::size_t half = 0; ///< channels on each side
    double k = 0;
    double alpha = 0;
    double beta = 0;

    /// Channels around c, cut at the ends.
    [[nodiscard]] std::size_t first(std::size_t c) const { return c < half ? 0 : c - half; }
    [[nodiscard]] std::size_t last(std::size_t c) const { return std::min(c + half + 1, channels.length); }
};

Expected<Response> response(const Param& param, const Shape& src) {
    if (src.ndim() < 2) return fail(ErrorCode::invalid_argument, "LRN needs a channel axis, which the shape " + src.text() + " lacks.");
    return Response{lines(src, 1), static_cast<std::size_t>(param.integer("n") / 2), param.real("k"), param.real("alpha"), param.real("beta")};
}

// y = x / (k + alpha sum x²)^beta, the sum over the channels around.
Expected<void> lrn(const KernelArgs& args) {
    MGS_ASSIGN(const Response r, response(args.opr.param(), args.inputs[0].shape));
    const auto x = to_numbers(args.inputs[0]);
    std::vector<double> y(x.size());
    for_each_line(r.channels, [&](auto at) {
        for (std::size_t c = 0; c < r.channels.length; ++c) {
            double squares = 0;
            for (std::size_t j = r.first(c); j < r.last(c); ++j) squares += x[at(j)] * x[at(j)];
            y[at(c)] = x[at(c)] / std::pow(r.k + r.alpha * squares, r.beta);
        }
    });
    from_numbers(y, args.outputs[0]);
    return {};
}

// With S = k + alpha sum x²: dx_c = dy_c S_c^-beta - 2 alpha beta x_c sum over the channels j around c of dy_j x_j S_j^(-beta-1).
Expected<void> lrn_backward(const KernelArgs& args) {
    MGS_ASSIGN(const Response r, response(args.opr.param(), args.inputs[0].shape));
    if (args.inputs[2].shape != args.inputs[0].shape)
        return fail(ErrorCode::invalid_argument, "The difference " + args.inputs[2].shape.text() + " does not have the shape " +
                                                     args.inputs[0].shape.text() + " of the source.");
    const auto x = to_numbers(args.inputs[0]);
    const auto dy = to_numbers(args.inputs[2]);
    std::vector<double> dx(x.size());
    std::vector<double> s(r.channels.length);
    for_each_line(r.channels, [&](auto at) {
        for (std::size_t c = 0; c < r.channels.length; ++c) {
            double squares = 0;
            for (std::size_t j = r.first(c); j < r.last(c); ++j) squares += x[at(j)] * x[at(j)];
            s[c] = r.k + r.alpha * squares;
        }
        for (std::size_t c = 0; c < r.channels.length; ++c) {
            double sum = 0;
            for (std::size_t j = r.first(c); j < r.last(c); ++j) sum += dy[at(j)] * x[at(j)] * std::pow(s[j], -r.beta - 1);
            dx[at(c)] = dy[at(c)] * std::pow(s[c], -r.beta) - 2 * r.alpha * r.beta * x[at(c)] * sum;
        }
    });
    from_numbers(dx, args.outputs[0]);
    return {};
}

} // namespace

void add_softmax_kernels(ReferenceKernels& kernels) {
    kernels["Softmax"] = {softmax};
    kernels["SoftmaxBackward"] = {softmax_backward};
    kernels["LRN"] = {lrn};
    kernels["LRNBackward"] = {lrn_backward};
}

} // namespace megascope
