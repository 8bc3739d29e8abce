// Convolution and ConvBias of Quantized8Asymm with one filter per channel, in NHWC: neither image nor filter fit signed bytes once
// their zero points are taken off.

#include <algorithm>
#include <array>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/integer_finish.h"
#include "exec/cpu/vector/simd.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"

namespace megascope {
namespace {

constexpr std::size_t channel_block = 64;

struct Tap {
    const std::uint8_t* pixels;
    const std::int32_t* weights;
};

template <std::size_t count>
MGS_INLINE void sum_block(std::span<const Tap> taps, std::size_t channel, std::int32_t zero, std::int32_t* sums) {
    std::array<std::int32_t, count> block;
    for (std::size_t c = 0; c < count; ++c) block[c] = sums[c];
    for (const Tap& tap : taps)
        for (std::size_t c = 0; c < count; ++c) block[c] += (tap.pixels[channel + c] - zero) * tap.weights[channel + c];
    for (std::size_t c = 0; c < count; ++c) sums[c] = block[c];
}

/// sums[c] += (pixel - zero) * weight over the taps, for all channels of one output position.
MGS_VECTOR_CODE void sum_taps(std::span<const Tap> taps, std::int32_t zero, std::int32_t* sums, std::size_t channels) {
    std::size_t c = 0;
    for (; c + channel_block <= channels; c += channel_block) sum_block<channel_block>(taps, c, zero, sums + c);
    for (; c + 16 <= channels; c += 16) sum_block<16>(taps, c, zero, sums + c);
    for (; c < channels; ++c) sum_block<1>(taps, c, zero, sums + c);
}

class IntegerDepthwiseKernel final : public CpuKernel {
public:
    IntegerDepthwiseKernel(const CpuThreads& threads, const ConvGeometry& geometry, std::int32_t zero, IntegerFinish finish,
                           std::vector<std::int32_t> weights, std::vector<std::int32_t> bias, int bias_input, int z_input)
        : threads_(threads), g_(geometry), zero_(zero), finish_(std::move(finish)), weights_(std::move(weights)),
          bias_(std::move(bias)), bias_input_(bias_input), z_input_(z_input) {}

    std::size_t scratch_bytes() const {
        const auto elements = static_cast<std::size_t>(g_.dst_elements());
        return finish_.stores_sums() ? 0 : elements * sizeof(std::int32_t);
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override {
        const auto channels = static_cast<std::size_t>(g_.groups);
        const auto* image = reinterpret_cast<const std::uint8_t*>(inputs[0]);
        const std::byte* z = z_input_ >= 0 ? inputs[static_cast<std::size_t>(z_input_)] : nullptr;
        const std::int32_t* bias = bias_.empty() ? nullptr : bias_.data();
        if (bias_input_ >= 0) bias = reinterpret_cast<const std::int32_t*>(inputs[static_cast<std::size_t>(bias_input_)]);
        auto* sums = reinterpret_cast<std::int32_t*>(finish_.stores_sums() ? outputs[0] : scratch);
        const auto pixels = static_cast<std::size_t>(g_.batch * g_.axes[1].out * g_.axes[2].out);
        threads_.parallel_for(pixels, std::max<std::size_t>(1, 4096 / channels), [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<Tap> taps(static_cast<std::size_t>(g_.taps()));
            for (std::size_t p = begin; p < end; ++p) {
                std::int32_t* row = sums + p * channels;
                if (bias)
                    std::copy_n(bias, channels, row);
                else
                    std::fill_n(row, channels, 0);
                sum_taps(taps_at(static_cast<std::int64_t>(p), image, taps), zero_, row, channels);
                finish_.run(sums, z, outputs[0], p * channels, (p + 1) * channels);
            }
        });
        return {};
    }

private:
    /// The taps of output position `p` that lie in the image.
    std::span<const Tap> taps_at(std::int64_t p, const std::uint8_t* image, std::vector<Tap>& taps) const {
        const ConvAxis& h = g_.axes[1];
        const ConvAxis& w = g_.axes[2];
        const std::int64_t x0 = p % w.out * w.stride - w.pad;
        const std::int64_t y0 = p / w.out % h.out * h.stride - h.pad;
        const std::int64_t n = p / w.out / h.out;
        std::size_t count = 0;
        for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
            const std::int64_t y = y0 + kh * h.dilate;
            if (y < 0 || y >= h.in) continue;
            for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
                const std::int64_t x = x0 + kw * w.dilate;
                if (x < 0 || x >= w.in) continue;
                taps[count++] = {image + ((n * h.in + y) * w.in + x) * g_.groups,
                                 weights_.data() + (kh * w.kernel + kw) * g_.groups};
            }
        }
        return std::span(taps).first(count);
    }

    const CpuThreads threads_;
    ConvGeometry g_;
    std::int32_t zero_;
    IntegerFinish finish_;
    std::vector<std::int32_t> weights_; ///< tap by tap, zero point taken off
    std::vector<std::int32_t> bias_;
    int bias_input_;
    int z_input_;
};

} // namespace

std::optional<CpuKernelChoice> build_integer_depthwise(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    if (view.group.oprs.size() != 1 || view.group.has_head || (opr.type != "Convolution" && opr.type != "ConvBiasForward"))
        return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& filter = view.inputs[1];
    const CpuValueInfo& dst = view.outputs[0];
    if (src.dtype.id != DTypeId::quint8 || filter.dtype.id != DTypeId::quint8 || !filter.constant) return std::nullopt;
    const Expected<ConvProblem> found = conv_problem(conv_settings(opr.param()), src.shape, filter.shape, dst.shape);
    if (!found) return std::nullopt;
    const ConvProblem& p = *found;
    const ConvGeometry& g = p.geometry;
    const Expected<Shape> out = plain_shape(dst.shape, p.layout.dst, image_order);
    if (g.icpg != 1 || g.ocpg != 1 || p.src[1] != g.groups || !out || (*out)[1] != g.groups || out->elements() == 0)
        return std::nullopt;
    const std::optional<IntegerFinish> finish = IntegerFinish::of(view, product_scale(src.dtype, filter.dtype));
    if (!finish) return std::nullopt;

    CpuKernelChoice choice;
    choice.input_unused.assign(view.inputs.size(), true);
    choice.input_layouts.resize(view.inputs.size());
    choice.output_layouts = {channels_last(p.layout.dst)};
    const auto read = [&](std::size_t input, const Layout& wanted) {
        choice.input_unused[input] = false;
        choice.input_layouts[input] = wanted;
    };
    read(0, channels_last(p.layout.src));
    if (finish->z) read(3, channels_last(p.layout.dst));
    std::vector<std::int32_t> bias;
    int bias_input = -1;
    if (view.inputs.size() > 2 && view.inputs[2].shape.elements() > 0) {
        const CpuValueInfo& given = view.inputs[2];
        const bool integer = given.dtype.id == DTypeId::qint32 || given.dtype.id == DTypeId::int32;
        if (!integer || given.shape.elements() != static_cast<std::size_t>(g.groups)) return std::nullopt;
        if (given.constant) {
            const auto numbers = given.constant->ref().as<std::int32_t>();
            bias.assign(numbers.begin(), numbers.end());
        } else {
            bias_input = 2;
            read(2, Layout::plain(given.shape.ndim()));
        }
    }
    const std::vector<double> plain = plain_filter(filter.constant->ref(), p);
    const auto taps = static_cast<std::size_t>(g.taps());
    const auto channels = static_cast<std::size_t>(g.groups);
    std::vector<std::int32_t> weights(plain.size());
    for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t t = 0; t < taps; ++t)
            weights[(g.flip ? taps - 1 - t : t) * channels + c] = static_cast<std::int32_t>(plain[c * taps + t]);
    choice.weight_bytes = (weights.size() + bias.size()) * sizeof(std::int32_t);
    auto kernel = std::make_unique<IntegerDepthwiseKernel>(context.threads, g, src.dtype.zero_point, *finish, std::move(weights),
                                                           std::move(bias), bias_input, finish->z ? 3 : -1);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
