#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/warp_geometry.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// The four pixels around a source point by the border rule, with their weights and the weights' derivatives. Row and column are -1
/// where a constant border is read.
struct Neighbourhood {
    std::array<std::int64_t, 4> row{}, column{};
    std::array<double, 4> weight{}, by_x{}, by_y{};
};
Neighbourhood around(SourcePoint p, BorderMode border, const ImageLayout& image) {
    Neighbourhood n;
    const float low_x = std::floor(p.x);
    const float low_y = std::floor(p.y);
    const double u = p.x - low_x;
    const double v = p.y - low_y;
    for (std::size_t k = 0; k < 4; ++k) {
        const bool right = k % 2 == 1;
        const bool below = k / 2 == 1;
        n.row[k] = border_place(border, whole_coordinate(low_y) + (below ? 1 : 0), image.h);
        n.column[k] = border_place(border, whole_coordinate(low_x) + (right ? 1 : 0), image.w);
        n.weight[k] = (right ? u : 1 - u) * (below ? v : 1 - v);
        n.by_x[k] = (right ? 1 : -1) * (below ? v : 1 - v);
        n.by_y[k] = (below ? 1 : -1) * (right ? u : 1 - u);
    }
    return n;
}

/// What the gradients of a warp work on.
struct WarpGradient {
    ImageLayout image; ///< the source
    ImageLayout diff;  ///< the gradient of the result
    BorderMode border = BorderMode::replicate;
    std::vector<std::int64_t> source; ///< per result image
};
Expected<WarpGradient> prepare(const KernelArgs& args, const Shape& source, const Shape& diff, const char* border, const TensorRef* mat_idx) {
    const Param& param = args.opr.param();
    const std::string format = param.enum_name("format");
    if (param.enum_name("imode") != "LINEAR" && !(args.opr.type.starts_with("Remap") && param.enum_name("imode") == "NEAREST"))
        return fail(ErrorCode::unsupported, args.opr.type + " with mode " + param.enum_name("imode") + " is not supported.");
    WarpGradient g;
    g.border = static_cast<BorderMode>(param.integer(border));
    if (g.border > BorderMode::constant)
        return fail(ErrorCode::unsupported, args.opr.type + " with border mode " + param.enum_name(border) + " is not supported.");
    MGS_ASSIGN(g.image, image_layout(format, source));
    MGS_ASSIGN(g.diff, image_layout(format, diff));
    if (g.image.c != g.diff.c || g.image.h < 1 || g.image.w < 1 ||
        (mat_idx && mat_idx->elements() != static_cast<std::size_t>(g.diff.n)))
        return fail(ErrorCode::invalid_argument, args.opr.type + ": shapes " + source.text() + " and " + diff.text() + " do not fit.");
    for (std::int64_t n = 0; n < g.diff.n; ++n) {
        g.source.push_back(mat_idx ? stored_at(*mat_idx, static_cast<std::size_t>(n)) : n);
        if (g.source.back() < 0 || g.source.back() >= g.image.n)
            return fail(ErrorCode::run_failed, args.opr.type + ": there is no image " + std::to_string(g.source.back()) + ".");
    }
    return g;
}

using Geometry = std::function<SourcePoint(std::int64_t n, std::int64_t h, std::int64_t w)>;

/// Spreads the result's gradient over the source pixels that made it.
void spread(const WarpGradient& g, const TensorRef& diff, const MutTensorRef& grad, bool nearest, const Geometry& point) {
    std::vector<double> sums(grad.elements());
    for (std::int64_t n = 0; n < g.diff.n; ++n)
        for (std::int64_t h = 0; h < g.diff.h; ++h)
            for (std::int64_t w = 0; w < g.diff.w; ++w) {
                const Neighbourhood near = around(point(n, h, w), g.border, g.image);
                for (std::size_t k = 0; k < (nearest ? 1 : 4); ++k) {
                    if (near.row[k] < 0 || near.column[k] < 0 || !std::isfinite(near.weight[k])) continue;
                    for (std::int64_t c = 0; c < g.diff.c; ++c)
                        sums[g.image.at(g.source[static_cast<std::size_t>(n)], c, near.row[k], near.column[k])] +=
                            near.weight[k] * real_at(diff, g.diff.at(n, c, h, w));
                }
            }
    from_real(sums, grad);
}

/// The loss's derivatives by the source point of one result pixel, summed over channels.
struct PointGradient {
    double x = 0;
    double y = 0;
};
PointGradient by_point(const WarpGradient& g, const TensorRef& src, const TensorRef& diff, double border_value, SourcePoint p, std::int64_t n,
                       std::int64_t h, std::int64_t w) {
    const Neighbourhood near = around(p, g.border, g.image);
    PointGradient sum;
    for (std::int64_t c = 0; c < g.diff.c; ++c) {
        const double d = real_at(diff, g.diff.at(n, c, h, w));
        for (std::size_t k = 0; k < 4; ++k) {
            const bool outside = near.row[k] < 0 || near.column[k] < 0;
            const double value =
                outside ? border_value : real_at(src, g.image.at(g.source[static_cast<std::size_t>(n)], c, near.row[k], near.column[k]));
            sum.x += d * value * near.by_x[k];
            sum.y += d * value * near.by_y[k];
        }
    }
    return sum;
}

Expected<void> need_matrices(const KernelArgs& args, const TensorRef& mat, std::int64_t results) {
    if (mat.shape.ndim() == 3 && mat.shape[0] == results && mat.shape[1] == 3 && mat.shape[2] == 3) return {};
    return fail(ErrorCode::invalid_argument, args.opr.type + ": matrices of shape " + mat.shape.text() + " do not fit.");
}

Geometry perspective(const std::vector<double>& m) {
    return [&m](std::int64_t n, std::int64_t h, std::int64_t w) {
        return perspective_point(std::span<const double, 9>(m.data() + n * 9, 9), h, w, false);
    };
}

/// Inputs: matrices, [mat_idx], gradient of the result, source (for its shape).
Expected<void> warp_perspective_data(const KernelArgs& args) {
    const bool indexed = args.inputs.size() == 4;
    const TensorRef& diff = args.inputs[indexed ? 2 : 1];
    MGS_ASSIGN(const WarpGradient g, prepare(args, args.outputs[0].shape, diff.shape, "bmode", indexed ? &args.inputs[1] : nullptr));
    MGS_TRY(need_matrices(args, args.inputs[0], g.diff.n));
    const std::vector<double> m = to_real(args.inputs[0]);
    spread(g, diff, args.outputs[0], false, perspective(m));
    return {};
}

/// Inputs: source, matrices, [mat_idx], gradient of the result.
Expected<void> warp_perspective_mat(const KernelArgs& args) {
    const bool indexed = args.inputs.size() == 4;
    const TensorRef& src = args.inputs[0];
    const TensorRef& diff = args.inputs[indexed ? 3 : 2];
    MGS_ASSIGN(const WarpGradient g, prepare(args, src.shape, diff.shape, "bmode", indexed ? &args.inputs[2] : nullptr));
    MGS_TRY(need_matrices(args, args.inputs[1], g.diff.n));
    const double border_value = args.opr.param().real("border_val");
    const std::vector<double> m = to_real(args.inputs[1]);
    const Geometry point = perspective(m);
    std::vector<double> grad(m.size());
    for (std::int64_t n = 0; n < g.diff.n; ++n) {
        const double* mat = m.data() + n * 9;
        for (std::int64_t h = 0; h < g.diff.h; ++h)
            for (std::int64_t w = 0; w < g.diff.w; ++w) {
                const SourcePoint p = point(n, h, w);
                const PointGradient d = by_point(g, src, diff, border_value, p, n, h, w);
                const std::array<double, 3> at{static_cast<double>(w), static_cast<double>(h), 1};
                const double scale = 1 / (mat[6] * at[0] + mat[7] * at[1] + mat[8]);
                for (std::size_t k = 0; k < 3; ++k) {
                    // x = (m0 w + m1 h + m2) / d, y = (m3 w + m4 h + m5) / d with d = m6 w + m7 h + m8.
                    const std::array<double, 3> deltas{d.x * at[k] * scale, d.y * at[k] * scale,
                                                       -(d.x * static_cast<double>(p.x) + d.y * static_cast<double>(p.y)) * at[k] * scale};
                    for (std::size_t row = 0; row < 3; ++row)
                        if (std::isfinite(deltas[row])) grad[static_cast<std::size_t>(n) * 9 + row * 3 + k] += deltas[row];
                }
            }
    }
    from_real(grad, args.outputs[0]);
    return {};
}

Geometry mapped(const TensorRef& map, const ImageLayout& diff, bool nearest) {
    return [&map, diff, nearest](std::int64_t n, std::int64_t h, std::int64_t w) {
        const auto at = static_cast<std::size_t>(((n * diff.h + h) * diff.w + w) * 2);
        const SourcePoint p{static_cast<float>(real_at(map, at)), static_cast<float>(real_at(map, at + 1))};
        return nearest ? rounded(p) : p;
    };
}
Expected<void> need_map(const KernelArgs& args, const TensorRef& map, const WarpGradient& g) {
    if (g.image.n == g.diff.n && map.elements() == static_cast<std::size_t>(g.diff.n * g.diff.h * g.diff.w * 2)) return {};
    return fail(ErrorCode::invalid_argument, args.opr.type + ": a map of shape " + map.shape.text() + " does not fit.");
}

/// Inputs: map, gradient of the result, source (for its shape).
Expected<void> remap_data(const KernelArgs& args) {
    const TensorRef& map = args.inputs[0];
    MGS_ASSIGN(const WarpGradient g, prepare(args, args.outputs[0].shape, args.inputs[1].shape, "border_type", nullptr));
    MGS_TRY(need_map(args, map, g));
    const bool nearest = args.opr.param().enum_name("imode") == "NEAREST";
    spread(g, args.inputs[1], args.outputs[0], nearest, mapped(map, g.diff, nearest));
    return {};
}

/// Inputs: source, map, gradient of the result. A nearest pixel does not move with its map entry.
Expected<void> remap_mat(const KernelArgs& args) {
    const TensorRef& map = args.inputs[1];
    MGS_ASSIGN(const WarpGradient g, prepare(args, args.inputs[0].shape, args.inputs[2].shape, "border_type", nullptr));
    MGS_TRY(need_map(args, map, g));
    std::vector<double> grad(map.elements());
    const Geometry point = mapped(map, g.diff, false);
    const double border_value = args.opr.param().real("scalar");
    if (args.opr.param().enum_name("imode") == "LINEAR") {
        std::size_t at = 0;
        for (std::int64_t n = 0; n < g.diff.n; ++n)
            for (std::int64_t h = 0; h < g.diff.h; ++h)
                for (std::int64_t w = 0; w < g.diff.w; ++w, at += 2) {
                    const PointGradient d = by_point(g, args.inputs[0], args.inputs[2], border_value, point(n, h, w), n, h, w);
                    grad[at] = d.x;
                    grad[at + 1] = d.y;
                }
    }
    from_real(grad, args.outputs[0]);
    return {};
}

} // namespace

void add_warp_backward_kernels(ReferenceKernels& kernels) {
    kernels["WarpPerspectiveBackwardData"] = {warp_perspective_data};
    kernels["WarpPerspectiveBackwardMat"] = {warp_perspective_mat};
    kernels["RemapBackwardData"] = {remap_data};
    kernels["RemapBackwardMat"] = {remap_mat};
}

} // namespace megascope
