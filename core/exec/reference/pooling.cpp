// Pooling and AdaptivePooling in all formats, forward and backward.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

using Index = std::int64_t;

enum class Mode : std::uint8_t { max = 0, average = 1, average_exclude_padding = 2 };

struct Window {
    Index size = 1;
    Index stride = 1;
    Index pad = 0;
};

struct Pool {
    Mode mode = Mode::max;
    std::string_view layout;
    Window height;
    Window width;
    Shape src; ///< plain N, C, H, W
    Shape dst;
};

/// The part of the image that a window at one output position covers.
struct Range {
    Index begin;
    Index end;
};
Range range(const Window& window, Index out, Index in) {
    const Index begin = out * window.stride - window.pad;
    return {std::max<Index>(begin, 0), std::min(begin + window.size, in)};
}

Expected<Pool> plain_pool(const Param& param, const Shape& src, const Shape& dst) {
    Pool p;
    p.mode = static_cast<Mode>(param.integer("mode"));
    MGS_ASSIGN(p.layout, image_layout(static_cast<ConvFormat>(param.integer("format"))));
    MGS_ASSIGN(p.src, plain_shape(src, p.layout, image_order));
    MGS_ASSIGN(p.dst, plain_shape(dst, p.layout, image_order));
    if (p.src[0] != p.dst[0] || p.src[1] != p.dst[1])
        return fail(ErrorCode::invalid_argument, "Pooling of " + src.text() + " cannot give " + dst.text() + ".");
    return p;
}

/// A window wholly in the padding has no maximum and no mean of real positions.
Expected<void> check_windows(const Pool& p) {
    for (const auto& [window, axis] : {std::pair(p.height, 2U), std::pair(p.width, 3U)}) {
        if (window.size < 1 || window.stride < 1)
            return fail(ErrorCode::invalid_argument, "The pooling window of size " + std::to_string(window.size) + " and stride " +
                                                         std::to_string(window.stride) + " is empty.");
        if (p.mode == Mode::average) continue;
        for (Index out = 0; out < p.dst[axis]; ++out)
            if (const Range r = range(window, out, p.src[axis]); r.begin >= r.end)
                return fail(ErrorCode::invalid_argument, "The pooling window at output position " + std::to_string(out) +
                                                             " lies wholly in the padding.");
    }
    return {};
}

Expected<Pool> pooling_problem(const Param& param, const Shape& src, const Shape& dst) {
    MGS_ASSIGN(Pool p, plain_pool(param, src, dst));
    p.height = {param.integer("window_h"), param.integer("stride_h"), param.integer("pad_h")};
    p.width = {param.integer("window_w"), param.integer("stride_w"), param.integer("pad_w")};
    MGS_TRY(check_windows(p));
    return p;
}

Expected<Pool> adaptive_problem(const Param& param, const Shape& src, const Shape& dst) {
    MGS_ASSIGN(Pool p, plain_pool(param, src, dst));
    const auto window = [&](std::size_t axis) {
        const Index out = std::max<Index>(p.dst[axis], 1);
        const Index stride = p.src[axis] / out;
        return Window{p.src[axis] - (out - 1) * stride, stride, 0};
    };
    p.height = window(2);
    p.width = window(3);
    MGS_TRY(check_windows(p));
    return p;
}

/// Calls body(image index, output index, rows, columns) for every window; indices count elements of the plain tensors.
template <class Body>
void for_each_window(const Pool& p, Body body) {
    Index out = 0;
    for (Index plane = 0; plane < p.src[0] * p.src[1]; ++plane)
        for (Index oh = 0; oh < p.dst[2]; ++oh)
            for (Index ow = 0; ow < p.dst[3]; ++ow)
                body(plane * p.src[2] * p.src[3], out++, range(p.height, oh, p.src[2]), range(p.width, ow, p.src[3]));
}

/// The divisor of a mean over this window.
double divisor(const Pool& p, Range rows, Range columns) {
    if (p.mode == Mode::average) return static_cast<double>(p.height.size) * static_cast<double>(p.width.size);
    return static_cast<double>((rows.end - rows.begin) * (columns.end - columns.begin));
}

/// A mean as a number of the dtype; the padding's number is 0 (asymmetric dtypes store the zero point there).
double mean(const DType& dtype, double sum, double count) {
    if (dtype.is_float()) return sum / count;
    if (!dtype.is_quantized()) return std::trunc(sum / count);
    if (!dtype.is_asymmetric()) return std::round(sum / count);
    return std::floor(sum / count + 0.5); // as the mean of the stored, unsigned numbers: half up
}

Expected<void> forward(const Pool& p, const TensorRef& src, const MutTensorRef& dst) {
    const auto in = unpack(to_numbers(src), src.shape, p.layout, image_order);
    std::vector<double> out(p.dst.elements());
    for_each_window(p, [&](Index image, Index place, Range rows, Range columns) {
        double best = -std::numeric_limits<double>::infinity();
        double sum = 0;
        for (Index h = rows.begin; h < rows.end; ++h)
            for (Index w = columns.begin; w < columns.end; ++w) {
                const double x = in[static_cast<std::size_t>(image + h * p.src[3] + w)];
                best = std::max(best, x);
                sum += x;
            }
        double result = best;
        if (p.mode != Mode::max) result = mean(src.dtype, sum, divisor(p, rows, columns));
        out[static_cast<std::size_t>(place)] = result;
    });
    from_numbers(pack(out, p.dst, image_order, dst.shape, p.layout), dst);
    return {};
}

// MAX: the difference goes to the position that holds the maximum, the first one of equals. Means spread it evenly.
Expected<void> backward(const Pool& p, const TensorRef& src, const TensorRef& diff, const MutTensorRef& grad) {
    const auto in = unpack(to_numbers(src), src.shape, p.layout, image_order);
    const auto out_diff = unpack(to_numbers(diff), diff.shape, p.layout, image_order);
    std::vector<double> result(p.src.elements());
    for_each_window(p, [&](Index image, Index place, Range rows, Range columns) {
        const double d = out_diff[static_cast<std::size_t>(place)];
        if (p.mode == Mode::max) {
            auto best = static_cast<std::size_t>(image + rows.begin * p.src[3] + columns.begin);
            for (Index h = rows.begin; h < rows.end; ++h)
                for (Index w = columns.begin; w < columns.end; ++w)
                    if (const auto at = static_cast<std::size_t>(image + h * p.src[3] + w); in[at] > in[best]) best = at;
            result[best] += d;
            return;
        }
        for (Index h = rows.begin; h < rows.end; ++h)
            for (Index w = columns.begin; w < columns.end; ++w)
                result[static_cast<std::size_t>(image + h * p.src[3] + w)] += d / divisor(p, rows, columns);
    });
    from_numbers(pack(result, p.src, image_order, grad.shape, p.layout), grad);
    return {};
}

Expected<void> pooling(const KernelArgs& args) {
    MGS_ASSIGN(const Pool p, pooling_problem(args.opr.param(), args.inputs[0].shape, args.outputs[0].shape));
    return forward(p, args.inputs[0], args.outputs[0]);
}
Expected<void> pooling_backward(const KernelArgs& args) {
    MGS_ASSIGN(const Pool p, pooling_problem(args.opr.param(), args.inputs[0].shape, args.inputs[2].shape));
    return backward(p, args.inputs[0], args.inputs[2], args.outputs[0]);
}
Expected<void> adaptive(const KernelArgs& args) {
    MGS_ASSIGN(const Pool p, adaptive_problem(args.opr.param(), args.inputs[0].shape, args.outputs[0].shape));
    return forward(p, args.inputs[0], args.outputs[0]);
}
Expected<void> adaptive_backward(const KernelArgs& args) {
    MGS_ASSIGN(const Pool p, adaptive_problem(args.opr.param(), args.inputs[0].shape, args.inputs[3].shape));
    return backward(p, args.inputs[0], args.inputs[3], args.outputs[0]);
}

} // namespace

void add_pooling_kernels(ReferenceKernels& kernels) {
    kernels["Pooling"] = {pooling};
    kernels["PoolingBackward"] = {pooling_backward};
    kernels["AdaptivePooling"] = {adaptive};
    kernels["AdaptivePoolingBackward"] = {adaptive_backward};
}

} // namespace megascope
