#include "format/writer.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "format/atomic_file.h"
#include "format/graph_assembler.h"
#include "format/graph_encoder.h"

namespace megascope {

namespace {

// A flatbuffer's offsets are 31 bits wide; the rest of a graph beside its values needs some of that.
constexpr std::uint64_t flatbuffer_limit = (1ULL << 31U) - (64ULL << 20U);

/// All bytes of a dump, in order, and what keeps them alive.
struct EncodedDump {
    std::vector<std::byte> header;
    std::vector<EncodedGraph> graphs;

    [[nodiscard]] std::vector<std::span<const std::byte>> pieces() const {
        std::vector<std::span<const std::byte>> all;
        if (!header.empty()) all.emplace_back(header);
        for (const EncodedGraph& graph : graphs) all.insert(all.end(), graph.pieces.begin(), graph.pieces.end());
        return all;
    }
};

std::vector<std::byte> join(std::span<const std::span<const std::byte>> pieces) {
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    std::vector<std::byte> bytes;
    bytes.reserve(size);
    for (const auto piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
}

Expected<EncodedDump> encode_all(const DumpContent& content, const CancelToken& cancel, const Progress& progress) {
    EncodedDump dump;
    if (content.testcase_header) {
        dump.header.resize(12);
        const auto count = static_cast<std::uint32_t>(content.testcases.size());
        std::memcpy(dump.header.data(), "mgbtest0", 8);
        std::memcpy(dump.header.data() + 8, &count, 4);
    } else if (!content.testcases.empty()) {
        return fail(ErrorCode::invalid_argument, "Testcases need the testcase header.");
    }
    std::vector<const DumpContent::Part*> parts{&content.main};
    for (const auto& part : content.testcases) parts.push_back(&part);
    for (const auto& part : content.appended) parts.push_back(&part);
    for (const DumpContent::Part* part : parts) {
        if (cancel.cancelled()) return CancelToken::error();
        progress.report("encoding", dump.graphs.size(), parts.size());
        MGS_ASSIGN(EncodedGraph graph, encode_graph(part->graph, part->options));
        dump.graphs.push_back(std::move(graph));
    }
    return dump;
}

} // namespace

WriteOptions WriteOptions::like_input(const StoredGraph& stored) {
    WriteOptions options;
    options.container = stored.container;
    options.kept = stored.kept;
    options.metadata = stored.metadata;
    options.mge_version = stored.mge_version;
    options.model_version = stored.model_version;
    options.aliases = stored.aliases;
    options.read_from = stored.container;
    // What unknown operators hold only the total tells.
    std::uint32_t known = 0;
    for (const Opr& opr : stored.graph->oprs())
        if (opr.kind.valid() && holds_shared_tensors(opr)) known += static_cast<std::uint32_t>(opr.tensors.size());
    options.unknown_shared_tensors = stored.nr_shared_tensor > known ? stored.nr_shared_tensor - known : 0;
    return options;
}

std::vector<std::byte> EncodedGraph::joined() const { return join(pieces); }

std::vector<std::uint32_t> wire_shape(const Shape& shape) {
    std::vector<std::uint32_t> sizes;
    for (const std::int64_t size : shape) sizes.push_back(static_cast<std::uint32_t>(size));
    return sizes;
}

std::vector<std::uint32_t> wire_inputs(const Opr& opr, const WritePlan& plan) {
    std::vector<std::uint32_t> ids;
    for (VarId in : opr.inputs) ids.push_back(plan.id_of[in.index()]);
    return ids;
}

void take_buffer(flatbuffers::FlatBufferBuilder& fbb, EncodedGraph& out) {
    const auto* data = reinterpret_cast<const std::byte*>(fbb.GetBufferPointer());
    const auto bytes = std::make_shared<const std::vector<std::byte>>(data, data + fbb.GetSize());
    out.owned.push_back(bytes);
    out.pieces.emplace_back(*bytes);
}

Expected<EncodedGraph> encode_graph(std::shared_ptr<const Graph> graph, const WriteOptions& options) {
    MGS_ASSIGN(const WritePlan plan, WritePlan::make(*graph, options.container));
    EncodedGraph out;
    MGS_ASSIGN(out.summary, summarise(*graph, plan, options));
    if (options.container == Container::fbs_v2 && out.summary.tensor_bytes > flatbuffer_limit)
        return fail(ErrorCode::unsupported, "FBS v2 holds at most 2 GiB, and the values alone have " +
                                                std::to_string(out.summary.tensor_bytes) + " bytes; FBS v1 can hold them.");
    const EncodeInput input{*graph, plan, options};
    MGS_TRY(options.container == Container::fbs_v2 ? encode_v2(input, out) : encode_v1(input, out));
    for (const auto piece : out.pieces) out.summary.total_bytes += piece.size();
    out.graph = std::move(graph);
    return out;
}

DumpContent DumpContent::like_input(const Model& model) {
    DumpContent content;
    content.testcase_header = model.has_testcase_header;
    content.main = {model.main().graph, WriteOptions::like_input(model.main())};
    for (const Testcase& testcase : model.testcases)
        content.testcases.push_back({testcase.graph, WriteOptions::like_input(testcase.stored)});
    for (std::size_t i = 1; i < model.graphs.size(); ++i)
        content.appended.push_back({model.graphs[i].graph, WriteOptions::like_input(model.graphs[i])});
    return content;
}

Expected<std::vector<std::byte>> encode_dump(const DumpContent& content, const CancelToken& cancel) {
    MGS_ASSIGN(const EncodedDump dump, encode_all(content, cancel, {}));
    return join(dump.pieces());
}

Expected<WriteSummary> save_dump(const std::filesystem::path& path, const DumpContent& content, bool append, const CancelToken& cancel,
                                 const Progress& progress) {
    MGS_ASSIGN(const EncodedDump dump, encode_all(content, cancel, progress));
    MGS_TRY(write_file_atomically(path, dump.pieces(), append, cancel, progress));
    return dump.graphs.front().summary;
}

WriteOptions testcase_options() {
    WriteOptions options;
    options.metadata = {.stored = true, .has_user_info = true};
    return options;
}

Expected<std::shared_ptr<const Graph>> make_testcase_graph(const Graph& graph, std::span<const TestcaseInput> values) {
    std::map<std::pair<std::string, DTypeId>, const StoredTensor*> inputs;
    for (OprId id : graph.inputs()) {
        const Opr& opr = graph.opr(id);
        const StoredTensor& tensor = opr.tensors.front();
        inputs.emplace(std::pair(tensor.name, tensor.dtype ? tensor.dtype->id : DTypeId::float32), &tensor);
    }
    const OprDef* holder = Catalogue::builtin().find_type("SharedDeviceTensor");
    GraphBuilder builder;
    for (const auto& [key, input] : inputs) {
        const std::string& name = key.first;
        const auto value = std::find_if(values.begin(), values.end(), [&](const TestcaseInput& v) { return v.name == name; });
        if (value == values.end() || !value->value.has_value())
            return fail(ErrorCode::invalid_argument, "The testcase has no value for the input '" + name + "'.");
        if (input->dtype && value->value.dtype() != *input->dtype)
            return fail(ErrorCode::invalid_argument, "The value for the input '" + name + "' is " + value->value.dtype().text() +
                                                         ", but the input is " + input->dtype->text() + ".");
        Opr opr;
        GraphAssembler::identify(opr, holder);
        StoredTensor tensor;
        tensor.dtype = value->value.dtype();
        tensor.shape = value->value.shape();
        tensor.comp_node = CompNode{"cpux:0"};
        tensor.data = value->value.storage();
        tensor.data_size = value->value.nbytes();
        opr.tensors.push_back(std::move(tensor));
        const std::size_t k = builder.opr_count();
        MGS_ASSIGN(const OprId id, builder.add(std::move(opr), 1));
        Var& var = builder.var(builder.opr(id).outputs.front());
        // In MegEngine's graph of values each operator takes an id, which its default name shows, and then its output does.
        var.name = "shared[" + std::to_string(2 * k) + "]";
        var.has_name = true;
        var.shape = value->value.shape();
        MGS_TRY(builder.add_output({var.id, static_cast<std::uint32_t>(2 * k + 1), {}}));
    }
    for (const TestcaseInput& value : values)
        if (std::none_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first.first == value.name; }))
            return fail(ErrorCode::invalid_argument, "The graph has no input '" + value.name + "'.");
    return builder.finish();
}

} // namespace megascope
