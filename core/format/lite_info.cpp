#include <nlohmann/json.hpp>

#include "format/packed_model.h"

namespace megascope {

namespace {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key) {
    static const Json nothing;
    if (!object.is_object()) return nothing;
    const auto it = object.find(key);
    return it == object.end() ? nothing : *it;
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }
bool flag(const Json& value) { return value.is_boolean() && value.get<bool>(); }
std::string any_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<LiteInfo::Io> io_list(const Json& list) {
    std::vector<LiteInfo::Io> out;
    if (!list.is_array()) return out;
    for (const Json& item : list) {
        LiteInfo::Io io;
        io.name = text(member(item, "name"));
        io.is_host = flag(member(item, "is_host"));
        io.io_type = text(member(item, "io_type"));
        io.dtype = text(member(item, "dtype"));
        for (const char* axis : {"dim0", "dim1", "dim2", "dim3"}) {
            const Json& size = member(member(item, "shape"), axis);
            if (!size.is_number_integer()) break;
            io.shape.push_back(size.get<std::int64_t>());
        }
        out.push_back(std::move(io));
    }
    return out;
}

} // namespace

Expected<LiteInfo> parse_lite_info(std::span<const std::byte> bytes) {
    // RC4 pads with NUL bytes; the text ends before them.
    std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    view = view.substr(0, view.find_last_not_of('\0') + 1);
    const Json json = Json::parse(view, nullptr, false);
    if (!json.is_object()) return fail(ErrorCode::corrupt, "The model's info is not a JSON object.");

    LiteInfo info;
    info.valid = flag(member(json, "valid"));
    info.name = text(member(json, "name"));
    info.version = text(member(json, "version"));
    info.backend = text(member(json, "backend"));
    info.has_compression = flag(member(json, "has_compression"));
    const Json& device = member(json, "device");
    info.device_type = text(member(device, "type"));
    if (device.is_object())
        for (const auto& [key, value] : device.items())
            if (key != "type") info.device.emplace_back(key, any_text(value));
    const Json& options = member(json, "options");
    if (options.is_object())
        for (const auto& [key, value] : options.items()) info.options.emplace_back(key, any_text(value));
    info.inputs = io_list(member(member(json, "IO"), "inputs"));
    info.outputs = io_list(member(member(json, "IO"), "outputs"));
    const Json& extra = member(json, "extra_info");
    if (!extra.is_null()) info.extra_info = any_text(extra);
    return info;
}

} // namespace megascope
