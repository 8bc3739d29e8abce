// Resize and Remap of float images: every result pixel is a weighted sum of source pixels, the same ones for all channels.

#include <algorithm>
#include <cmath>
#include <vector>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/vector/simd.h"
#include "exec/reference/image_layout.h"
#include "exec/reference/resize_taps.h"

namespace megascope {
namespace {

constexpr std::size_t max_taps = 16;

struct ImageSizes {
    std::int64_t batch = 0, channels = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0;
    bool channels_last = false;
};

/// The sources of one row of result pixels: tap t of pixel w is `place[t * width + w]`, a pixel of the source plane, or -1 for
/// the border's value.
struct RowTaps {
    std::size_t taps = 1;
    std::size_t width = 0;
    std::int32_t* place = nullptr;
    float* weight = nullptr;
};

MGS_VECTOR_CODE void plane_row(const float* plane, const std::int32_t* place, const float* weight, std::size_t taps, std::size_t width,
                               float border, float* to) {
    for (std::size_t w = 0; w < width; ++w) to[w] = (place[w] < 0 ? border : plane[place[w]]) * weight[w];
    for (std::size_t t = 1; t < taps; ++t) {
        const std::int32_t* at = place + t * width;
        const float* by = weight + t * width;
        for (std::size_t w = 0; w < width; ++w) to[w] += (at[w] < 0 ? border : plane[at[w]]) * by[w];
    }
}

MGS_VECTOR_CODE void add_pixel(const float* from, float weight, float* to, std::size_t channels) {
    for (std::size_t c = 0; c < channels; ++c) to[c] += from[c] * weight;
}

/// What both operators share: rows of taps in, pixels out.
class ResamplingKernel : public CpuKernel {
public:
    ResamplingKernel(const CpuThreads& threads, const ImageSizes& sizes, std::size_t taps) : threads_(threads), sizes_(sizes), taps_(taps) {}

    std::size_t scratch_bytes() const {
        return row_bytes() * static_cast<std::size_t>(threads_.count());
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        const auto rows = static_cast<std::size_t>(sizes_.batch * sizes_.out_h);
        const auto work = static_cast<std::size_t>(sizes_.channels * sizes_.out_w) * taps_;
        threads_.parallel_for(rows, std::max<std::size_t>(1, 16384 / work), [&](std::size_t begin, std::size_t end, std::size_t piece) {
            std::byte* own = scratch + piece * row_bytes();
            RowTaps taps{taps_, static_cast<std::size_t>(sizes_.out_w), reinterpret_cast<std::int32_t*>(own), nullptr};
            taps.weight = reinterpret_cast<float*>(own + taps.taps * taps.width * sizeof(std::int32_t));
            for (std::size_t row = begin; row < end; ++row) {
                const auto n = static_cast<std::int64_t>(row) / sizes_.out_h;
                const auto h = static_cast<std::int64_t>(row) % sizes_.out_h;
                fill(inputs, n, h, taps);
                compute(reinterpret_cast<const float*>(inputs[0]), reinterpret_cast<float*>(outputs[0]), n, h, taps);
            }
        });
        return {};
    }

protected:
    virtual void fill(std::span<const std::byte* const> inputs, std::int64_t n, std::int64_t h, const RowTaps& taps) const = 0;

    const CpuThreads threads_;
    ImageSizes sizes_;
    std::size_t taps_;
    float border_ = 0;
    bool finite_ = false; ///< results that are no finite numbers become the border's value

private:
    std::size_t row_bytes() const {
        return (taps_ * static_cast<std::size_t>(sizes_.out_w) * (sizeof(std::int32_t) + sizeof(float)) + 63) / 64 * 64;
    }

    void compute(const float* from, float* to, std::int64_t n, std::int64_t h, const RowTaps& taps) const {
        const auto channels = static_cast<std::size_t>(sizes_.channels);
        const auto in_plane = static_cast<std::size_t>(sizes_.in_h * sizes_.in_w);
        const auto out_plane = static_cast<std::size_t>(sizes_.out_h * sizes_.out_w);
        from += static_cast<std::size_t>(n) * channels * in_plane;
        to += static_cast<std::size_t>(n) * channels * out_plane;
        const std::size_t row = static_cast<std::size_t>(h) * taps.width;
        if (!sizes_.channels_last) {
            for (std::size_t c = 0; c < channels; ++c) {
                float* out = to + c * out_plane + row;
                plane_row(from + c * in_plane, taps.place, taps.weight, taps.taps, taps.width, border_, out);
                keep_finite(out, taps.width);
            }
            return;
        }
        for (std::size_t w = 0; w < taps.width; ++w) {
            float* out = to + (row + w) * channels;
            std::fill_n(out, channels, 0.0F);
            for (std::size_t t = 0; t < taps.taps; ++t) {
                const std::int32_t place = taps.place[t * taps.width + w];
                const float weight = taps.weight[t * taps.width + w];
                if (place >= 0) {
                    add_pixel(from + static_cast<std::size_t>(place) * channels, weight, out, channels);
                } else {
                    for (std::size_t c = 0; c < channels; ++c) out[c] += border_ * weight;
                }
            }
            keep_finite(out, channels);
        }
    }

    void keep_finite(float* values, std::size_t count) const {
        if (!finite_) return;
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(values[i])) values[i] = border_;
    }
};

class ResizeKernel final : public ResamplingKernel {
public:
    ResizeKernel(const CpuThreads& threads, const ImageSizes& sizes, std::vector<ResizeTaps> rows, std::vector<ResizeTaps> columns,
                 std::size_t per_axis)
        : ResamplingKernel(threads, sizes, per_axis * per_axis), rows_(std::move(rows)), columns_(std::move(columns)), per_axis_(per_axis) {}

private:
    void fill(std::span<const std::byte* const>, std::int64_t, std::int64_t h, const RowTaps& taps) const override {
        const ResizeTaps& row = rows_[static_cast<std::size_t>(h)];
        for (std::size_t w = 0; w < taps.width; ++w) {
            const ResizeTaps& column = columns_[w];
            for (std::size_t y = 0; y < per_axis_; ++y)
                for (std::size_t x = 0; x < per_axis_; ++x) {
                    // Where an axis has fewer taps the last one is named again, with a weight of nothing.
                    const std::size_t ry = std::min(y, row.count - 1), cx = std::min(x, column.count - 1);
                    const std::size_t at = (y * per_axis_ + x) * taps.width + w;
                    taps.place[at] = static_cast<std::int32_t>(row.place[ry] * sizes_.in_w + column.place[cx]);
                    taps.weight[at] = y < row.count && x < column.count ? column.weight[x] * row.weight[y] : 0.0F;
                }
        }
    }

    std::vector<ResizeTaps> rows_, columns_;
    std::size_t per_axis_;
};

class RemapKernel final : public ResamplingKernel {
public:
    RemapKernel(const CpuThreads& threads, const ImageSizes& sizes, BorderMode mode, float border, bool nearest)
        : ResamplingKernel(threads, sizes, nearest ? 1 : 4), mode_(mode), nearest_(nearest) {
        border_ = border;
        finite_ = mode == BorderMode::constant && !nearest;
    }

private:
    [[nodiscard]] std::int32_t place(std::int64_t y, std::int64_t x) const {
        const std::int64_t h = border_place(mode_, y, sizes_.in_h);
        const std::int64_t w = border_place(mode_, x, sizes_.in_w);
        return h < 0 || w < 0 ? -1 : static_cast<std::int32_t>(h * sizes_.in_w + w);
    }

    void fill(std::span<const std::byte* const> inputs, std::int64_t n, std::int64_t h, const RowTaps& taps) const override {
        const float* map = reinterpret_cast<const float*>(inputs[1]) + (n * sizes_.out_h + h) * sizes_.out_w * 2;
        for (std::size_t w = 0; w < taps.width; ++w) {
            const float x = map[2 * w], y = map[2 * w + 1];
            if (nearest_) {
                taps.place[w] = place(whole_coordinate(std::nearbyint(y)), whole_coordinate(std::nearbyint(x)));
                taps.weight[w] = 1;
                continue;
            }
            const float low_x = std::floor(x), low_y = std::floor(y);
            const std::int64_t left = whole_coordinate(low_x), top = whole_coordinate(low_y);
            const float u = x - low_x, v = y - low_y;
            const float across[2] = {1.0F - u, u}, down[2] = {1.0F - v, v};
            const bool inside = left >= 0 && top >= 0 && left + 1 < sizes_.in_w && top + 1 < sizes_.in_h;
            for (std::size_t k = 0; k < 4; ++k) {
                const auto dy = static_cast<std::int64_t>(k / 2), dx = static_cast<std::int64_t>(k % 2);
                taps.place[k * taps.width + w] = inside ? static_cast<std::int32_t>((top + dy) * sizes_.in_w + left + dx) : place(top + dy, left + dx);
                taps.weight[k * taps.width + w] = across[dx] * down[dy];
            }
        }
    }

    BorderMode mode_;
    bool nearest_;
};

} // namespace

std::optional<CpuKernelChoice> build_resampling(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.inputs.size() < 2) return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& dst = view.outputs[0];
    if (src.dtype.id != DTypeId::float32 || dst.dtype.id != DTypeId::float32) return std::nullopt;
    if (opr.param().enum_name("format") != "NCHW" || src.shape.ndim() != 4 || dst.shape.ndim() != 4) return std::nullopt;
    if (src.shape[0] != dst.shape[0] || src.shape[1] != dst.shape[1] || src.shape.elements() == 0 || dst.shape.elements() == 0)
        return std::nullopt;
    if (src.shape[2] * src.shape[3] > INT32_MAX) return std::nullopt;
    ImageSizes sizes{src.shape[0], src.shape[1], src.shape[2], src.shape[3], dst.shape[2], dst.shape[3]};
    const Layout last = channels_last("NCHW");
    sizes.channels_last = !src.layout.is_blocked() && src.layout.same_bytes(last, src.shape) && sizes.channels >= 8;
    const std::string mode = opr.param().enum_name("imode");
    CpuKernelChoice choice;
    std::unique_ptr<ResamplingKernel> kernel;
    choice.input_layouts.resize(view.inputs.size());
    choice.input_unused.assign(view.inputs.size(), true);
    if (opr.type == "Resize") {
        auto rows = general_resize_taps(mode, sizes.in_h, sizes.out_h);
        auto columns = general_resize_taps(mode, sizes.in_w, sizes.out_w);
        if (!rows || !columns) return std::nullopt;
        std::size_t most = 1;
        for (const auto* axis : {&*rows, &*columns})
            for (const ResizeTaps& taps : *axis) most = std::max(most, taps.count);
        if (most * most > max_taps) return std::nullopt;
        kernel = std::make_unique<ResizeKernel>(context.threads, sizes, *std::move(rows), *std::move(columns), most);
    } else {
        const CpuValueInfo& map = view.inputs[1];
        const auto border = static_cast<BorderMode>(opr.param().integer("border_type"));
        if (map.dtype.id != DTypeId::float32 || border > BorderMode::constant || (mode != "LINEAR" && mode != "NEAREST") ||
            map.shape.elements() != static_cast<std::size_t>(sizes.batch * sizes.out_h * sizes.out_w * 2))
            return std::nullopt;
        choice.input_layouts[1] = Layout::plain(map.shape.ndim());
        choice.input_unused[1] = false;
        kernel = std::make_unique<RemapKernel>(context.threads, sizes, border, static_cast<float>(opr.param().real("scalar")), mode == "NEAREST");
    }
    choice.input_layouts[0] = sizes.channels_last ? last : Layout::plain(4);
    choice.input_unused[0] = false;
    choice.output_layouts = {choice.input_layouts[0]};
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
