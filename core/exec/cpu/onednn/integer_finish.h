#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exec/cpu/kernel.h"

namespace megascope {

/// From the exact 32-bit sums of an integer convolution (bias included) to the result's dtype, by MegEngine's rules. A value type.
struct IntegerFinish {
    DType result;
    float scale = 1; ///< real value of a sum is sum * scale
    int nonline = 0; ///< ConvBias: 0 identity, 1 ReLU, 2 sigmoid, 3 H_SWISH
    std::optional<DType> z;

    /// What the operator asks for; z is input 3 of a ConvBias. Nothing when these dtypes go another way.
    [[nodiscard]] static std::optional<IntegerFinish> of(const CpuGroupView& view, float scale);

    /// The result takes the sums as they are, so they may be computed in its memory.
    [[nodiscard]] bool stores_sums() const;
    /// Elements [begin, end). `z` may be null when there is none; `sums` may be `out` when `stores_sums`.
    void run(const std::int32_t* sums, const std::byte* z, std::byte* out, std::size_t begin, std::size_t end) const;

private:
    /// Without z and with a piecewise linear nonlinearity the sums are rescaled as integers; the order decides exact ties.
    [[nodiscard]] bool by_ratio() const { return !z && nonline <= 1 && result.is_quantized() && result.id != DTypeId::qint32; }
};

} // namespace megascope
