#pragma once

#include <cstddef>
#include <cstdint>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace megascope {

// Operator params are self-describing: a `ParamType` says which fields a param table has, a `Param` holds their values.
// The types come from the schema in core/opr/schema (see opr/param_registry.h); nothing here knows a particular operator.

/// One named value of an enum field.
struct ParamEnumValue {
    std::string name;
    std::int64_t value = 0;
};

struct ParamEnum {
    std::string name; ///< schema name, e.g. "ConvolutionFormat"
    std::vector<ParamEnumValue> values;

    /// The name of `value`; a combination of single-bit values reads "A|B"; otherwise the number.
    [[nodiscard]] std::string text(std::int64_t value) const;
    [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;
};

enum class ParamFieldKind : std::uint8_t {
    boolean,     ///< bool
    int32,       ///< std::int64_t
    uint32,      ///< std::int64_t
    uint64,      ///< std::uint64_t
    uint8,       ///< std::int64_t
    float32,     ///< float
    float64,     ///< double
    enumeration, ///< std::int64_t, with `ParamField::enumeration`
    int32_list,  ///< std::vector<std::int64_t>
    axis_list,   ///< std::vector<AxisDesc>
    index_list,  ///< std::vector<IndexItem>
    scalar,      ///< std::optional<DTypeScalar>
    dtype,       ///< DType: the only field "dtype" of the quantization-aware param 67
};

/// AxisAddRemove's descriptor.
struct AxisDesc {
    enum class Method : std::uint8_t { add_1 = 0, remove = 1 };
    Method method = Method::add_1;
    std::int32_t axis = 0;
    friend bool operator==(const AxisDesc&, const AxisDesc&) = default;
};

/// One item of the indexing operators' description: which of begin, end, step, idx are inputs.
struct IndexItem {
    std::int8_t axis = 0;
    bool begin = false;
    bool end = false;
    bool step = false;
    bool idx = false;
    friend bool operator==(const IndexItem&, const IndexItem&) = default;
};

/// AddUpdate's dtype-tagged scalar: four raw little-endian bytes.
struct DTypeScalar {
    DTypeId dtype = DTypeId::float32;
    std::array<std::uint8_t, 4> storage{};
    [[nodiscard]] double value() const;
    friend bool operator==(const DTypeScalar&, const DTypeScalar&) = default;
};

using ParamValue = std::variant<bool, std::int64_t, std::uint64_t, float, double, std::vector<std::int64_t>,
                                std::vector<AxisDesc>, std::vector<IndexItem>, std::optional<DTypeScalar>, DType>;

struct ParamField {
    std::string name;
    ParamFieldKind kind = ParamFieldKind::int32;
    const ParamEnum* enumeration = nullptr; ///< owned by the registry, which outlives every graph
    ParamValue default_value;
    std::uint16_t slot = 0; ///< vtable slot in the flatbuffers table
    std::uint8_t wire_size = 4; ///< bytes of the inline field: 1, 4 or 8; 4 for offsets (lists); 5 for `scalar` structs
};

struct ParamType {
    std::string name;        ///< schema name: "Convolution", "OptionalAxisV1"; number 67 is "DType", number 51 "param.DType"
    std::uint8_t number = 0; ///< its number in the union OperatorParam
    std::vector<ParamField> fields; ///< in declaration order

    [[nodiscard]] std::optional<std::size_t> find(std::string_view field) const;
};

/// One param of one operator. A value type; `type` belongs to the registry.
/// The typed getters require that the field exists with that kind: readers check a param's type against the catalogue
/// before an operator is built, so a miss is a programming error and ends the program with a message.
class Param {
public:
    /// All fields at their defaults.
    explicit Param(const ParamType& type);

    [[nodiscard]] const ParamType& type() const { return *type_; }
    [[nodiscard]] const ParamValue& value(std::size_t field) const { return values_[field]; }
    void set(std::size_t field, ParamValue value) { values_[field] = std::move(value); }
    /// Sets by name; the value's alternative must fit the field's kind (programming error otherwise).
    Param& set(std::string_view field, ParamValue value);

    [[nodiscard]] bool boolean(std::string_view field) const;
    [[nodiscard]] std::int64_t integer(std::string_view field) const; ///< int32, uint32, uint8, enumeration
    [[nodiscard]] std::uint64_t u64(std::string_view field) const;
    [[nodiscard]] double real(std::string_view field) const; ///< float32 and float64
    [[nodiscard]] const std::vector<std::int64_t>& list(std::string_view field) const;
    [[nodiscard]] const std::vector<AxisDesc>& axes(std::string_view field) const;
    [[nodiscard]] const std::vector<IndexItem>& index(std::string_view field) const;
    [[nodiscard]] const std::optional<DTypeScalar>& scalar(std::string_view field) const;
    [[nodiscard]] DType dtype(std::string_view field) const; ///< kind dtype, or an enumeration of DTypeEnum
    /// The value's name of an enumeration field: "CROSS_CORRELATION".
    [[nodiscard]] std::string enum_name(std::string_view field) const;

    /// A field as text for people: enum names, "true", numbers, "[0, 1, -1]", "axis 1: begin, end".
    [[nodiscard]] std::string text(std::size_t field) const;
    [[nodiscard]] bool is_default(std::size_t field) const { return values_[field] == type_->fields[field].default_value; }

    friend bool operator==(const Param& a, const Param& b) { return a.type_ == b.type_ && a.values_ == b.values_; }

private:
    const ParamType* type_;
    std::vector<ParamValue> values_;
};

/// A param whose union number this version does not know: kept so that it can be shown and, where possible, written again.
struct RawParam {
    std::uint8_t number = 0;
    std::vector<std::byte> table; ///< the inline part of the table: see `slot_offsets`
    std::vector<std::uint16_t> slot_offsets; ///< offset of each slot inside `table`, 0 = absent
};

} // namespace megascope
