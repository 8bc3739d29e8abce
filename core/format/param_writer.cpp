#include "format/param_writer.h"

namespace megascope {

namespace {

namespace fbs = mgb::serialization::fbs;

// The inline structs as they lie in the file; padding is zero.
struct WireAxisDesc {
    std::int8_t method;
    std::int8_t padding[3];
    std::int32_t axis;
};
struct WireIndexItem {
    std::int8_t axis;
    std::uint8_t begin, end, step, idx;
};
struct WireScalar {
    std::uint8_t dtype;
    std::uint8_t storage[4];
};
static_assert(sizeof(WireAxisDesc) == 8 && alignof(WireAxisDesc) == 4);
static_assert(sizeof(WireIndexItem) == 5 && alignof(WireIndexItem) == 1);
static_assert(sizeof(WireScalar) == 5 && alignof(WireScalar) == 1);

flatbuffers::Offset<void> write_list(flatbuffers::FlatBufferBuilder& fbb, const ParamValue& value) {
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
        const std::vector<std::int32_t> wire(ints->begin(), ints->end());
        return fbb.CreateVector(wire).Union();
    }
    if (const auto* axes = std::get_if<std::vector<AxisDesc>>(&value)) {
        std::vector<WireAxisDesc> wire;
        for (const AxisDesc& d : *axes) wire.push_back({static_cast<std::int8_t>(d.method), {}, d.axis});
        return fbb.CreateVectorOfStructs(wire).Union();
    }
    if (const auto* items = std::get_if<std::vector<IndexItem>>(&value)) {
        std::vector<WireIndexItem> wire;
        for (const IndexItem& i : *items) wire.push_back({i.axis, i.begin, i.end, i.step, i.idx});
        return fbb.CreateVectorOfStructs(wire).Union();
    }
    return {};
}

void add_field(flatbuffers::FlatBufferBuilder& fbb, const ParamField& field, const ParamValue& value, flatbuffers::Offset<void> list) {
    const auto vt = static_cast<flatbuffers::voffset_t>(4 + 2 * field.slot);
    const auto add = [&]<class Wire, class Stored>(Wire, Stored) {
        fbb.AddElement<Wire>(vt, static_cast<Wire>(std::get<Stored>(value)), static_cast<Wire>(std::get<Stored>(field.default_value)));
    };
    switch (field.kind) {
    case ParamFieldKind::boolean: add(std::uint8_t{}, bool{}); break;
    case ParamFieldKind::int32: add(std::int32_t{}, std::int64_t{}); break;
    case ParamFieldKind::uint32: add(std::uint32_t{}, std::int64_t{}); break;
    case ParamFieldKind::uint64: add(std::uint64_t{}, std::uint64_t{}); break;
    case ParamFieldKind::uint8: add(std::uint8_t{}, std::int64_t{}); break;
    case ParamFieldKind::float32: add(float{}, float{}); break;
    case ParamFieldKind::float64: add(double{}, double{}); break;
    case ParamFieldKind::enumeration:
        if (field.wire_size == 1)
            add(std::int8_t{}, std::int64_t{});
        else
            add(std::uint32_t{}, std::int64_t{});
        break;
    case ParamFieldKind::int32_list:
    case ParamFieldKind::axis_list:
    case ParamFieldKind::index_list: fbb.AddOffset(vt, list); break;
    case ParamFieldKind::scalar:
        if (const auto& scalar = std::get<std::optional<DTypeScalar>>(value)) {
            WireScalar wire{static_cast<std::uint8_t>(scalar->dtype), {}};
            std::copy(scalar->storage.begin(), scalar->storage.end(), wire.storage);
            fbb.AddStruct(vt, &wire);
        }
        break;
    case ParamFieldKind::dtype: break; // the table itself, see write_param
    }
}

} // namespace

flatbuffers::Offset<fbs::DType> write_dtype(flatbuffers::FlatBufferBuilder& fbb, const std::optional<DType>& dtype) {
    if (!dtype) return {};
    flatbuffers::Offset<void> quantization;
    if (dtype->is_quantized())
        quantization = fbs::CreateLinearQuantizationParam(fbb, dtype->scale, dtype->is_asymmetric() ? dtype->zero_point : std::uint8_t{0}).Union();
    fbs::DTypeBuilder table(fbb);
    table.add_type(static_cast<fbs::DTypeEnum>(dtype->id));
    if (dtype->is_quantized()) {
        table.add_param_type(fbs::DTypeParam::LinearQuantizationParam);
        table.add_param(quantization);
    }
    return table.Finish();
}

flatbuffers::Offset<void> write_param(flatbuffers::FlatBufferBuilder& fbb, const Param& param) {
    const auto& fields = param.type().fields;
    if (fields.size() == 1 && fields.front().kind == ParamFieldKind::dtype)
        return write_dtype(fbb, std::get<DType>(param.value(0))).Union();

    std::vector<flatbuffers::Offset<void>> lists;
    for (std::size_t i = 0; i < fields.size(); ++i) lists.push_back(write_list(fbb, param.value(i)));
    const auto start = fbb.StartTable();
    for (const std::size_t size : {8U, 4U, 2U, 1U})
        for (std::size_t i = fields.size(); i-- > 0;) {
            const std::size_t sorted_as = fields[i].kind == ParamFieldKind::scalar ? 4 : fields[i].wire_size;
            if (sorted_as == size) add_field(fbb, fields[i], param.value(i), lists[i]);
        }
    return {fbb.EndTable(start)};
}

} // namespace megascope
