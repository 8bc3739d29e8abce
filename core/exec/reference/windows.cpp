// Operators on windows of images that are no convolutions: Images2Neibs, SlidingWindowTranspose, Correlation, with gradients.

#include <cmath>
#include <string>

#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

/// Images (N, C, H, W) and their windows (N, C, OH, OW, WH, WW).
struct Windows {
    Shape image;
    Shape windows;
    Index stride_h, stride_w, pad_h, pad_w, dilate_h, dilate_w;
};

Expected<Windows> windows_problem(const Param& param, const Shape& image, const Shape& windows) {
    if (image.ndim() != 4 || windows.ndim() != 6 || image[0] != windows[0] || image[1] != windows[1])
        return fail(ErrorCode::invalid_argument, "Windows of shape " + windows.text() + " do not belong to images of shape " + image.text() + ".");
    return Windows{image, windows, param.integer("stride_h"), param.integer("stride_w"), param.integer("pad_h"), param.integer("pad_w"),
                   param.integer("dilate_h"), param.integer("dilate_w")};
}

/// Calls body(element of the image, element of the windows) wherever a window lies over the image.
template <class Body>
void for_each_element(const Windows& w, Body body) {
    const Shape& s = w.windows;
    std::size_t at = 0;
    for (Index plane = 0; plane < s[0] * s[1]; ++plane)
        for (Index oh = 0; oh < s[2]; ++oh)
            for (Index ow = 0; ow < s[3]; ++ow)
                for (Index wh = 0; wh < s[4]; ++wh)
                    for (Index ww = 0; ww < s[5]; ++ww, ++at) {
                        const Index h = oh * w.stride_h - w.pad_h + wh * w.dilate_h;
                        const Index x = ow * w.stride_w - w.pad_w + ww * w.dilate_w;
                        if (h >= 0 && x >= 0 && h < w.image[2] && x < w.image[3]) body(sz((plane * w.image[2] + h) * w.image[3] + x), at);
                    }
}

// Also the gradient of SlidingWindowTranspose: windows of input 0.
Expected<void> gather_windows(const KernelArgs& args) {
    MGS_ASSIGN(const Windows w, windows_problem(args.opr.param(), args.inputs[0].shape, args.outputs[0].shape));
    const auto image = to_numbers(args.inputs[0]);
    std::vector<double> out(args.outputs[0].elements());
    for_each_element(w, [&](std::size_t in_image, std::size_t in_windows) { out[in_windows] = image[in_image]; });
    from_numbers(out, args.outputs[0]);
    return {};
}

// Also the gradient of Images2Neibs: windows of input 0 are added up.
Expected<void> add_windows(const KernelArgs& args) {
    MGS_ASSIGN(const Windows w, windows_problem(args.opr.param(), args.outputs[0].shape, args.inputs[0].shape));
    const auto windows = to_numbers(args.inputs[0]);
    std::vector<double> out(args.outputs[0].elements());
    for_each_element(w, [&](std::size_t in_image, std::size_t in_windows) { out[in_image] += windows[in_windows]; });
    from_numbers(out, args.outputs[0]);
    return {};
}

struct Correlation {
    Shape data; ///< N, C, H, W
    Shape dst;  ///< N, displacements, OH, OW
    Index kernel, reach, stride1, stride2, pad;
    bool multiply;

    /// Displacements per axis run from -grid to grid.
    [[nodiscard]] Index grid() const { return reach / stride2; }
    [[nodiscard]] double mean_of() const { return static_cast<double>(kernel * kernel * data[1]); }
};

Expected<Correlation> correlation_problem(const Param& param, const Shape& data1, const Shape& data2, const Shape& dst) {
    if (param.enum_name("format") != "NCHW") return fail(ErrorCode::unsupported, "Correlation exists for format NCHW only.");
    Correlation c{data1, dst, param.integer("kernel_size"), param.integer("max_displacement"), param.integer("stride1"), param.integer("stride2"),
                  param.integer("pad_size"), param.boolean("is_multiply")};
    bool sizes = c.stride1 >= 1 && c.stride2 >= 1 && c.kernel >= 1 && data1.ndim() == 4 && data1 == data2 && dst.ndim() == 4;
    for (std::size_t axis = 2; sizes && axis < 4; ++axis) {
        const Index room = data1[axis] + 2 * c.pad - 2 * ((c.kernel - 1) / 2 + c.reach);
        sizes = room > 0 && dst[axis] == (room + c.stride1 - 1) / c.stride1;
    }
    if (sizes && c.kernel > 1024)
        return fail(ErrorCode::unsupported, "A correlation over windows of size " + std::to_string(c.kernel) + " is not supported.");
    if (!sizes || c.grid() > dst[1] || dst[0] != data1[0] || dst[1] != (2 * c.grid() + 1) * (2 * c.grid() + 1))
        return fail(ErrorCode::invalid_argument, "A correlation of " + data1.text() + " and " + data2.text() + " cannot give " + dst.text() + ".");
    return c;
}

/// Calls body(element of data1 or -1, element of data2 or -1, element of the result) for every pair; -1 lies in the padding.
template <class Body>
void for_each_pair(const Correlation& c, Body body) {
    const Index height = c.data[2];
    const Index width = c.data[3];
    const Index g = c.grid();
    const auto element = [&](Index n, Index ch, Index y, Index x) -> Index {
        y -= c.pad;
        x -= c.pad;
        return y < 0 || x < 0 || y >= height || x >= width ? -1 : ((n * c.data[1] + ch) * height + y) * width + x;
    };
    std::size_t out = 0;
    for (Index n = 0; n < c.dst[0]; ++n)
        for (Index dy = -g; dy <= g; ++dy)
            for (Index dx = -g; dx <= g; ++dx)
                for (Index oy = 0; oy < c.dst[2]; ++oy)
                    for (Index ox = 0; ox < c.dst[3]; ++ox, ++out)
                        for (Index ky = 0; ky < c.kernel; ++ky)
                            for (Index kx = 0; kx < c.kernel; ++kx)
                                for (Index ch = 0; ch < c.data[1]; ++ch) {
                                    const Index y = oy * c.stride1 + c.reach + ky;
                                    const Index x = ox * c.stride1 + c.reach + kx;
                                    body(element(n, ch, y, x), element(n, ch, y + dy * c.stride2, x + dx * c.stride2), out);
                                }
}

double value_at(const std::vector<double>& data, Index element) { return element < 0 ? 0 : data[sz(element)]; }

Expected<void> correlation(const KernelArgs& args) {
    MGS_ASSIGN(const Correlation c, correlation_problem(args.opr.param(), args.inputs[0].shape, args.inputs[1].shape, args.outputs[0].shape));
    const auto data1 = to_numbers(args.inputs[0]);
    const auto data2 = to_numbers(args.inputs[1]);
    std::vector<double> out(args.outputs[0].elements());
    for_each_pair(c, [&](Index e1, Index e2, std::size_t at) {
        const double a = value_at(data1, e1);
        const double b = value_at(data2, e2);
        out[at] += c.multiply ? a * b : std::abs(a - b);
    });
    for (double& v : out) v /= c.mean_of();
    from_numbers(out, args.outputs[0]);
    return {};
}

/// Gradient of input `which` (1 or 2) of the forward operator.
template <int which>
Expected<void> correlation_backward(const KernelArgs& args) {
    MGS_ASSIGN(const Correlation c, correlation_problem(args.opr.param(), args.inputs[1].shape, args.inputs[2].shape, args.inputs[0].shape));
    const auto diff = to_numbers(args.inputs[0]);
    const auto data1 = to_numbers(args.inputs[1]);
    const auto data2 = to_numbers(args.inputs[2]);
    std::vector<double> grad(data1.size());
    if (args.outputs[0].elements() != grad.size())
        return fail(ErrorCode::invalid_argument, "The gradient of a correlation has the shape " + args.inputs[1].shape.text() + " of its input, not " + args.outputs[0].shape.text() + ".");
    for_each_pair(c, [&](Index e1, Index e2, std::size_t at) {
        const Index own = which == 1 ? e1 : e2;
        if (own < 0) return;
        const double a = value_at(data1, e1);
        const double b = value_at(data2, e2);
        double slope = which == 1 ? b : a;
        if (!c.multiply) slope = (a >= b) == (which == 1) ? 1 : -1; // of |a - b|
        grad[sz(own)] += diff[at] * slope / c.mean_of();
    });
    from_numbers(grad, args.outputs[0]);
    return {};
}

} // namespace

void add_window_kernels(ReferenceKernels& kernels) {
    kernels["Images2Neibs"] = {gather_windows};
    kernels["Images2NeibsBackward"] = {add_windows};
    kernels["SlidingWindowTranspose"] = {add_windows};
    kernels["SlidingWindowTransposeBackward"] = {gather_windows};
    kernels["CorrelationForward"] = {correlation};
    kernels["CorrelationBackwardData1"] = {correlation_backward<1>};
    kernels["CorrelationBackwardData2"] = {correlation_backward<2>};
}

} // namespace megascope
