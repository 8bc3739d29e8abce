#include "opr/param_registry.h"

#include <cstdlib>
#include <map>

#include <flatbuffers/flatbuffers.h>
#include <flatbuffers/reflection.h>

#include "operator_param_bfbs.h" // generated: the compiled schema as bytes

namespace megascope {

namespace {

std::string_view unqualified(std::string_view name) {
    const auto dot = name.rfind('.');
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// Kind and default of a schema field. The schema is ours, so a field of an unforeseen type is a programming error.
void describe(ParamField& out, const reflection::Field& field, const reflection::Schema& schema) {
    const reflection::Type& type = *field.type();
    const auto integer = field.default_integer();
    out.wire_size = type.base_type() == reflection::Obj ? 5 : static_cast<std::uint8_t>(type.base_size());
    switch (type.base_type()) {
    case reflection::Bool: out.kind = ParamFieldKind::boolean; out.default_value = integer != 0; return;
    case reflection::Byte:
    case reflection::UByte: out.kind = ParamFieldKind::uint8; out.default_value = std::int64_t{integer}; return;
    case reflection::Int: out.kind = ParamFieldKind::int32; out.default_value = std::int64_t{integer}; return;
    case reflection::UInt: out.kind = ParamFieldKind::uint32; out.default_value = std::int64_t{integer}; return;
    case reflection::ULong: out.kind = ParamFieldKind::uint64; out.default_value = static_cast<std::uint64_t>(integer); return;
    case reflection::Float: out.kind = ParamFieldKind::float32; out.default_value = static_cast<float>(field.default_real()); return;
    case reflection::Double: out.kind = ParamFieldKind::float64; out.default_value = field.default_real(); return;
    case reflection::Obj:
        out.kind = ParamFieldKind::scalar;
        out.default_value = std::optional<DTypeScalar>{};
        return;
    case reflection::Vector:
        if (type.element() == reflection::Int) {
            out.kind = ParamFieldKind::int32_list;
            out.default_value = std::vector<std::int64_t>{};
            return;
        }
        if (type.element() == reflection::Obj) {
            const auto element = unqualified(schema.objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()))->name()->string_view());
            if (element == "AxisDesc") {
                out.kind = ParamFieldKind::axis_list;
                out.default_value = std::vector<AxisDesc>{};
                return;
            }
            if (element == "IndexDescMaskItem") {
                out.kind = ParamFieldKind::index_list;
                out.default_value = std::vector<IndexItem>{};
                return;
            }
        }
        break;
    default: break;
    }
    std::abort();
}

} // namespace

ParamRegistry::ParamRegistry() {
    const auto& schema = *reflection::GetSchema(operator_param_bfbs);

    std::vector<const ParamEnum*> enum_at(schema.enums()->size(), nullptr);
    const reflection::Enum* operator_param = nullptr;
    for (flatbuffers::uoffset_t i = 0; i < schema.enums()->size(); ++i) {
        const auto& e = *schema.enums()->Get(i);
        const auto name = unqualified(e.name()->string_view());
        if (e.is_union()) {
            if (name == "OperatorParam") operator_param = &e;
            continue;
        }
        auto out = std::make_unique<ParamEnum>();
        out->name = name;
        for (const auto* value : *e.values()) out->values.push_back({value->name()->str(), value->value()});
        enum_at[i] = out.get();
        enums_.push_back(std::move(out));
    }

    for (const auto* member : *operator_param->values()) {
        if (member->value() == 0) continue;
        const auto& object = *schema.objects()->Get(static_cast<flatbuffers::uoffset_t>(member->union_type()->index()));
        auto out = std::make_unique<ParamType>();
        out->number = static_cast<std::uint8_t>(member->value());
        const std::string_view full = object.name()->string_view();
        if (full == "mgb.serialization.fbs.DType") {
            // Not a plain table of scalars: its union is decoded as one DType value.
            out->name = "DType";
            ParamField field;
            field.name = "dtype";
            field.kind = ParamFieldKind::dtype;
            field.default_value = DType();
            out->fields.push_back(std::move(field));
        } else {
            out->name = unqualified(full);
            if (out->name == "DType") out->name = "param.DType";
            std::map<std::uint16_t, const reflection::Field*> by_slot;
            for (const auto* field : *object.fields()) by_slot[field->id()] = field;
            for (const auto& [slot, field] : by_slot) {
                ParamField f;
                f.name = field->name()->str();
                f.slot = slot;
                describe(f, *field, schema);
                if (f.kind != ParamFieldKind::scalar && field->type()->base_type() != reflection::Vector && field->type()->index() >= 0) {
                    f.kind = ParamFieldKind::enumeration;
                    f.enumeration = enum_at[static_cast<std::size_t>(field->type()->index())];
                }
                out->fields.push_back(std::move(f));
            }
        }
        by_number_[out->number] = out.get();
        types_.push_back(std::move(out));
    }
}

const ParamRegistry& ParamRegistry::builtin() {
    static const ParamRegistry registry;
    return registry;
}

const ParamType* ParamRegistry::find(std::string_view name) const {
    for (const auto& type : types_)
        if (type->name == name) return type.get();
    return nullptr;
}

const ParamEnum* ParamRegistry::find_enum(std::string_view name) const {
    for (const auto& e : enums_)
        if (e->name == name) return e.get();
    return nullptr;
}

} // namespace megascope
