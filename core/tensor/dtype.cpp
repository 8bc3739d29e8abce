#include "tensor/dtype.h"

#include <array>

#include "base/units.h"

namespace megascope {

namespace {

struct DTypeInfo {
    std::string_view name;
    std::string_view library_name;
    std::size_t bits;
};

constexpr std::array<DTypeInfo, dtype_count> dtype_table = {{
    {"float32", "Float32", 32},   {"uint8", "Uint8", 8},          {"int8", "Int8", 8},           {"int16", "Int16", 16},
    {"int32", "Int32", 32},       {"int1", "IntB1", 1},           {"int2", "IntB2", 2},          {"int4", "IntB4", 4},
    {"byte", "Byte", 8},          {"float16", "Float16", 16},     {"uint4", "UintB4", 4},        {"quint8", "Quantized8Asymm", 8},
    {"qint32", "QuantizedS32", 32}, {"qint8", "QuantizedS8", 8},  {"quint4", "Quantized4Asymm", 4}, {"qint4", "QuantizedS4", 4},
    {"qint16", "QuantizedS16", 16}, {"bfloat16", "BFloat16", 16}, {"bool", "Bool", 8},           {"uint16", "Uint16", 16},
    {"qint1", "QuantizedS1", 1},  {"complex64", "Complex64", 64},
}};

const DTypeInfo& info(DTypeId id) { return dtype_table[static_cast<std::size_t>(id)]; }

} // namespace

std::size_t DType::bits() const { return info(id).bits; }
std::string_view DType::name() const { return info(id).name; }
std::string_view DType::library_name() const { return info(id).library_name; }

std::string DType::text() const {
    std::string s(name());
    if (!is_quantized()) return s;
    s += " (scale " + format_number(scale, 4);
    if (is_asymmetric()) s += ", zero point " + std::to_string(zero_point);
    return s + ")";
}

std::optional<DType> dtype_from_name(std::string_view name) {
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
        if (dtype_table[i].name == name || dtype_table[i].library_name == name) return DType(static_cast<DTypeId>(i));
    return std::nullopt;
}

} // namespace megascope
