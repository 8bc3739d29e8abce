#include "graph/param.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/units.h"

namespace megascope {

namespace {

[[noreturn]] void programming_error(const ParamType& type, std::string_view field) {
    std::fprintf(stderr, "megascope: param %s has no field '%.*s' of the asked kind\n", type.name.c_str(),
                 static_cast<int>(field.size()), field.data());
    std::abort();
}

template <class T>
const T& get(const Param& param, std::string_view field) {
    const auto at = param.type().find(field);
    if (!at) programming_error(param.type(), field);
    const T* value = std::get_if<T>(&param.value(*at));
    if (!value) programming_error(param.type(), field);
    return *value;
}

std::string index_text(const IndexItem& item) {
    std::string s = "axis " + std::to_string(item.axis) + ":";
    if (item.begin) s += " begin";
    if (item.end) s += " end";
    if (item.step) s += " step";
    if (item.idx) s += " idx";
    return s;
}

template <class T, class F>
std::string list_text(const std::vector<T>& values, F&& one) {
    std::string s = "[";
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i) s += ", ";
        s += one(values[i]);
    }
    return s + "]";
}

} // namespace

std::string ParamEnum::text(std::int64_t value) const {
    for (const auto& v : values)
        if (v.value == value) return v.name;
    std::string s;
    std::int64_t rest = value;
    for (const auto& v : values) {
        if (v.value <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(v.value)) || !(rest & v.value)) continue;
        s += (s.empty() ? "" : "|") + v.name;
        rest &= ~v.value;
    }
    return rest == 0 && !s.empty() ? s : std::to_string(value);
}

std::optional<std::int64_t> ParamEnum::find(std::string_view wanted) const {
    for (const auto& v : values)
        if (v.name == wanted) return v.value;
    return std::nullopt;
}

std::optional<std::size_t> ParamType::find(std::string_view field) const {
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i].name == field) return i;
    return std::nullopt;
}

double DTypeScalar::value() const {
    switch (dtype) {
    case DTypeId::float32: {
        float v = 0;
        std::memcpy(&v, storage.data(), sizeof v);
        return v;
    }
    case DTypeId::int8: return static_cast<std::int8_t>(storage[0]);
    case DTypeId::uint8: return storage[0];
    default: {
        std::int32_t v = 0;
        std::memcpy(&v, storage.data(), sizeof v);
        return v;
    }
    }
}

Param::Param(const ParamType& type) : type_(&type) {
    values_.reserve(type.fields.size());
    for (const auto& field : type.fields) values_.push_back(field.default_value);
}

Param& Param::set(std::string_view field, ParamValue value) {
    const auto at = type_->find(field);
    if (!at || values_[*at].index() != value.index()) programming_error(*type_, field);
    values_[*at] = std::move(value);
    return *this;
}

bool Param::boolean(std::string_view field) const { return get<bool>(*this, field); }
std::int64_t Param::integer(std::string_view field) const { return get<std::int64_t>(*this, field); }
std::uint64_t Param::u64(std::string_view field) const { return get<std::uint64_t>(*this, field); }
const std::vector<std::int64_t>& Param::list(std::string_view field) const { return get<std::vector<std::int64_t>>(*this, field); }
const std::vector<AxisDesc>& Param::axes(std::string_view field) const { return get<std::vector<AxisDesc>>(*this, field); }
const std::vector<IndexItem>& Param::index(std::string_view field) const { return get<std::vector<IndexItem>>(*this, field); }
const std::optional<DTypeScalar>& Param::scalar(std::string_view field) const {
    return get<std::optional<DTypeScalar>>(*this, field);
}

double Param::real(std::string_view field) const {
    const auto at = type_->find(field);
    if (!at) programming_error(*type_, field);
    if (const auto* f = std::get_if<float>(&values_[*at])) return *f;
    return get<double>(*this, field);
}

DType Param::dtype(std::string_view field) const {
    const auto at = type_->find(field);
    if (!at) programming_error(*type_, field);
    if (const auto* number = std::get_if<std::int64_t>(&values_[*at])) return static_cast<DTypeId>(*number);
    return get<DType>(*this, field);
}

std::string Param::enum_name(std::string_view field) const {
    const auto at = type_->find(field);
    if (!at || !type_->fields[*at].enumeration) programming_error(*type_, field);
    return text(*at);
}

std::string Param::text(std::size_t field) const {
    struct Text {
        const ParamField& field;
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::int64_t v) const {
            return field.enumeration ? field.enumeration->text(v) : std::to_string(v);
        }
        std::string operator()(std::uint64_t v) const { return std::to_string(v); }
        std::string operator()(float v) const { return format_number(v, 6); }
        std::string operator()(double v) const { return format_number(v, 9); }
        std::string operator()(const std::vector<std::int64_t>& v) const {
            return list_text(v, [](std::int64_t i) { return std::to_string(i); });
        }
        std::string operator()(const std::vector<AxisDesc>& v) const {
            return list_text(v, [](const AxisDesc& d) {
                return (d.method == AxisDesc::Method::add_1 ? "add " : "remove ") + std::to_string(d.axis);
            });
        }
        std::string operator()(const std::vector<IndexItem>& v) const { return list_text(v, index_text); }
        std::string operator()(const std::optional<DTypeScalar>& v) const {
            return v ? format_number(v->value()) + " (" + std::string(DType(v->dtype).name()) + ")" : "none";
        }
        std::string operator()(const DType& v) const { return v.text(); }
    };
    return std::visit(Text{type_->fields[field]}, values_[field]);
}

} // namespace megascope
