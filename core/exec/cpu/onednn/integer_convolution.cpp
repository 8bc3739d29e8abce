// Convolution and ConvBias of int8 numbers (QuantizedS8, Int8): exact integer sums by oneDNN, then MegEngine's own rounding.

#include <algorithm>
#include <array>
#include <cmath>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/onednn/onednn_kernel.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/cpu/vector/convert.h"
#include "exec/cpu/vector/formulas.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_problem.h"
#include "tensor/element.h"

namespace megascope {
namespace {

using dnnl::memory;

/// From int32 sums to the result's dtype, by the rules of 32-bit integer convolutions.
struct IntegerFinish {
    DType result;
    float scale = 1; ///< real value of a sum is sum * scale
    int nonline = 0; ///< ConvBias: 0 identity, 1 ReLU, 2 sigmoid, 3 H_SWISH
    std::optional<DType> z;

    /// Without z and with a piecewise linear nonlinearity the sums are rescaled as integers; the order decides exact ties.
    [[nodiscard]] bool by_ratio() const { return !z && nonline <= 1 && result.is_quantized() && result.id != DTypeId::qint32; }
};

class IntegerConvKernel final : public CpuKernel {
public:
    IntegerConvKernel(const CpuContext& context, std::unique_ptr<OnednnKernel> sums, const IntegerFinish& finish,
                      std::size_t elements, int z_input)
        : threads_(context.threads), sums_(std::move(sums)), finish_(finish), elements_(elements), z_input_(z_input) {}

    /// Scratch: the sums, then what oneDNN asks for.
    std::size_t sums_bytes() const { return stores_directly() ? 0 : (elements_ * sizeof(std::int32_t) + 63) / 64 * 64; }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override {
        std::byte* sums = stores_directly() ? outputs[0] : scratch;
        MGS_TRY(sums_->run(inputs, std::span(&sums, 1), scratch + sums_bytes()));
        if (stores_directly() && finish_.nonline == 0) return {};
        const auto* from = reinterpret_cast<const std::int32_t*>(sums);
        const std::byte* z = z_input_ >= 0 ? inputs[static_cast<std::size_t>(z_input_)] : nullptr;
        threads_.parallel_for(elements_, 16384,
                              [&](std::size_t begin, std::size_t end, std::size_t) { finish(from, z, outputs[0], begin, end); });
        return {};
    }

private:
    [[nodiscard]] bool stores_directly() const {
        return finish_.result.bits() == 32 && finish_.result.id != DTypeId::float32 && !finish_.z && finish_.nonline <= 1;
    }

    void finish(const std::int32_t* sums, const std::byte* z, std::byte* out, std::size_t begin, std::size_t end) const {
        const DType& to = finish_.result;
        if (stores_directly()) { // ReLU of the sums themselves
            auto* numbers = reinterpret_cast<std::int32_t*>(out);
            for (std::size_t i = begin; i < end; ++i) numbers[i] = std::max(sums[i], 0);
            return;
        }
        if (finish_.by_ratio() && to.bits() == 8) {
            const StoredRange range = stored_range(to);
            const std::int32_t zero = to.zero_point;
            const auto low = static_cast<std::int32_t>(finish_.nonline == 1 ? 0 : range.low - zero);
            requantize(sums + begin, finish_.scale / to.scale, low, static_cast<std::int32_t>(range.high) - zero, zero,
                       reinterpret_cast<std::int8_t*>(out) + begin, end - begin);
            return;
        }
        constexpr std::size_t tile = 512;
        std::array<float, tile> values, added;
        DType as_real(DTypeId::qint32, finish_.scale);
        const std::size_t out_size = to.bits() / 8;
        for (std::size_t at = begin; at < end; at += tile) {
            const std::size_t count = std::min(tile, end - at);
            load_floats(as_real, reinterpret_cast<const std::byte*>(sums + at), values.data(), count);
            if (z) {
                load_floats(*finish_.z, z + at * (finish_.z->bits() / 8), added.data(), count);
                for (std::size_t i = 0; i < count; ++i) values[i] += added[i];
            }
            constexpr std::array<ElemwiseMode, 4> nonlinearities = {ElemwiseMode::relu, ElemwiseMode::relu, ElemwiseMode::sigmoid,
                                                                    ElemwiseMode::h_swish};
            if (finish_.nonline > 0)
                float_formula(nonlinearities[static_cast<std::size_t>(finish_.nonline)], values.data(), nullptr, nullptr, nullptr,
                              values.data(), count);
            store_floats(to, values.data(), out + at * out_size, count);
        }
    }

    const CpuThreads threads_;
    std::unique_ptr<OnednnKernel> sums_;
    IntegerFinish finish_;
    std::size_t elements_;
    int z_input_;
};

bool is_int8(const DType& dtype) { return dtype.id == DTypeId::qint8 || dtype.id == DTypeId::int8; }

std::vector<std::int8_t> prepared_filter(const Tensor& filter, const ConvProblem& problem) {
    const std::vector<double> plain = plain_filter(filter.ref(), problem);
    std::vector<std::int8_t> result(plain.size());
    std::ranges::transform(plain, result.begin(), [](double v) { return static_cast<std::int8_t>(v); });
    const auto taps = static_cast<std::ptrdiff_t>(problem.filter[3] * problem.filter[4]);
    if (problem.geometry.flip)
        for (auto at = result.begin(); at != result.end(); at += taps) std::reverse(at, at + taps);
    return result;
}

} // namespace

bool exact_int8() {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx: return true;
    default: return false;
    }
}

std::optional<CpuKernelChoice> build_integer_convolution(const CpuContext& context, const CpuGroupView& view) {
    const Opr& opr = view.head();
    const bool with_bias_form = opr.type == "ConvBiasForward";
    if (view.group.oprs.size() != 1 || view.group.has_head || (opr.type != "Convolution" && !with_bias_form) || !exact_int8())
        return std::nullopt;
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& filter = view.inputs[1];
    const CpuValueInfo& dst = view.outputs[0];
    if (!is_int8(src.dtype) || !is_int8(filter.dtype) || !filter.constant || !floats_storable(dst.dtype)) return std::nullopt;
    Expected<ConvProblem> found = conv_problem(conv_settings(opr.param()), src.shape, filter.shape, dst.shape);
    if (!found) return std::nullopt;
    const ConvProblem& p = *found;
    const ConvGeometry& g = p.geometry;
    const Expected<Shape> out = plain_shape(dst.shape, p.layout.dst, image_order);
    if (!out || p.src[1] != g.groups * g.icpg || (*out)[1] != g.groups * g.ocpg || out->elements() == 0) return std::nullopt;

    IntegerFinish finish;
    finish.result = dst.dtype;
    finish.scale = product_scale(src.dtype, filter.dtype);
    finish.nonline = with_bias_form ? static_cast<int>(opr.param().integer("nonlineMode")) : 0;
    if (finish.nonline > 3 || (!dst.dtype.is_quantized() && dst.dtype.id != DTypeId::float32 && dst.dtype.id != DTypeId::int32))
        return std::nullopt;
    const bool has_bias = view.inputs.size() > 2 && view.inputs[2].shape.elements() > 0;
    const bool has_z = view.inputs.size() > 3 && view.inputs[3].shape.elements() > 0;
    if (has_bias) {
        const CpuValueInfo& bias = view.inputs[2];
        const bool integer = bias.dtype.id == DTypeId::qint32 || bias.dtype.id == DTypeId::int32;
        if (!integer || bias.shape.elements() != static_cast<std::size_t>((*out)[1])) return std::nullopt;
    }
    if (has_z) {
        if (view.inputs[3].shape != dst.shape || !floats_loadable(view.inputs[3].dtype)) return std::nullopt;
        finish.z = view.inputs[3].dtype;
    }

    try {
        const auto s8 = memory::data_type::s8;
        const auto s32 = memory::data_type::s32;
        memory::dims weight_dims = {g.ocpg, g.icpg, g.axes[1].kernel, g.axes[2].kernel};
        if (g.groups > 1) weight_dims.insert(weight_dims.begin(), g.groups);
        const memory::desc image(onednn_dims(p.src), s8, memory::format_tag::nhwc);
        const memory::desc weights(weight_dims, s8, memory::format_tag::any);
        const memory::desc stored(weight_dims, s8, g.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
        const memory::desc bias = has_bias ? memory::desc({(*out)[1]}, s32, memory::format_tag::x) : memory::desc();
        const memory::desc sums(onednn_dims(*out), s32, memory::format_tag::nhwc);
        const memory::dims strides = {g.axes[1].stride, g.axes[2].stride};
        const memory::dims dilates = {g.axes[1].dilate - 1, g.axes[2].dilate - 1};
        const memory::dims pads = {g.axes[1].pad, g.axes[2].pad};
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, image,
                                                   weights, bias, sums, strides, dilates, pads, pads);
        const dnnl::convolution_forward::primitive_desc pd(desc, attributes, context.engine);

        CpuKernelChoice choice;
        choice.input_unused.assign(view.inputs.size(), true);
        choice.input_layouts.resize(view.inputs.size());
        choice.output_layouts = {channels_last(p.layout.dst)};
        const auto read = [&](std::size_t input, const Layout& layout) {
            choice.input_unused[input] = false;
            choice.input_layouts[input] = layout;
        };
        auto kernel = std::make_unique<OnednnKernel>(context);
        read(0, channels_last(p.layout.src));
        std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_SRC, kernel->input(0, image)}};
        const auto packed = shared_weights(context, PackedWeights::key(view, 1, pd.weights_desc()), [&] {
            const std::vector<std::int8_t> plain = prepared_filter(*filter.constant, p);
            return packed_memory(context, stored, plain.data(), pd.weights_desc());
        });
        kernel->hold(packed);
        choice.weight_bytes += pd.weights_desc().get_size();
        arguments.push_back({DNNL_ARG_WEIGHTS, *packed});
        if (has_bias && view.inputs[2].constant) {
            arguments.push_back({DNNL_ARG_BIAS, owned_memory(context, bias, view.inputs[2].constant->bytes().data())});
            choice.weight_bytes += bias.get_size();
        } else if (has_bias) {
            read(2, Layout::plain(view.inputs[2].shape.ndim()));
            arguments.push_back({DNNL_ARG_BIAS, kernel->input(2, bias)});
        }
        if (has_z) read(3, channels_last(p.layout.dst));
        arguments.push_back({DNNL_ARG_DST, kernel->output(0, sums)});
        if (pd.scratchpad_desc().get_size() > 0)
            arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
        kernel->add(dnnl::convolution_forward(pd), arguments);
        const std::size_t scratch = kernel->scratch_bytes();
        auto whole = std::make_unique<IntegerConvKernel>(context, std::move(kernel), finish, out->elements(), has_z ? 3 : -1);
        choice.scratch_bytes = whole->sums_bytes() + scratch;
        choice.name = std::string(pd.impl_info_str()) + " int8";
        choice.kernel = std::move(whole);
        return choice;
    } catch (const dnnl::error&) {
        return std::nullopt;
    }
}

} // namespace megascope
