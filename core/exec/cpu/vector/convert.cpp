#include "exec/cpu/vector/convert.h"

#include <cstdint>
#include <cstring>

#include "exec/cpu/vector/simd.h"
#include "tensor/element.h"

namespace megascope {
namespace {

MGS_INLINE float from_half(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000U) << 16;
    const std::uint32_t rest = (h & 0x7fffU) << 13;
    const float tiny = static_cast<float>(static_cast<std::int32_t>(h & 0x3ffU)) * 0x1p-24F; // subnormal
    const std::uint32_t normal = rest + (112U << 23);
    const std::uint32_t special = rest | 0x7f800000U;
    const std::uint32_t exponent = h & 0x7c00U;
    const std::uint32_t magnitude = exponent == 0 ? std::bit_cast<std::uint32_t>(tiny) : (exponent == 0x7c00U ? special : normal);
    return std::bit_cast<float>(magnitude | sign);
}

MGS_INLINE std::uint16_t to_half(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    // Adding 0.5 puts the last place of a subnormal half at the last place of the float, and rounds to even there.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
    std::uint32_t half = magnitude < 0x38800000U ? tiny : normal;
    half = magnitude >= 0x477ff000U ? 0x7c00U : half;
    half = magnitude > 0x7f800000U ? nan : half;
    return static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000U));
}

MGS_INLINE std::uint16_t to_bfloat16(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? ((bits >> 16) | 0x40U) : rounded);
}

/// Nearest whole number, halves away from zero; |x| < 2^31. Exact where adding 0.5 would round up too early.
MGS_INLINE std::int32_t round_away(float x) {
    const auto whole = static_cast<std::int32_t>(x);
    const float rest = x - static_cast<float>(whole);
    return whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
}

/// Whole numbers of a float that may be anything; NaN becomes `low`.
MGS_INLINE float bounded(float x, float low, float high) { return x > low ? (x < high ? x : high) : low; }

template <class T>
MGS_INLINE void load_scaled(const std::byte* bytes, float* to, std::size_t count, std::int32_t zero, float scale) {
    const T* from = reinterpret_cast<const T*>(bytes);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<std::int32_t>(from[i]) - zero) * scale;
}

template <class T>
MGS_INLINE void load_plain(const std::byte* bytes, float* to, std::size_t count) {
    const T* from = reinterpret_cast<const T*>(bytes);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// Bounds as floats that convert back into the dtype's range; whole numbers there are exact or beyond rounding.
template <class T>
MGS_INLINE void store_quantized(const float* from, std::byte* bytes, std::size_t count, float scale, std::int32_t zero, float low,
                                float high) {
    T* to = reinterpret_cast<T*>(bytes);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(round_away(bounded(from[i] / scale, low, high)) + zero);
}

template <class T>
MGS_INLINE void store_truncated(const float* from, std::byte* bytes, std::size_t count) {
    T* to = reinterpret_cast<T*>(bytes);
    for (std::size_t i = 0; i < count; ++i) {
        // 2^31 itself is no int32: the largest float below it is the last that converts.
        const float x = bounded(from[i], -2147483648.0F, 2147483520.0F);
        const std::int32_t whole = from[i] >= 2147483648.0F ? INT32_MAX : static_cast<std::int32_t>(x);
        to[i] = static_cast<T>(whole);
    }
}

MGS_VECTOR_CODE void load(const DType& dtype, const std::byte* from, float* to, std::size_t count) {
    const float scale = dtype.scale;
    switch (dtype.id) {
    case DTypeId::float32: std::memcpy(to, from, count * sizeof(float)); break;
    case DTypeId::float16: {
        const auto* h = reinterpret_cast<const std::uint16_t*>(from);
        for (std::size_t i = 0; i < count; ++i) to[i] = from_half(h[i]);
        break;
    }
    case DTypeId::bfloat16: {
        const auto* h = reinterpret_cast<const std::uint16_t*>(from);
        for (std::size_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(h[i]) << 16);
        break;
    }
    case DTypeId::int8: load_plain<std::int8_t>(from, to, count); break;
    case DTypeId::uint8: load_plain<std::uint8_t>(from, to, count); break;
    case DTypeId::int16: load_plain<std::int16_t>(from, to, count); break;
    case DTypeId::uint16: load_plain<std::uint16_t>(from, to, count); break;
    case DTypeId::int32: load_plain<std::int32_t>(from, to, count); break;
    case DTypeId::bool_: {
        const auto* b = reinterpret_cast<const std::uint8_t*>(from);
        for (std::size_t i = 0; i < count; ++i) to[i] = b[i] != 0 ? 1.0F : 0.0F;
        break;
    }
    case DTypeId::qint8: load_scaled<std::int8_t>(from, to, count, 0, scale); break;
    case DTypeId::quint8: load_scaled<std::uint8_t>(from, to, count, dtype.zero_point, scale); break;
    case DTypeId::qint16: load_scaled<std::int16_t>(from, to, count, 0, scale); break;
    case DTypeId::qint32: load_scaled<std::int32_t>(from, to, count, 0, scale); break;
    default: break;
    }
}

MGS_VECTOR_CODE void store(const DType& dtype, const float* from, std::byte* to, std::size_t count) {
    const float scale = dtype.scale;
    const auto zero = static_cast<std::int32_t>(dtype.zero_point);
    switch (dtype.id) {
    case DTypeId::float32: std::memcpy(to, from, count * sizeof(float)); break;
    case DTypeId::float16: {
        auto* h = reinterpret_cast<std::uint16_t*>(to);
        for (std::size_t i = 0; i < count; ++i) h[i] = to_half(from[i]);
        break;
    }
    case DTypeId::bfloat16: {
        auto* h = reinterpret_cast<std::uint16_t*>(to);
        for (std::size_t i = 0; i < count; ++i) h[i] = to_bfloat16(from[i]);
        break;
    }
    case DTypeId::int8: store_truncated<std::int8_t>(from, to, count); break;
    case DTypeId::uint8: store_truncated<std::uint8_t>(from, to, count); break;
    case DTypeId::int16: store_truncated<std::int16_t>(from, to, count); break;
    case DTypeId::uint16: store_truncated<std::uint16_t>(from, to, count); break;
    case DTypeId::int32: store_truncated<std::int32_t>(from, to, count); break;
    case DTypeId::bool_: {
        auto* b = reinterpret_cast<std::uint8_t*>(to);
        for (std::size_t i = 0; i < count; ++i) b[i] = from[i] != 0 ? 1 : 0;
        break;
    }
    case DTypeId::qint8: store_quantized<std::int8_t>(from, to, count, scale, 0, -128, 127); break;
    case DTypeId::quint8:
        store_quantized<std::uint8_t>(from, to, count, scale, zero, static_cast<float>(-zero), static_cast<float>(255 - zero));
        break;
    case DTypeId::qint16: store_quantized<std::int16_t>(from, to, count, scale, 0, -32768, 32767); break;
    case DTypeId::qint32: store_quantized<std::int32_t>(from, to, count, scale, 0, -2147483648.0F, 2147483520.0F); break;
    default: break;
    }
}

MGS_VECTOR_CODE void requantize_loop(const std::int32_t* sums, float ratio, float low, float high, std::int32_t zero_point,
                                     std::int8_t* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::int8_t>(round_away(bounded(static_cast<float>(sums[i]) * ratio, low, high)) + zero_point);
}

} // namespace

bool floats_loadable(const DType& dtype) {
    return dtype.bits() >= 8 && dtype.id != DTypeId::complex64 && dtype.id != DTypeId::byte;
}

bool floats_storable(const DType& dtype) { return floats_loadable(dtype); }

void load_floats(const DType& dtype, const std::byte* from, float* to, std::size_t count) { load(dtype, from, to, count); }

void store_floats(const DType& dtype, const float* from, std::byte* to, std::size_t count) { store(dtype, from, to, count); }

void requantize(const std::int32_t* sums, float ratio, std::int32_t low, std::int32_t high, std::int32_t zero_point,
                std::int8_t* to, std::size_t count) {
    requantize_loop(sums, ratio, static_cast<float>(low), static_cast<float>(high), zero_point, to, count);
}

} // namespace megascope
