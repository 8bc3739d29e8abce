#pragma once

#include <bit>
#include <cstdint>

namespace megascope {

// Conversions between float and the two 16-bit floats, rounding to nearest even. Portable; vector code has its own.

[[nodiscard]] inline float half_to_float(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
    const std::uint32_t exponent = (h >> 10) & 0x1fU;
    std::uint32_t mantissa = h & 0x3ffU;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    if (exponent == 0) {
        if (mantissa == 0) return std::bit_cast<float>(sign);
        // Subnormal: value = mantissa * 2^-24, exact in float.
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

[[nodiscard]] inline std::uint16_t float_to_half(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
    if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U); // rounds to infinity, or is
    if (magnitude < 0x38800000U) { // below the smallest normal half: multiples of 2^-24
        if (magnitude <= 0x33000000U) return sign; // at most half of the smallest subnormal: ties to even zero
        const std::uint32_t exponent = magnitude >> 23;
        const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
        const std::uint32_t shift = 126 - exponent; // 14 … 24
        std::uint32_t half = mantissa >> shift;
        const std::uint32_t rest = mantissa & ((1U << shift) - 1);
        const std::uint32_t middle = 1U << (shift - 1);
        if (rest > middle || (rest == middle && (half & 1U))) ++half;
        return static_cast<std::uint16_t>(sign | half);
    }
    std::uint32_t half = (magnitude - 0x38000000U) >> 13;
    const std::uint32_t rest = magnitude & 0x1fffU;
    if (rest > 0x1000U || (rest == 0x1000U && (half & 1U))) ++half;
    return static_cast<std::uint16_t>(sign | half);
}

[[nodiscard]] inline float bfloat16_to_float(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

[[nodiscard]] inline std::uint16_t float_to_bfloat16(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace megascope
