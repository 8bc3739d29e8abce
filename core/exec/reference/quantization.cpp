#include <algorithm>
#include <cmath>
#include <numbers>

#include "exec/reference/elemwise_loop.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"

namespace megascope {

namespace {

/// Limits as float, in which the library clamps.
struct Limits {
    float low = 0;
    float high = 0;
};
Limits limits(const KernelArgs& args) {
    return {static_cast<float>(args.opr.param().integer("qmin")), static_cast<float>(args.opr.param().integer("qmax"))};
}
float clamp_to(float v, Limits l) { return std::min(std::max(v, l.low), l.high); }

/// Runs f(a, b, …) on broadcast inputs in float.
template <class F>
Expected<void> per_element(std::span<const TensorRef> inputs, const MutTensorRef& out, F f) {
    MGS_TRY(check_broadcast(inputs, out.shape));
    for_each_block<float>(inputs, out, [&](const auto& in, float* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = f(in, i);
    });
    return {};
}

// In all of them `in` is: x, scale, [zero_point, [grad_scale]]; the backward forms have dy first.

Expected<void> fake_quant(const KernelArgs& args) {
    const Limits l = limits(args);
    return per_element(args.inputs, args.outputs[0], [l](const auto& in, std::size_t i) {
        const float scale = in[1][i];
        const float zero = in[2][i];
        return (clamp_to(std::round(in[0][i] / scale) + zero, l) - zero) * scale;
    });
}

/// The gradient passes where the value was not clamped.
Expected<void> fake_quant_backward(const KernelArgs& args) {
    const Limits l = limits(args);
    return per_element(args.inputs, args.outputs[0], [l](const auto& in, std::size_t i) {
        const float q = std::round(in[1][i] / in[2][i]) + in[3][i];
        return q >= l.low && q <= l.high ? in[0][i] : 0.0F;
    });
}

Expected<void> tqt(const KernelArgs& args) {
    const Limits l = limits(args);
    return per_element(args.inputs, args.outputs[0], [l](const auto& in, std::size_t i) {
        const float t = std::exp2(in[1][i]);
        return clamp_to(std::round(in[0][i] / t), l) * t;
    });
}

Expected<void> lsq(const KernelArgs& args) {
    const Limits l = limits(args);
    return per_element(args.inputs.first(3), args.outputs[0], [l](const auto& in, std::size_t i) {
        const float scale = in[1][i];
        const float zero = in[2][i];
        return (std::round(clamp_to(in[0][i] / scale + zero, l)) - zero) * scale;
    });
}

/// The library never treats a value as clipped here, so the gradient always passes. dscale has one entry per element of x.
Expected<void> tqt_backward(const KernelArgs& args) {
    const Limits l = limits(args);
    MGS_TRY(per_element(args.inputs, args.outputs[0], [](const auto& in, std::size_t i) { return in[0][i]; }));
    return per_element(args.inputs, args.outputs[1], [l](const auto& in, std::size_t i) {
        const float t = std::exp2(in[2][i]);
        const float scaled = in[1][i] / t;
        return in[0][i] * (clamp_to(std::round(scaled), l) - scaled) * t * std::numbers::ln2_v<float>;
    });
}

/// dx passes inside the limits; dscale (one entry per element of x) is the limit outside and round(q) - q inside, times grad_scale.
Expected<void> lsq_backward(const KernelArgs& args) {
    const Limits l = limits(args);
    const auto place = [](const auto& in, std::size_t i) { return in[1][i] / in[2][i] + in[3][i]; };
    MGS_TRY(per_element(args.inputs, args.outputs[0], [&](const auto& in, std::size_t i) {
        const float q = place(in, i);
        return q < l.low || q > l.high ? 0.0F : in[0][i];
    }));
    return per_element(args.inputs, args.outputs[1], [&](const auto& in, std::size_t i) {
        const float q = place(in, i);
        return (q < l.low ? l.low : q > l.high ? l.high : std::round(q) - q) * in[4][i] * in[0][i];
    });
}

} // namespace

void add_quantization_kernels(ReferenceKernels& kernels) {
    kernels["FakeQuant"] = {fake_quant};
    kernels["FakeQuantBackward"] = {fake_quant_backward};
    kernels["TQT"] = {tqt};
    kernels["TQTBackward"] = {tqt_backward};
    kernels["LSQ"] = {lsq};
    kernels["LSQBackward"] = {lsq_backward};
}

} // namespace megascope
