#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/image_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/roi_geometry.h"
#include "tensor/element.h"

namespace megascope {

namespace {

Expected<std::vector<RoiRegion>> read_regions(const KernelArgs& args, const TensorRef& rois, std::int64_t images) {
    if (rois.shape.ndim() != 2 || rois.shape[1] != 5)
        return fail(ErrorCode::invalid_argument, args.opr.type + " takes regions of shape n×5, not " + rois.shape.text() + ".");
    std::vector<RoiRegion> regions(static_cast<std::size_t>(rois.shape[0]));
    for (std::size_t r = 0; r < regions.size(); ++r) {
        const auto value = [&](std::size_t k) { return static_cast<float>(real_at(rois, r * 5 + k)); };
        regions[r] = {whole_coordinate(value(0)), value(1), value(2), value(3), value(4)};
        if (regions[r].image < 0 || regions[r].image >= images)
            return fail(ErrorCode::run_failed, args.opr.type + ": region " + std::to_string(r) + " is in image " +
                                                   std::to_string(regions[r].image) + " of " + std::to_string(images) + ".");
    }
    return regions;
}

/// Sizes that both directions of an operator agree on.
struct RoiProblem {
    ImageLayout image;   ///< the source
    ImageLayout pooled;  ///< the result
    std::vector<RoiRegion> regions;
};
Expected<RoiProblem> roi_problem(const KernelArgs& args, const Shape& source, const Shape& pooled, const TensorRef& rois) {
    RoiProblem problem;
    MGS_ASSIGN(problem.image, image_layout("NCHW", source));
    MGS_ASSIGN(problem.pooled, image_layout("NCHW", pooled));
    MGS_ASSIGN(problem.regions, read_regions(args, rois, problem.image.n));
    if (problem.pooled.n != static_cast<std::int64_t>(problem.regions.size()) || problem.pooled.c != problem.image.c)
        return fail(ErrorCode::invalid_argument, args.opr.type + ": " + std::to_string(problem.regions.size()) +
                                                     " regions of images " + source.text() + " do not give " + pooled.text() + ".");
    return problem;
}

/// Calls f(region, channel, row, column, element of the result) for the whole result.
template <class F>
void for_each_bin(const RoiProblem& problem, F f) {
    const ImageLayout& out = problem.pooled;
    for (std::int64_t r = 0; r < out.n; ++r)
        for (std::int64_t c = 0; c < out.c; ++c)
            for (std::int64_t h = 0; h < out.h; ++h)
                for (std::int64_t w = 0; w < out.w; ++w) f(static_cast<std::size_t>(r), c, h, w, out.at(r, c, h, w));
}

/// Format NCHW, and a number of samples per bin that ends in some finite time.
Expected<void> check_param(const KernelArgs& args) {
    const Param& param = args.opr.param();
    if (param.type().find("format") && param.enum_name("format") != "NCHW")
        return fail(ErrorCode::unsupported, args.opr.type + " in format " + param.enum_name("format") + " is not supported.");
    for (const char* field : {"sample_height", "sample_width"})
        if (param.type().find(field) && param.integer(field) > 1024)
            return fail(ErrorCode::unsupported, args.opr.type + " with " + std::to_string(param.integer(field)) + " samples per bin and axis is not supported.");
    return {};
}

/// Inputs: source, regions. Outputs: pooled values, number of the chosen sample (MAX).
Expected<void> roi_align(const KernelArgs& args) {
    MGS_TRY(check_param(args));
    const TensorRef& src = args.inputs[0];
    MGS_ASSIGN(const RoiProblem problem, roi_problem(args, src.shape, args.outputs[0].shape, args.inputs[1]));
    const bool largest = args.opr.param().enum_name("mode") == "MAX";
    const ImageLayout& in = problem.image;
    const ImageLayout& out = problem.pooled;
    std::vector<double> pixels(src.elements());
    load_block(src, 0, 1, std::span(pixels));
    std::vector<RoiCorners> samples; // of one bin: the same for all channels
    for (std::size_t r = 0; r < problem.regions.size(); ++r) {
        const RoiRegion& region = problem.regions[r];
        const RoiAlignGrid grid(args.opr.param(), region, out.h, out.w);
        for (std::int64_t h = 0; h < out.h; ++h)
            for (std::int64_t w = 0; w < out.w; ++w) {
                samples.clear();
                for (std::int64_t i = 0; i < grid.samples_h; ++i)
                    for (std::int64_t k = 0; k < grid.samples_w; ++k)
                        samples.push_back(roi_corners(grid.y(h, i), grid.x(w, k), in.h, in.w));
                for (std::int64_t c = 0; c < out.c; ++c) {
                    const double* plane = pixels.data() + in.at(region.image, c, 0, 0);
                    double best = -std::numeric_limits<double>::infinity();
                    double sum = 0;
                    std::int64_t chosen = -1;
                    for (std::size_t s = 0; s < samples.size(); ++s) {
                        double value = 0;
                        for (std::size_t q = 0; q < samples[s].count; ++q) value += plane[samples[s].place[q]] * samples[s].weight[q];
                        sum += value;
                        if (value > best) {
                            best = value;
                            chosen = static_cast<std::int64_t>(s);
                        }
                    }
                    const std::size_t at = out.at(static_cast<std::int64_t>(r), c, h, w);
                    store_real(args.outputs[0], at, largest ? best : sum / static_cast<double>(samples.size()));
                    if (args.outputs.size() > 1) store_integer(args.outputs[1], at, largest ? chosen : -1);
                }
            }
    }
    return {};
}

/// The gradients read the index of every pooled value.
Expected<void> need_index(const KernelArgs& args, const TensorRef& diff) {
    if (args.inputs[3].elements() == diff.elements()) return {};
    return fail(ErrorCode::invalid_argument, args.opr.type + ": an index of shape " + args.inputs[3].shape.text() + " does not fit " +
                                                 diff.shape.text() + ".");
}

/// Inputs: gradient, source (for its shape), regions, index.
Expected<void> roi_align_backward(const KernelArgs& args) {
    MGS_TRY(check_param(args));
    const TensorRef& diff = args.inputs[0];
    MGS_ASSIGN(const RoiProblem problem, roi_problem(args, args.outputs[0].shape, diff.shape, args.inputs[2]));
    MGS_TRY(need_index(args, diff));
    const bool largest = args.opr.param().enum_name("mode") == "MAX";
    const ImageLayout& in = problem.image;
    std::vector<double> grad(args.outputs[0].elements());
    std::vector<RoiAlignGrid> grids;
    for (const RoiRegion& region : problem.regions) grids.emplace_back(args.opr.param(), region, problem.pooled.h, problem.pooled.w);
    for_each_bin(problem, [&](std::size_t r, std::int64_t c, std::int64_t h, std::int64_t w, std::size_t at) {
        const RoiRegion& region = problem.regions[r];
        const RoiAlignGrid& grid = grids[r];
        const double share = largest ? 1 : 1 / static_cast<double>(grid.samples_h * grid.samples_w);
        const std::int64_t chosen = largest ? stored_at(args.inputs[3], at) : 0;
        for (std::int64_t i = 0; i < grid.samples_h; ++i)
            for (std::int64_t k = 0; k < grid.samples_w; ++k) {
                if (largest && i * grid.samples_w + k != chosen) continue;
                const RoiCorners corners = roi_corners(grid.y(h, i), grid.x(w, k), in.h, in.w);
                for (std::size_t q = 0; q < corners.count; ++q)
                    grad[in.at(region.image, c, 0, 0) + corners.place[q]] += real_at(diff, at) * corners.weight[q] * share;
            }
    });
    from_real(grad, args.outputs[0]);
    return {};
}

/// The pixels of one bin of ROIPooling: half open, cut to the image.
struct PoolWindow {
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    [[nodiscard]] std::int64_t count() const { return std::max<std::int64_t>(bottom - top, 0) * std::max<std::int64_t>(right - left, 0); }
};
PoolWindow pool_window(const RoiRegion& r, float scale, const RoiProblem& problem, std::int64_t h, std::int64_t w) {
    const auto corner = [scale](float v) { return whole_coordinate(std::round(v * scale)); };
    const auto span = [](std::int64_t begin, std::int64_t end, std::int64_t bins, std::int64_t bin, std::int64_t size) {
        const float step = static_cast<float>(std::max<std::int64_t>(end - begin + 1, 1)) / static_cast<float>(bins);
        const std::int64_t low = whole_coordinate(std::floor(static_cast<float>(bin) * step)) + begin;
        const std::int64_t high = whole_coordinate(std::ceil(static_cast<float>(bin + 1) * step)) + begin;
        return std::pair(std::clamp<std::int64_t>(low, 0, size), std::clamp<std::int64_t>(high, 0, size));
    };
    const auto [top, bottom] = span(corner(r.y0), corner(r.y1), problem.pooled.h, h, problem.image.h);
    const auto [left, right] = span(corner(r.x0), corner(r.x1), problem.pooled.w, w, problem.image.w);
    return {top, bottom, left, right};
}

/// Inputs: source, regions, [result size]. Outputs: pooled values, place (row·width + column) of the largest, -1 for none.
Expected<void> roi_pooling(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    MGS_ASSIGN(const RoiProblem problem, roi_problem(args, src.shape, args.outputs[0].shape, args.inputs[1]));
    const bool largest = args.opr.param().enum_name("mode") == "MAX";
    const auto scale = static_cast<float>(args.opr.param().real("scale"));
    const ImageLayout& in = problem.image;
    for_each_bin(problem, [&](std::size_t r, std::int64_t c, std::int64_t h, std::int64_t w, std::size_t at) {
        const PoolWindow window = pool_window(problem.regions[r], scale, problem, h, w);
        double best = -std::numeric_limits<double>::infinity();
        double sum = 0;
        std::int64_t chosen = -1;
        for (std::int64_t y = window.top; y < window.bottom; ++y)
            for (std::int64_t x = window.left; x < window.right; ++x) {
                const double value = real_at(src, in.at(problem.regions[r].image, c, y, x));
                sum += value;
                if (value > best) {
                    best = value;
                    chosen = y * in.w + x;
                }
            }
        const std::int64_t count = window.count();
        store_real(args.outputs[0], at, count == 0 ? 0 : largest ? best : sum / static_cast<double>(count));
        if (args.outputs.size() > 1) store_integer(args.outputs[1], at, largest ? chosen : -1);
    });
    return {};
}

/// Inputs: gradient, source (for its shape), regions, index.
Expected<void> roi_pooling_backward(const KernelArgs& args) {
    const TensorRef& diff = args.inputs[0];
    MGS_ASSIGN(const RoiProblem problem, roi_problem(args, args.outputs[0].shape, diff.shape, args.inputs[2]));
    MGS_TRY(need_index(args, diff));
    const bool largest = args.opr.param().enum_name("mode") == "MAX";
    const auto scale = static_cast<float>(args.opr.param().real("scale"));
    const ImageLayout& in = problem.image;
    std::vector<double> grad(args.outputs[0].elements());
    for_each_bin(problem, [&](std::size_t r, std::int64_t c, std::int64_t h, std::int64_t w, std::size_t at) {
        const std::int64_t image = problem.regions[r].image;
        if (largest) {
            const std::int64_t chosen = stored_at(args.inputs[3], at);
            if (chosen >= 0 && chosen < in.h * in.w) grad[in.at(image, c, chosen / in.w, chosen % in.w)] += real_at(diff, at);
            return;
        }
        const PoolWindow window = pool_window(problem.regions[r], scale, problem, h, w);
        for (std::int64_t y = window.top; y < window.bottom; ++y)
            for (std::int64_t x = window.left; x < window.right; ++x)
                grad[in.at(image, c, y, x)] += real_at(diff, at) / static_cast<double>(window.count());
    });
    from_real(grad, args.outputs[0]);
    return {};
}

} // namespace

void add_roi_kernels(ReferenceKernels& kernels) {
    kernels["ROIAlign"] = {roi_align};
    kernels["ROIAlignBackward"] = {roi_align_backward};
    kernels["ROIPooling"] = {roi_pooling};
    kernels["ROIPoolingBackward"] = {roi_pooling_backward};
}

} // namespace megascope
