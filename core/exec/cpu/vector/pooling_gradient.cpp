// PoolingBackward and AdaptivePoolingBackward of float images, plane by plane.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/pooling_windows.h"

namespace megascope {
namespace {

class PoolingGradientKernel final : public CpuKernel {
public:
    PoolingGradientKernel(const CpuThreads& threads, const PoolingWindows& windows, std::size_t diff_input)
        : threads_(threads), w_(windows), diff_input_(diff_input) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        const auto* src = reinterpret_cast<const float*>(inputs[0]);
        const auto* diff = reinterpret_cast<const float*>(inputs[diff_input_]);
        auto* grad = reinterpret_cast<float*>(outputs[0]);
        const auto in = static_cast<std::size_t>(w_.src[2] * w_.src[3]);
        const auto out = static_cast<std::size_t>(w_.dst[2] * w_.dst[3]);
        const auto planes = static_cast<std::size_t>(w_.src[0] * w_.src[1]);
        threads_.parallel_for(planes, std::max<std::size_t>(1, 8192 / in), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t p = begin; p < end; ++p) plane(src + p * in, diff + p * out, grad + p * in);
        });
        return {};
    }

private:
    void plane(const float* src, const float* diff, float* grad) const {
        const std::int64_t height = w_.src[2], width = w_.src[3];
        std::fill_n(grad, height * width, 0.0F);
        for (std::int64_t oh = 0; oh < w_.dst[2]; ++oh) {
            const std::int64_t top = oh * w_.stride[0] - w_.pad[0];
            const std::int64_t h0 = std::max<std::int64_t>(top, 0), h1 = std::min(top + w_.size[0], height);
            for (std::int64_t ow = 0; ow < w_.dst[3]; ++ow) {
                const std::int64_t left = ow * w_.stride[1] - w_.pad[1];
                const std::int64_t w0 = std::max<std::int64_t>(left, 0), w1 = std::min(left + w_.size[1], width);
                const float d = *diff++;
                if (w_.mode == PoolingMode::maximum) { // to the first of the largest
                    std::int64_t best = h0 * width + w0;
                    for (std::int64_t h = h0; h < h1; ++h)
                        for (std::int64_t at = h * width + w0; at < h * width + w1; ++at)
                            if (src[at] > src[best]) best = at;
                    grad[best] += d;
                    continue;
                }
                const std::int64_t count = w_.mode == PoolingMode::average ? w_.size[0] * w_.size[1] : (h1 - h0) * (w1 - w0);
                const float share = d / static_cast<float>(count);
                for (std::int64_t h = h0; h < h1; ++h)
                    for (std::int64_t at = h * width + w0; at < h * width + w1; ++at) grad[at] += share;
            }
        }
    }

    const CpuThreads threads_;
    PoolingWindows w_;
    std::size_t diff_input_;
};

} // namespace

std::optional<CpuKernelChoice> build_pooling_gradient(const CpuContext& context, const CpuGroupView& view) {
    const std::size_t diff = view.head().type == "AdaptivePoolingBackward" ? 3 : 2;
    if (view.group.oprs.size() != 1 || view.inputs.size() <= diff) return std::nullopt;
    const CpuValueInfo& grad = view.outputs[0];
    for (const CpuValueInfo* value : {&view.inputs[0], &view.inputs[diff], &grad})
        if (value->dtype.id != DTypeId::float32) return std::nullopt;
    const std::optional<PoolingWindows> windows = pooling_windows(view.head(), view.inputs[0].shape, view.inputs[diff].shape);
    if (!windows || windows->letters != "NCHW" || grad.shape != windows->src) return std::nullopt;
    CpuKernelChoice choice;
    choice.input_layouts.resize(view.inputs.size());
    choice.input_unused.assign(view.inputs.size(), true);
    for (const std::size_t input : {std::size_t{0}, diff}) {
        choice.input_unused[input] = false;
        choice.input_layouts[input] = Layout::plain(4);
    }
    choice.output_layouts = {Layout::plain(4)};
    choice.kernel = std::make_unique<PoolingGradientKernel>(context.threads, *windows, diff);
    choice.name = "loop";
    return choice;
}

} // namespace megascope
