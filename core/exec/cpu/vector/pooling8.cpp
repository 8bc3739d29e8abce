// Pooling of 8-bit numbers in NHWC, with MegEngine's rounding of means.

#include <algorithm>
#include <array>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/pooling_windows.h"
#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

struct Pool8 {
    PoolingWindows windows;
    std::int64_t batch, channels, in_h, in_w, out_h, out_w;
    DType dtype;
};

template <class T>
MGS_INLINE void take_larger(const T* x, std::int32_t* best, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) best[i] = x[i] > best[i] ? x[i] : best[i];
}
template <class T>
MGS_INLINE void add_up(const T* x, std::int32_t* sums, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += x[i];
}
MGS_VECTOR_CODE void take_larger_s8(const std::int8_t* x, std::int32_t* best, std::size_t count) { take_larger(x, best, count); }
MGS_VECTOR_CODE void take_larger_u8(const std::uint8_t* x, std::int32_t* best, std::size_t count) { take_larger(x, best, count); }
MGS_VECTOR_CODE void add_up_s8(const std::int8_t* x, std::int32_t* sums, std::size_t count) { add_up(x, sums, count); }
MGS_VECTOR_CODE void add_up_u8(const std::uint8_t* x, std::int32_t* sums, std::size_t count) { add_up(x, sums, count); }

class Pooling8Kernel final : public CpuKernel {
public:
    Pooling8Kernel(const CpuThreads& threads, const Pool8& pool)
        : threads_(threads), pool_(pool), is_signed_(pool.dtype.id == DTypeId::int8 || pool.dtype.id == DTypeId::qint8) {}

    std::size_t scratch_bytes() const {
        return static_cast<std::size_t>(pool_.channels * threads_.count()) * sizeof(std::int32_t);
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override {
        const auto channels = static_cast<std::size_t>(pool_.channels);
        const auto pixels = static_cast<std::size_t>(pool_.batch * pool_.out_h * pool_.out_w);
        threads_.parallel_for(pixels, std::max<std::size_t>(1, 4096 / channels),
                              [&](std::size_t begin, std::size_t end, std::size_t piece) {
                                  auto* sums = reinterpret_cast<std::int32_t*>(scratch) + piece * channels;
                                  for (std::size_t p = begin; p < end; ++p)
                                      pixel(static_cast<std::int64_t>(p), inputs[0], outputs[0] + p * channels, sums);
                              });
        return {};
    }

private:
    void pixel(std::int64_t p, const std::byte* image, std::byte* out, std::int32_t* sums) const {
        const auto channels = static_cast<std::size_t>(pool_.channels);
        const PoolingWindows& w = pool_.windows;
        const std::int64_t ow = p % pool_.out_w;
        const std::int64_t oh = p / pool_.out_w % pool_.out_h;
        const std::int64_t n = p / pool_.out_w / pool_.out_h;
        const std::int64_t h0 = std::max<std::int64_t>(oh * w.stride[0] - w.pad[0], 0);
        const std::int64_t h1 = std::min(oh * w.stride[0] - w.pad[0] + w.size[0], pool_.in_h);
        const std::int64_t w0 = std::max<std::int64_t>(ow * w.stride[1] - w.pad[1], 0);
        const std::int64_t w1 = std::min(ow * w.stride[1] - w.pad[1] + w.size[1], pool_.in_w);
        const bool maximum = w.mode == PoolingMode::maximum;
        std::fill_n(sums, channels, maximum ? INT32_MIN : 0);
        for (std::int64_t h = h0; h < h1; ++h)
            for (std::int64_t x = w0; x < w1; ++x) {
                const std::byte* at = image + static_cast<std::size_t>(((n * pool_.in_h + h) * pool_.in_w + x) * pool_.channels);
                const auto* s8 = reinterpret_cast<const std::int8_t*>(at);
                const auto* u8 = reinterpret_cast<const std::uint8_t*>(at);
                if (maximum)
                    is_signed_ ? take_larger_s8(s8, sums, channels) : take_larger_u8(u8, sums, channels);
                else
                    is_signed_ ? add_up_s8(s8, sums, channels) : add_up_u8(u8, sums, channels);
            }
        if (maximum) {
            for (std::size_t c = 0; c < channels; ++c) out[c] = static_cast<std::byte>(sums[c]);
            return;
        }
        const auto covered = static_cast<std::int32_t>((h1 - h0) * (w1 - w0));
        const auto whole = static_cast<std::int32_t>(w.size[0] * w.size[1]);
        const std::int32_t count = w.mode == PoolingMode::average ? whole : covered;
        // Positions in the padding count as the zero point.
        const std::int32_t missing = (count - covered) * static_cast<std::int32_t>(pool_.dtype.zero_point);
        for (std::size_t c = 0; c < channels; ++c) out[c] = static_cast<std::byte>(mean(sums[c] + missing, count));
    }

    /// Plain integers truncate, signed quantized numbers round half away from zero, asymmetric ones half up (they are not
    /// negative).
    [[nodiscard]] std::int32_t mean(std::int32_t sum, std::int32_t count) const {
        if (!pool_.dtype.is_quantized()) return sum / count;
        if (pool_.dtype.is_asymmetric()) return (2 * sum + count) / (2 * count);
        return sum >= 0 ? (2 * sum + count) / (2 * count) : -((-2 * sum + count) / (2 * count));
    }

    const CpuThreads threads_;
    Pool8 pool_;
    bool is_signed_;
};

} // namespace

std::optional<CpuKernelChoice> build_pooling8(const CpuContext& context, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1) return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const DTypeId id = src.dtype.id;
    if (id != DTypeId::int8 && id != DTypeId::uint8 && id != DTypeId::qint8 && id != DTypeId::quint8) return std::nullopt;
    if (view.outputs[0].dtype != src.dtype) return std::nullopt;
    const std::optional<PoolingWindows> windows = pooling_windows(view.head(), src.shape, view.outputs[0].shape);
    if (!windows) return std::nullopt;
    const Shape& in = windows->src;
    const Shape& out = windows->dst;
    const Pool8 pool{*windows, in[0], in[1], in[2], in[3], out[2], out[3], src.dtype};
    auto kernel = std::make_unique<Pooling8Kernel>(context.threads, pool);
    CpuKernelChoice choice;
    choice.input_layouts.assign(view.inputs.size(), channels_last(windows->letters));
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_unused[0] = false;
    choice.output_layouts = {channels_last(windows->letters)};
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
