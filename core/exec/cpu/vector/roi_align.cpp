// ROIAlign of float images in NHWC: a bin's sampling points are the same for all channels.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/vector/simd.h"
#include "exec/reference/roi_geometry.h"

namespace megascope {
namespace {

MGS_VECTOR_CODE void add_weighted_pixel(const float* pixel, float weight, float* to, std::size_t channels) {
    for (std::size_t c = 0; c < channels; ++c) to[c] += pixel[c] * weight;
}
MGS_VECTOR_CODE void divide(float* values, float by, std::size_t channels) {
    for (std::size_t c = 0; c < channels; ++c) values[c] /= by;
}
/// Keeps the larger value and the number of its sample; the first one of equals.
MGS_VECTOR_CODE void keep_larger(const float* value, std::int32_t sample, float* best, std::int32_t* chosen, std::size_t channels) {
    for (std::size_t c = 0; c < channels; ++c) {
        const bool larger = value[c] > best[c];
        best[c] = larger ? value[c] : best[c];
        chosen[c] = larger ? sample : chosen[c];
    }
}

class RoiAlignKernel final : public CpuKernel {
public:
    RoiAlignKernel(const CpuThreads& threads, const Opr& opr, const Shape& src, const Shape& dst, bool with_index)
        : threads_(threads), opr_(opr), src_(src), dst_(dst), largest_(opr.param().enum_name("mode") == "MAX"), with_index_(with_index) {}

    /// One row of channels for each thread: a sample's value, then the numbers of the chosen samples.
    std::size_t scratch_bytes() const { return 2 * channels() * sizeof(float) * static_cast<std::size_t>(threads_.count()); }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        const auto* images = reinterpret_cast<const float*>(inputs[0]);
        const auto* stored = reinterpret_cast<const float*>(inputs[1]);
        std::vector<RoiRegion> regions(static_cast<std::size_t>(dst_[0]));
        for (std::size_t r = 0; r < regions.size(); ++r) {
            const float* row = stored + 5 * r;
            regions[r] = {whole_coordinate(row[0]), row[1], row[2], row[3], row[4]};
            if (regions[r].image < 0 || regions[r].image >= src_[0])
                return fail(ErrorCode::run_failed, "ROIAlign: region " + std::to_string(r) + " is in image " +
                                                       std::to_string(regions[r].image) + " of " + std::to_string(src_[0]) + ".");
        }
        const auto bins = static_cast<std::size_t>(dst_[2] * dst_[3]);
        threads_.parallel_for(regions.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            auto* value = reinterpret_cast<float*>(scratch) + piece * 2 * channels();
            for (std::size_t r = begin; r < end; ++r) {
                const std::size_t at = r * bins * channels();
                region(regions[r], images, value, reinterpret_cast<float*>(outputs[0]) + at,
                       with_index_ ? reinterpret_cast<std::int32_t*>(outputs[1]) + at : nullptr);
            }
        });
        return {};
    }

private:
    std::size_t channels() const { return static_cast<std::size_t>(src_[1]); }

    void region(const RoiRegion& r, const float* images, float* value, float* out, std::int32_t* index) const {
        const RoiAlignGrid grid(opr_.param(), r, dst_[2], dst_[3]);
        const std::size_t count = channels();
        const float* image = images + static_cast<std::size_t>(r.image * src_[2] * src_[3]) * count;
        auto* chosen = reinterpret_cast<std::int32_t*>(value + count);
        for (std::int64_t h = 0; h < dst_[2]; ++h)
            for (std::int64_t w = 0; w < dst_[3]; ++w) {
                std::fill_n(out, count, largest_ ? -std::numeric_limits<float>::infinity() : 0.0F);
                std::fill_n(chosen, count, -1);
                for (std::int64_t s = 0; s < grid.samples_h * grid.samples_w; ++s) {
                    const RoiCorners corners =
                        roi_corners(grid.y(h, s / grid.samples_w), grid.x(w, s % grid.samples_w), src_[2], src_[3]);
                    float* to = largest_ ? value : out;
                    if (largest_) std::fill_n(value, count, 0.0F);
                    for (std::size_t q = 0; q < corners.count; ++q)
                        add_weighted_pixel(image + corners.place[q] * count, corners.weight[q], to, count);
                    if (largest_) keep_larger(value, static_cast<std::int32_t>(s), out, chosen, count);
                }
                if (!largest_) divide(out, static_cast<float>(grid.samples_h * grid.samples_w), count);
                out += count;
                if (!index) continue;
                std::copy_n(chosen, count, index);
                index += count;
            }
    }

    const CpuThreads threads_;
    const Opr& opr_; ///< the program keeps the graph alive
    Shape src_, dst_;
    bool largest_, with_index_;
};

} // namespace

std::optional<CpuKernelChoice> build_roi_align(const CpuContext& context, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1 || view.inputs.size() != 2) return std::nullopt;
    const Opr& opr = view.head();
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& rois = view.inputs[1];
    const CpuValueInfo& dst = view.outputs[0];
    const DType f32 = DTypeId::float32;
    if (src.dtype != f32 || rois.dtype != f32 || dst.dtype != f32 || opr.param().enum_name("format") != "NCHW") return std::nullopt;
    if (src.shape.ndim() != 4 || dst.shape.ndim() != 4 || rois.shape != Shape{dst.shape[0], 5} || src.shape[1] != dst.shape[1] ||
        src.shape.elements() == 0)
        return std::nullopt;
    for (const char* field : {"sample_height", "sample_width"})
        if (opr.param().integer(field) < 1 || opr.param().integer(field) > 1024) return std::nullopt;
    const bool with_index = view.outputs.size() > 1;
    if (with_index && (view.outputs[1].dtype.id != DTypeId::int32 || view.outputs[1].shape != dst.shape)) return std::nullopt;
    const Layout layout = channels_last("NCHW");
    auto kernel = std::make_unique<RoiAlignKernel>(context.threads, opr, src.shape, dst.shape, with_index);
    CpuKernelChoice choice;
    choice.input_layouts = {layout, Layout::plain(2)};
    choice.output_layouts.assign(view.outputs.size(), layout);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
