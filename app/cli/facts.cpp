#include "facts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "opr/catalogue.h"
#include "session/inputs.h"

namespace megascope::cli {

using Json = nlohmann::ordered_json;

namespace {

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
        default: out = param.text(i);
        }
    }
    return {{"type", param.type().name}, {"fields", std::move(fields)}};
}

Json tensor_json(const StoredTensor& tensor) {
    Json out = Json::object();
    if (tensor.has_name) out["name"] = tensor.name;
    if (tensor.dtype) out["dtype"] = to_json(*tensor.dtype);
    if (tensor.shape) out["shape"] = to_json(*tensor.shape);
    if (tensor.comp_node) out["comp_node"] = tensor.comp_node->locator;
    if (tensor.data_size > 0) {
        out["offset"] = tensor.data_offset;
        out["bytes"] = tensor.data_size;
    }
    return out;
}

Json opr_json(const Graph& graph, const Opr& opr) {
    Json out = {{"id", opr.id.value()}, {"type", graph.type_text(opr.id)}, {"type_id", std::to_string(opr.type_id)}};
    if (opr.version) out["version"] = opr.version;
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
    for (const RawParam& param : opr.raw_params) raw.push_back({{"number", param.number}, {"bytes", param.table.size()}});
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
    if (stored.metadata.stored) {
        out["metadata"] = {{"is_valid", stored.metadata.is_valid}, {"graph_modified", stored.metadata.graph_modified},
                           {"optimize_options", stored.metadata.optimize_options}};
        if (stored.metadata.has_user_info) out["metadata"]["user_info_hex"] = hex(stored.metadata.user_info);
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
    Json outputs = Json::array();
    for (const GraphOutput& output : graph.outputs()) {
        Json one = {{"name", graph.display_name(output.var)}, {"var", output.var.value()}, {"original_id", output.original_id}};
        if (!output.alias.empty()) one["alias"] = output.alias;
        if (const VarDesc& desc = info.var(output.var); desc.known()) {
            one["dtype"] = to_json(*desc.dtype);
            one["shape"] = to_json(*desc.shape);
        }
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

Expected<std::shared_ptr<const Model>> open_model(const std::string& path) {
    MGS_ASSIGN(auto file, MappedFile::open(path));
    auto model = read_model(std::move(file));
    if (!model && model.error().where.find(path) == std::string::npos) {
        Error& error = model.error();
        error.where = error.where.empty() ? path : path + ": " + error.where;
    }
    return model;
}

std::vector<std::pair<std::string, std::size_t>> types_of(const Graph& graph) {
    std::map<std::string, std::size_t> counts;
    for (const Opr& opr : graph.oprs()) ++counts[graph.type_text(opr.id)];
    std::vector<std::pair<std::string, std::size_t>> types(counts.begin(), counts.end());
    std::ranges::stable_sort(types, [](const auto& a, const auto& b) { return a.second > b.second; });
    return types;
}

Constants constants_of(const Graph& graph) {
    Constants constants;
    for (const Opr& opr : graph.oprs()) {
        if (opr.type == "Host2DeviceCopy") continue;
        for (const StoredTensor& tensor : opr.tensors) {
            if (tensor.data_size == 0) continue;
            ++constants.tensors;
            constants.bytes += tensor.data_size;
            if (tensor.shape) constants.elements += tensor.shape->checked_elements().value_or(0);
        }
    }
    return constants;
}

std::string var_text(const VarDesc& desc) {
    return (desc.dtype ? desc.dtype->text() : std::string("dtype unknown")) + (desc.shape ? " " + desc.shape->text() : std::string(", shape unknown"));
}

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
    Json graphs = Json::array();
    for (const StoredGraph& graph : model.graphs) graphs.push_back(graph_json(graph));
    out["graphs"] = std::move(graphs);
    Json testcases = Json::array();
    for (const Testcase& testcase : model.testcases) {
        Json inputs = Json::array();
        for (const TestcaseInput& input : testcase.inputs)
            inputs.push_back({{"name", input.name}, {"dtype", to_json(input.value.dtype())}, {"shape", to_json(input.value.shape())},
                              {"is_expectation", input.is_expectation}});
        testcases.push_back({{"offset", testcase.offset}, {"bytes", testcase.size}, {"inputs", std::move(inputs)}});
    }
    out["testcases"] = std::move(testcases);
    out["warnings"] = model.warnings;
    return out;
}

} // namespace megascope::cli
