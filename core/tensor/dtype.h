#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace megascope {

/// The numbers of the dump schema's `DTypeEnum` (core/opr/schema/dtype.fbs).
enum class DTypeId : std::uint8_t {
    float32 = 0,
    uint8 = 1,
    int8 = 2,
    int16 = 3,
    int32 = 4,
    int1 = 5, ///< IntB1: real value -1 or 1 in MegEngine; one bit
    int2 = 6,
    int4 = 7,
    byte = 8, ///< raw memory: workspaces and reserve outputs
    float16 = 9,
    uint4 = 10,
    quint8 = 11, ///< Quantized8Asymm
    qint32 = 12, ///< QuantizedS32
    qint8 = 13,  ///< QuantizedS8
    quint4 = 14, ///< Quantized4Asymm
    qint4 = 15,  ///< QuantizedS4
    qint16 = 16, ///< QuantizedS16
    bfloat16 = 17,
    bool_ = 18,
    uint16 = 19,
    qint1 = 20, ///< QuantizedS1
    complex64 = 21,
};
inline constexpr std::size_t dtype_count = 22;

/// A MegEngine dtype: its id and, for the quantized ones, the linear quantization param (real = (q - zero_point) * scale).
struct DType {
    DTypeId id = DTypeId::float32;
    float scale = 0;             ///< only for quantized dtypes
    std::uint8_t zero_point = 0; ///< only for quint8 and quint4

    constexpr DType() = default;
    constexpr DType(DTypeId i) : id(i) {} // NOLINT: a plain dtype is its id
    constexpr DType(DTypeId i, float s, std::uint8_t z = 0) : id(i), scale(s), zero_point(z) {}

    friend bool operator==(const DType&, const DType&) = default;

    [[nodiscard]] constexpr bool is_quantized() const {
        switch (id) {
        case DTypeId::quint8: case DTypeId::qint32: case DTypeId::qint8: case DTypeId::quint4:
        case DTypeId::qint4: case DTypeId::qint16: case DTypeId::qint1: return true;
        default: return false;
        }
    }
    [[nodiscard]] constexpr bool is_asymmetric() const { return id == DTypeId::quint8 || id == DTypeId::quint4; }
    [[nodiscard]] constexpr bool is_float() const {
        return id == DTypeId::float32 || id == DTypeId::float16 || id == DTypeId::bfloat16;
    }
    /// Plain integers, without bool and the quantized dtypes.
    [[nodiscard]] constexpr bool is_integer() const {
        switch (id) {
        case DTypeId::uint8: case DTypeId::int8: case DTypeId::int16: case DTypeId::int32: case DTypeId::int1:
        case DTypeId::int2: case DTypeId::int4: case DTypeId::uint4: case DTypeId::uint16: return true;
        default: return false;
        }
    }
    /// Bits of one element: 32, 16, 8, 4, 2, 1; complex64 has 64.
    [[nodiscard]] std::size_t bits() const;
    /// True for dtypes narrower than a byte: the last axis is padded to whole bytes.
    [[nodiscard]] bool is_sub_byte() const { return bits() < 8; }

    /// As MegEngine's users write it: "float32", "int8", "qint8 (scale 0.0157)", "quint8 (scale 0.02, zero point 128)".
    [[nodiscard]] std::string text() const;
    /// The short user-facing name without quantization param: "float32", "qint8".
    [[nodiscard]] std::string_view name() const;
    /// The library's name, as profiles and strip info spell it: "Float32", "QuantizedS8", "Quantized8Asymm".
    [[nodiscard]] std::string_view library_name() const;
};

/// Finds a dtype by `name()` or `library_name()` (exact). Quantized dtypes come back with scale 0.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name);
/// Is the number a dtype of the schema?
[[nodiscard]] constexpr bool dtype_id_valid(std::uint32_t number) { return number < dtype_count; }

} // namespace megascope
