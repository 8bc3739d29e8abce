#include "format/strip_info.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "opr/catalogue.h"

namespace megascope {

namespace {

using Json = nlohmann::ordered_json;

/// Nearly every operator has a workspace of dtype Byte as its last output. These have none.
bool has_workspace(std::string_view type) {
    static constexpr std::array without{
        "AddUpdate", "Alloc", "AssertEqual", "AxisAddRemove", "Broadcast", "Concat", "Copy", "Dimshuffle", "Elemwise", "ElemwiseMultiType",
        "GetVarShape", "Host2DeviceCopy", "Identity", "ImmutableTensor", "IncrSubtensor", "Linspace", "MarkDynamicVar",
        "MarkNoBroadcastElemwise", "MultipleDeviceTensorHolder", "MultipleDeviceTensorWithFormatHolder", "PersistentOutputStorage", "PowC",
        "Reshape", "SetSubtensor", "SharedDeviceTensor", "SharedDeviceTensorWithFormat", "Sleep", "Split", "Subtensor", "TypeCvt",
        "VirtualDep", "VolatileSharedDeviceTensor"};
    return std::find(without.begin(), without.end(), type) == without.end();
}

Json array_of(const std::set<std::string>& values) {
    Json array = Json::array();
    for (const std::string& value : values) array.push_back(value);
    return array;
}

Json json_of(const StripInfo& info) {
    Json json;
    json["dtypes"] = array_of(info.dtypes);
    json["elemwise_modes"] = array_of(info.elemwise_modes);
    json["opr_types"] = array_of(info.opr_types);
    json["hash"] = info.hash;
    return json;
}

/// Python's spacing: a blank behind every comma and colon, no line breaks.
std::string python_text(const Json& json) {
    std::string s;
    if (json.is_object()) {
        for (const auto& [key, value] : json.items())
            s += (s.empty() ? "" : ", ") + Json(key).dump(-1, ' ', true, Json::error_handler_t::replace) + ": " + python_text(value);
        return "{" + s + "}";
    }
    if (json.is_array()) {
        for (const Json& value : json) s += (s.empty() ? "" : ", ") + python_text(value);
        return "[" + s + "]";
    }
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Nested deeper than any strip info; `python_text` recurses.
constexpr int deepest = 8;

bool deeper_than(const Json& json, int levels) {
    if (!json.is_structured()) return false;
    if (levels == 0) return true;
    return std::any_of(json.begin(), json.end(), [&](const Json& value) { return deeper_than(value, levels - 1); });
}

} // namespace

StripInfo make_strip_info(const Graph& graph, const GraphInfo& info, std::uint64_t content_hash) {
    StripInfo strip;
    strip.hash = content_hash;
    for (const Opr& opr : graph.oprs()) {
        const OprDef* def = Catalogue::builtin().of(opr);
        strip.opr_types.emplace(def ? def->profile_type : std::string_view(opr.type));
        if (has_workspace(opr.type)) strip.dtypes.emplace("Byte");
        if (opr.kind.valid() && opr.type == "Elemwise") strip.elemwise_modes.insert(opr.param().enum_name("mode"));
        for (VarId out : opr.outputs) {
            const auto& dtype = info.var(out).dtype;
            if (dtype) strip.dtypes.emplace(dtype->library_name());
        }
    }
    return strip;
}

std::string strip_info_text(const StripInfo& info) { return python_text(json_of(info)); }

Expected<std::string> append_strip_info(std::string_view old, const StripInfo& info) {
    if (old.find_first_not_of(" \t\r\n") == std::string_view::npos) return strip_info_text(info);
    Json json = Json::parse(old, nullptr, false);
    if (!json.is_object() || deeper_than(json, deepest)) return fail(ErrorCode::corrupt, "The strip info to append to is not a JSON object.");
    const Json added = json_of(info);
    for (const auto& [key, value] : json.items()) {
        if (!added.contains(key)) continue;
        if (key == "hash") {
            json[key] = info.hash;
            continue;
        }
        if (!value.is_array()) return fail(ErrorCode::corrupt, "The strip info to append to has no list '" + key + "'.");
        for (const Json& item : added[key])
            if (std::find(value.begin(), value.end(), item) == value.end()) json[key].push_back(item);
    }
    return python_text(json);
}

} // namespace megascope
