#include "model_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "format/packed_model.h"
#include "format/raw_param.h"
#include "format/user_info.h"
#include "opr/catalogue.h"
#include "opr/infer.h"
#include "session/assertions.h"
#include "session/inputs.h"

namespace megascope::cli {

using Json = nlohmann::ordered_json;

namespace {

constexpr int deepest_pickle = 60;
constexpr std::size_t largest_pickle = 1000000;

/// JSON has no place for other bytes: they are kept as hexadecimal digits.
std::string hex(std::string_view bytes) {
    std::string out;
    std::array<char, 3> digits{};
    for (const char c : bytes) {
        std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(c));
        out += digits.data();
    }
    return out;
}

std::string hex64(std::uint64_t value) {
    std::array<char, 19> text{};
    std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(value));
    return text.data();
}

Json param_json(const Param& param) {
    Json fields = Json::object();
    for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
        const ParamField& field = param.type().fields[i];
        Json& out = fields[field.name];
        switch (field.kind) {
        case ParamFieldKind::boolean: out = param.boolean(field.name); break;
        case ParamFieldKind::int32:
        case ParamFieldKind::uint32:
        case ParamFieldKind::uint8: out = param.integer(field.name); break;
        case ParamFieldKind::uint64: out = param.u64(field.name); break;
        case ParamFieldKind::float32:
        case ParamFieldKind::float64: out = param.real(field.name); break;
        case ParamFieldKind::int32_list: out = param.list(field.name); break;
        case ParamFieldKind::axis_list:
            out = Json::array();
            for (const AxisDesc& axis : param.axes(field.name))
                out.push_back({{"method", axis.method == AxisDesc::Method::add_1 ? "ADD_1" : "REMOVE"}, {"axis", axis.axis}});
            break;
        case ParamFieldKind::index_list:
            out = Json::array();
            for (const IndexItem& item : param.index(field.name))
                out.push_back({{"axis", item.axis}, {"begin", item.begin}, {"end", item.end}, {"step", item.step}, {"idx", item.idx}});
            break;
        case ParamFieldKind::scalar:
            if (const auto& scalar = param.scalar(field.name)) out = {{"dtype", DType(scalar->dtype).name()}, {"value", scalar->value()}};
            break;
        case ParamFieldKind::dtype: out = to_json(param.dtype(field.name)); break;
        case ParamFieldKind::enumeration: out = param.text(i); break;
        }
    }
    return {{"type", param.type().name}, {"fields", std::move(fields)}};
}

Json format_json(const TensorFormat& format) {
    switch (format.kind) {
    case TensorFormat::Kind::image2d_pack4: return {{"kind", "image2d_pack4"}, {"align_axis", format.align_axis}};
    case TensorFormat::Kind::lowbits_aligned:
        return {{"kind", "lowbits_aligned"}, {"size_nbits", format.size_nbits}, {"align_size_in_bits", format.align_size_in_bits}};
    case TensorFormat::Kind::default_: break;
    }
    return "default";
}

Json tensor_json(const StoredTensor& tensor) {
    Json out = Json::object();
    if (tensor.has_name) out["name"] = tensor.name;
    if (tensor.dtype) out["dtype"] = to_json(*tensor.dtype);
    if (tensor.shape) out["shape"] = to_json(*tensor.shape);
    if (tensor.comp_node) out["comp_node"] = tensor.comp_node->locator;
    if (tensor.format != TensorFormat()) out["format"] = format_json(tensor.format);
    if (tensor.data_size > 0) {
        out["offset"] = tensor.data_offset;
        out["bytes"] = tensor.data_size;
    }
    return out;
}

Json opr_json(const Graph& graph, const Opr& opr) {
    Json out = {{"id", opr.id.value()}, {"type", graph.type_text(opr.id)}, {"type_id", std::to_string(opr.type_id)}};
    if (opr.version) out["version"] = opr.version;
    if (!opr.registered_type.empty()) out["registered_type"] = opr.registered_type;
    out["known"] = opr.kind.valid();
    if (opr.has_name) out["name"] = opr.name;
    if (opr.priority) out["priority"] = opr.priority;
    Json inputs = Json::array();
    for (const VarId var : opr.inputs) inputs.push_back(var.value());
    Json outputs = Json::array();
    for (const VarId var : opr.outputs) outputs.push_back(var.value());
    out["inputs"] = std::move(inputs);
    out["outputs"] = std::move(outputs);
    if (!opr.comp_nodes.empty()) {
        Json nodes = Json::array();
        for (const CompNode& node : opr.comp_nodes) nodes.push_back(node.locator);
        out["comp_nodes"] = std::move(nodes);
    }
    if (opr.output_dtype) out["output_dtype"] = to_json(*opr.output_dtype);
    Json params = Json::array();
    for (const Param& param : opr.params) params.push_back(param_json(param));
    if (!params.empty()) out["params"] = std::move(params);
    Json raw = Json::array();
    for (const RawParam& param : opr.raw_params) raw.push_back({{"number", param.number}, {"bytes", raw_param_size(param)}});
    if (!raw.empty()) out["unknown_params"] = std::move(raw);
    Json tensors = Json::array();
    for (const StoredTensor& tensor : opr.tensors) tensors.push_back(tensor_json(tensor));
    if (!tensors.empty()) out["tensors"] = std::move(tensors);
    Json blobs = Json::array();
    for (const auto& blob : opr.blobs) blobs.push_back(blob.size());
    if (!blobs.empty()) out["blob_bytes"] = std::move(blobs);
    return out;
}

Json var_json(const Graph& graph, const GraphInfo& info, const Var& var) {
    Json out = {{"id", var.id.value()}};
    if (var.has_name) out["name"] = var.name;
    else out["display_name"] = graph.display_name(var.id);
    out["producer"] = var.producer.value();
    const VarDesc& desc = info.var(var.id);
    if (desc.dtype) out["dtype"] = to_json(*desc.dtype);
    if (desc.shape) out["shape"] = to_json(*desc.shape);
    // What the file itself says about the var.
    Json stored = Json::object();
    if (var.shape) stored["shape"] = to_json(*var.shape);
    if (var.dtype) stored["dtype"] = to_json(*var.dtype);
    if (var.comp_node) stored["comp_node"] = var.comp_node->locator;
    if (var.format) stored["format"] = format_json(*var.format);
    if (!stored.empty()) out["stored"] = std::move(stored);
    return out;
}

Json metadata_json(const Metadata& metadata) {
    Json out = {{"is_valid", metadata.is_valid}, {"graph_modified", metadata.graph_modified}, {"optimize_options", metadata.optimize_options}};
    if (!metadata.has_user_info) return out;
    out["user_info_hex"] = hex(metadata.user_info);
    const UserInfo info = read_user_info(metadata.user_info);
    if (info.pickle) out["user_info"] = to_json(*info.pickle);
    if (!info.problem.empty()) out["user_info_problem"] = info.problem;
    return out;
}

Json lite_io_json(const std::vector<LiteInfo::Io>& list) {
    Json out = Json::array();
    for (const LiteInfo::Io& io : list)
        out.push_back({{"name", io.name}, {"is_host", io.is_host}, {"io_type", io.io_type}, {"dtype", io.dtype}, {"shape", io.shape}});
    return out;
}

Json lite_info_json(const LiteInfo& info) {
    Json out = {{"valid", info.valid}, {"name", info.name}, {"version", info.version}, {"backend", info.backend},
                {"has_compression", info.has_compression}, {"device_type", info.device_type}};
    const auto texts = [](const std::vector<std::pair<std::string, std::string>>& list) {
        Json object = Json::object();
        for (const auto& [key, value] : list) object[key] = value;
        return object;
    };
    out["device"] = texts(info.device);
    out["options"] = texts(info.options);
    out["inputs"] = lite_io_json(info.inputs);
    out["outputs"] = lite_io_json(info.outputs);
    if (!info.extra_info.empty()) out["extra_info"] = info.extra_info;
    return out;
}

std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A key is the layouts as text, then raw param bytes.
Json cache_json(std::span<const std::byte> blob) {
    const auto cache = read_fast_run_cache(blob);
    if (!cache) return {{"bytes", blob.size()}, {"problem", cache.error().text()}};
    Json categories = Json::array();
    for (const FastRunCache::Category& category : cache->categories) {
        Json entries = Json::array();
        for (const FastRunCache::Entry& entry : category.entries) {
            const std::string_view key = as_text(entry.key);
            const std::size_t end = key.rfind('|');
            const std::size_t layouts = end == std::string_view::npos ? 0 : end + 1;
            entries.push_back({{"layouts", key.substr(0, layouts)}, {"param_hex", hex(key.substr(layouts))}, {"value_bytes", entry.value.size()}});
        }
        categories.push_back({{"name", category.name}, {"entries", std::move(entries)}});
    }
    return {{"bytes", blob.size()}, {"categories", std::move(categories)}};
}

Json packed_json(const Model& model) {
    const PackedModel& packed = *model.packed;
    Json out = {{"name", packed.name}, {"info_cipher", packed.info_cipher}, {"model_cipher", packed.model_cipher},
                {"is_fast_run_cache", packed.is_fast_run_cache}, {"model_bytes", packed.model.size()}};
    if (packed.info_parser) out["info_parser"] = *packed.info_parser;
    if (packed.cache_parser) out["cache_parser"] = *packed.cache_parser;
    if (packed.info) out["info_bytes"] = packed.info->size();
    if (model.lite_info) out["info"] = lite_info_json(*model.lite_info);
    if (packed.algo_policy) out["fast_run_cache"] = cache_json(*packed.algo_policy);
    if (packed.binary_cache) out["binary_cache_bytes"] = packed.binary_cache->size();
    return out;
}

Json graph_json(const StoredGraph& stored) {
    const Graph& graph = *stored.graph;
    const GraphInfo info = infer_graph(graph);
    Json out = {{"format", container_name(stored.container)}, {"mge_version", stored.mge_version}, {"mge_version_text", mge_version_text(stored.mge_version)}};
    if (stored.container == Container::fbs_v2) {
        out["model_version"] = stored.model_version;
    } else {
        out["hash"] = hex64(stored.hash);
        out["hash_matches"] = stored.hash_matches;
    }
    out["offset"] = stored.offset;
    out["bytes"] = stored.size;
    out["tensor_bytes"] = stored.tensor_bytes;
    out["nr_shared_tensor"] = stored.nr_shared_tensor;
    out["kept"] = {{"var_name", stored.kept.var_name}, {"opr_name", stored.kept.opr_name}, {"param_name", stored.kept.param_name},
                   {"opr_priority", stored.kept.opr_priority}};
    if (stored.metadata.stored) out["metadata"] = metadata_json(stored.metadata);
    if (!stored.aliases.empty()) {
        Json aliases = Json::array();
        for (const OutputAlias& alias : stored.aliases) aliases.push_back({{"original_id", alias.original_id}, {"name", alias.name}});
        out["aliases"] = std::move(aliases);
    }
    Json inputs = Json::array();
    for (const GraphInput& input : graph_inputs(graph)) {
        Json one = {{"name", input.name}, {"opr", input.opr.value()}, {"dtype", to_json(input.dtype)}};
        if (input.shape) one["shape"] = to_json(*input.shape);
        one["is_expectation"] = input.is_expectation;
        one["has_default"] = input.has_default;
        inputs.push_back(std::move(one));
    }
    out["inputs"] = std::move(inputs);
    const std::vector<Assertion> assertions = find_assertions(graph);
    Json outputs = Json::array();
    for (const GraphOutput& output : graph.outputs()) {
        Json one = {{"name", graph.display_name(output.var)}, {"var", output.var.value()}, {"original_id", output.original_id}};
        if (!output.alias.empty()) one["alias"] = output.alias;
        if (const VarDesc& desc = info.var(output.var); desc.known()) {
            one["dtype"] = to_json(*desc.dtype);
            one["shape"] = to_json(*desc.shape);
        }
        const auto assertion = std::ranges::find(assertions, graph.var(output.var).producer, &Assertion::opr);
        if (assertion != assertions.end()) one["asserted_max_error"] = assertion->maxerr;
        outputs.push_back(std::move(one));
    }
    out["outputs"] = std::move(outputs);
    Json oprs = Json::array();
    for (const Opr& opr : graph.oprs()) oprs.push_back(opr_json(graph, opr));
    out["oprs"] = std::move(oprs);
    Json vars = Json::array();
    for (const Var& var : graph.vars()) vars.push_back(var_json(graph, info, var));
    out["vars"] = std::move(vars);
    Json problems = Json::array();
    for (const InferProblem& problem : info.problems) problems.push_back({{"opr", problem.opr.value()}, {"message", problem.error.message}});
    if (!problems.empty()) out["problems"] = std::move(problems);
    return out;
}

} // namespace

Json to_json(const Shape& shape) { return std::vector<std::int64_t>(shape.begin(), shape.end()); }

Json to_json(const DType& dtype) {
    if (!dtype.is_quantized()) return dtype.name();
    Json out = {{"name", dtype.name()}, {"scale", dtype.scale}};
    if (dtype.is_asymmetric()) out["zero_point"] = dtype.zero_point;
    return out;
}

Json to_json(const Model& model) {
    Json out = {{"file", model.file->path().string()}, {"bytes", model.file->bytes().size()}, {"description", model.description},
                {"has_testcase_header", model.has_testcase_header}};
    if (!model.cipher.empty()) out["cipher"] = model.cipher;
    if (model.packed) out["packed_model"] = packed_json(model);
    Json graphs = Json::array();
    for (const StoredGraph& graph : model.graphs) graphs.push_back(graph_json(graph));
    out["graphs"] = std::move(graphs);
    Json testcases = Json::array();
    for (const Testcase& testcase : model.testcases) {
        Json inputs = Json::array();
        for (const TestcaseInput& input : testcase.inputs)
            inputs.push_back({{"name", input.name}, {"dtype", to_json(input.value.dtype())}, {"shape", to_json(input.value.shape())},
                              {"is_expectation", input.is_expectation}});
        testcases.push_back({{"offset", testcase.offset}, {"bytes", testcase.size}, {"format", container_name(testcase.stored.container)},
                             {"inputs", std::move(inputs)}});
    }
    out["testcases"] = std::move(testcases);
    out["warnings"] = model.warnings;
    return out;
}

Json to_json(const PickleTree& tree) {
    // Values may be shared or contain themselves: depth and number are limited.
    std::size_t left = largest_pickle;
    const auto convert = [&](const auto& self, std::uint32_t index, int depth) -> Json {
        if (left == 0 || depth > deepest_pickle) return "…";
        --left;
        using Kind = PickleValue::Kind;
        const PickleValue& value = tree.values[index];
        const auto items = [&](std::size_t from = 0) {
            Json list = Json::array();
            for (std::size_t i = from; i < value.items.size(); ++i) list.push_back(self(self, value.items[i], depth + 1));
            return list;
        };
        switch (value.kind) {
        case Kind::none: return nullptr;
        case Kind::boolean: return value.boolean;
        case Kind::integer: return value.integer;
        case Kind::real: return std::isfinite(value.real) ? Json(value.real) : Json(tree.text_of(index));
        case Kind::big_integer:
        case Kind::text: return value.text;
        case Kind::bytes: return {{"bytes", hex(value.text)}};
        case Kind::list:
        case Kind::tuple: return items();
        case Kind::set: return {{"set", items()}};
        case Kind::global: return {{"global", value.text}};
        case Kind::object: return {{"object", items()}};
        case Kind::dict: break;
        }
        bool texts = true;
        for (std::size_t i = 0; i < value.items.size(); i += 2) texts &= tree.values[value.items[i]].kind == Kind::text;
        if (texts) {
            Json object = Json::object();
            for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) object[tree.values[value.items[i]].text] = self(self, value.items[i + 1], depth + 1);
            return object;
        }
        Json pairs = Json::array();
        for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
            pairs.push_back(Json::array({self(self, value.items[i], depth + 1), self(self, value.items[i + 1], depth + 1)}));
        return {{"dict", std::move(pairs)}};
    };
    return convert(convert, tree.root, 0);
}

} // namespace megascope::cli
