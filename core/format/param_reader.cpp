#include "format/param_reader.h"

#include "mgb1_generated.h"
#include "opr/param_registry.h"

namespace megascope {

namespace {

namespace fbs = mgb::serialization::fbs;

constexpr std::uint8_t quantization_param = 1; // union DTypeParam
constexpr std::size_t max_index_items = 64;    // MegEngine writes at most 6; tensors have at most 7 axes

std::int64_t read_enum(const FlatTable& table, std::uint16_t vt, const ParamField& field) {
    const auto absent = std::get<std::int64_t>(field.default_value);
    if (field.wire_size == 1) return table.scalar<std::int8_t>(vt, static_cast<std::int8_t>(absent));
    return table.scalar<std::uint32_t>(vt, static_cast<std::uint32_t>(absent));
}

std::vector<std::int64_t> read_ints(const FlatTable& table, std::uint16_t vt) {
    const FlatVector v = table.vector(vt, sizeof(std::int32_t));
    std::vector<std::int64_t> out;
    out.reserve(v.size);
    for (std::size_t i = 0; i < v.size; ++i) out.push_back(table.element<std::int32_t>(v, i));
    return out;
}

std::vector<AxisDesc> read_axes(const FlatTable& table, std::uint16_t vt) {
    struct Wire {
        std::int8_t method;
        std::int8_t padding[3];
        std::int32_t axis;
    };
    static_assert(sizeof(Wire) == 8);
    const FlatVector v = table.vector(vt, sizeof(Wire));
    std::vector<AxisDesc> out;
    out.reserve(v.size);
    for (std::size_t i = 0; i < v.size; ++i) {
        const auto wire = table.element<Wire>(v, i);
        if (wire.method != 0 && wire.method != 1) {
            table.violation("an axis descriptor has the unknown method " + std::to_string(wire.method));
            return {};
        }
        out.push_back({static_cast<AxisDesc::Method>(wire.method), wire.axis});
    }
    return out;
}

std::vector<IndexItem> read_index(const FlatTable& table, std::uint16_t vt) {
    struct Wire {
        std::int8_t axis;
        std::uint8_t begin, end, step, idx;
    };
    static_assert(sizeof(Wire) == 5);
    const FlatVector v = table.vector(vt, sizeof(Wire));
    if (v.size > max_index_items) {
        table.violation("an index descriptor has " + std::to_string(v.size) + " items");
        return {};
    }
    std::vector<IndexItem> out;
    for (std::size_t i = 0; i < v.size; ++i) {
        const auto wire = table.element<Wire>(v, i);
        out.push_back({wire.axis, wire.begin != 0, wire.end != 0, wire.step != 0, wire.idx != 0});
    }
    return out;
}

std::optional<DTypeScalar> read_scalar(const FlatTable& table, std::uint16_t vt) {
    const std::size_t at = table.field(vt, 5);
    if (!at) return std::nullopt;
    const auto bytes = table.inline_bytes().subspan(at, 5);
    const auto dtype = static_cast<std::uint8_t>(bytes[0]);
    if (!dtype_id_valid(dtype)) {
        table.violation("a scalar has the unknown dtype " + std::to_string(dtype));
        return std::nullopt;
    }
    DTypeScalar out;
    out.dtype = static_cast<DTypeId>(dtype);
    std::memcpy(out.storage.data(), bytes.data() + 1, 4);
    return out;
}

ParamValue read_field(const FlatTable& table, const ParamField& field) {
    const auto vt = static_cast<std::uint16_t>(4 + 2 * field.slot);
    const auto integer = [&] { return std::get<std::int64_t>(field.default_value); };
    switch (field.kind) {
    case ParamFieldKind::boolean: return table.scalar<std::uint8_t>(vt, std::get<bool>(field.default_value)) != 0;
    case ParamFieldKind::int32: return std::int64_t{table.scalar<std::int32_t>(vt, static_cast<std::int32_t>(integer()))};
    case ParamFieldKind::uint32: return std::int64_t{table.scalar<std::uint32_t>(vt, static_cast<std::uint32_t>(integer()))};
    case ParamFieldKind::uint64: return table.scalar<std::uint64_t>(vt, std::get<std::uint64_t>(field.default_value));
    case ParamFieldKind::uint8: return std::int64_t{table.scalar<std::uint8_t>(vt, static_cast<std::uint8_t>(integer()))};
    case ParamFieldKind::float32: return table.scalar<float>(vt, std::get<float>(field.default_value));
    case ParamFieldKind::float64: return table.scalar<double>(vt, std::get<double>(field.default_value));
    case ParamFieldKind::enumeration: return read_enum(table, vt, field);
    case ParamFieldKind::int32_list: return read_ints(table, vt);
    case ParamFieldKind::axis_list: return read_axes(table, vt);
    case ParamFieldKind::index_list: return read_index(table, vt);
    case ParamFieldKind::scalar: return read_scalar(table, vt);
    case ParamFieldKind::dtype: return read_dtype(table).value_or(DType());
    }
    return field.default_value;
}

} // namespace

std::optional<DType> read_dtype(const FlatTable& table) {
    if (!table.present()) return std::nullopt;
    const auto number = table.scalar<std::uint8_t>(fbs::DType::VT_TYPE);
    if (!dtype_id_valid(number)) {
        table.violation("it uses the unknown dtype number " + std::to_string(number));
        return std::nullopt;
    }
    DType dtype(static_cast<DTypeId>(number));
    if (table.scalar<std::uint8_t>(fbs::DType::VT_PARAM_TYPE) == quantization_param) {
        const FlatTable quantization = table.table(fbs::DType::VT_PARAM);
        dtype.scale = quantization.scalar<float>(fbs::LinearQuantizationParam::VT_SCALE);
        dtype.zero_point = quantization.scalar<std::uint8_t>(fbs::LinearQuantizationParam::VT_ZERO_POINT);
    }
    return dtype;
}

void read_params(Opr& opr, const FlatTable& table, const ParamFields& fields, std::vector<RawParamPlace>& raw_places) {
    std::uint32_t index = 0;
    const auto read = [&](std::uint8_t number, const FlatTable& stored) {
        if (!stored.present()) return;
        const ParamType* type = ParamRegistry::builtin().find(number);
        if (!type) {
            opr.raw_params.push_back(read_raw_param(number, stored));
            raw_places.push_back({stored.position(), index++});
            return;
        }
        Param param(*type);
        for (std::size_t i = 0; i < type->fields.size(); ++i) param.set(i, read_field(stored, type->fields[i]));
        opr.params.push_back(std::move(param));
        ++index;
    };
    read(table.scalar<std::uint8_t>(fields.type), table.table(fields.param));
    const FlatVector types = table.vector(fields.more_types, 1);
    const FlatVector more = table.vector(fields.more, 4);
    if (more.size != types.size)
        table.violation("an operator has " + std::to_string(more.size) + " additional params, but types for " + std::to_string(types.size));
    else
        for (std::size_t i = 0; i < more.size; ++i) read(table.element<std::uint8_t>(types, i), table.table_element(more, i));
}

} // namespace megascope
