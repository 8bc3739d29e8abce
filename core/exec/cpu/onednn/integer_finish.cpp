#include "exec/cpu/onednn/integer_finish.h"

#include <algorithm>
#include <array>

#include "exec/cpu/vector/convert.h"
#include "exec/cpu/vector/formulas.h"
#include "tensor/element.h"

namespace megascope {

std::optional<IntegerFinish> IntegerFinish::of(const CpuGroupView& view, float scale) {
    const CpuValueInfo& dst = view.outputs[0];
    IntegerFinish finish;
    finish.result = dst.dtype;
    finish.scale = scale;
    const bool fused = view.head().type == "ConvBiasForward";
    finish.nonline = fused ? static_cast<int>(view.head().param().integer("nonlineMode")) : 0;
    if (fused && view.inputs.size() > 3 && view.inputs[3].shape.elements() > 0) {
        const CpuValueInfo& z = view.inputs[3];
        if (z.shape != dst.shape || !floats_loadable(z.dtype)) return std::nullopt;
        finish.z = z.dtype;
    }
    const DType& to = dst.dtype;
    if (finish.nonline > 3 || !floats_storable(to)) return std::nullopt;
    if (!to.is_quantized() && to.id != DTypeId::float32 && to.id != DTypeId::int32) return std::nullopt;
    if (finish.by_ratio() && to.bits() != 8) return std::nullopt;
    return finish;
}

bool IntegerFinish::stores_sums() const {
    return (result.id == DTypeId::qint32 || result.id == DTypeId::int32) && !z && nonline <= 1;
}

void IntegerFinish::run(const std::int32_t* sums, const std::byte* added, std::byte* out, std::size_t begin,
                        std::size_t end) const {
    if (stores_sums()) {
        auto* numbers = reinterpret_cast<std::int32_t*>(out);
        if (nonline == 1)
            for (std::size_t i = begin; i < end; ++i) numbers[i] = std::max(sums[i], 0);
        else if (numbers != sums)
            std::copy(sums + begin, sums + end, numbers + begin);
        return;
    }
    if (by_ratio()) {
        const StoredRange range = stored_range(result);
        const std::int32_t zero = result.zero_point;
        const auto low = static_cast<std::int32_t>(nonline == 1 ? 0 : range.low - zero);
        requantize(sums + begin, scale / result.scale, low, static_cast<std::int32_t>(range.high) - zero, zero,
                   reinterpret_cast<std::int8_t*>(out) + begin, end - begin);
        return;
    }
    constexpr std::size_t tile = 512;
    std::array<float, tile> values, addends;
    const DType as_real(DTypeId::qint32, scale);
    const std::size_t out_size = result.bits() / 8;
    for (std::size_t at = begin; at < end; at += tile) {
        const std::size_t count = std::min(tile, end - at);
        load_floats(as_real, reinterpret_cast<const std::byte*>(sums + at), values.data(), count);
        if (z) {
            load_floats(*z, added + at * (z->bits() / 8), addends.data(), count);
            for (std::size_t i = 0; i < count; ++i) values[i] += addends[i];
        }
        constexpr std::array<ElemwiseMode, 4> nonlinearities = {ElemwiseMode::relu, ElemwiseMode::relu, ElemwiseMode::sigmoid,
                                                                ElemwiseMode::h_swish};
        if (nonline > 0)
            float_formula(nonlinearities[static_cast<std::size_t>(nonline)], values.data(), nullptr, nullptr, nullptr, values.data(),
                          count);
        store_floats(result, values.data(), out + at * out_size, count);
    }
}

} // namespace megascope
