#include <cstring>

#include "format/graph_assembler.h"
#include "format/graph_encoder.h"
#include "format/graph_hash.h"
#include "format/param_writer.h"
#include "format/tensor_blobs.h"
#include "mgb1_generated.h"
#include "opr/param_registry.h"

namespace megascope {

namespace {

namespace fbs = mgb::serialization::fbs;
using flatbuffers::Offset;

template <class T>
using OffsetVector = Offset<flatbuffers::Vector<Offset<T>>>;

/// Every `create…` makes its parts in the order in which MegEngine's writer makes them: that decides the bytes.
class EncoderV1 {
public:
    explicit EncoderV1(const EncodeInput& input) : graph_(input.graph), plan_(input.plan), options_(input.options) {}

    Expected<void> encode(EncodedGraph& out);

private:
    struct Held {
        std::vector<Offset<fbs::Tensor>> tensors;
        std::vector<Offset<fbs::Blob>> blobs;
        std::vector<std::uint8_t> param_types;
        std::vector<Offset<void>> params;
    };

    Offset<fbs::Metadata> create_metadata();
    Expected<Offset<fbs::Operator>> create_opr(const WritePlan::Step& step);
    Expected<Held> create_held(const WritePlan::Step& step, const Opr& opr);
    Expected<Offset<fbs::Tensor>> create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index);
    Offset<fbs::Blob> create_blob(std::span<const std::byte> bytes) {
        return fbs::CreateBlob(fbb_, fbb_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    }
    Offset<fbs::CompNode> create_comp_node(const std::optional<CompNode>& node);
    std::vector<std::byte> header() const;

    const Graph& graph_;
    const WritePlan& plan_;
    const WriteOptions& options_;
    flatbuffers::FlatBufferBuilder fbb_;
    std::vector<std::span<const std::byte>> values_; ///< the tensor region
    std::uint64_t value_bytes_ = 0;
    std::uint32_t shared_tensors_ = 0;
};

Offset<fbs::Metadata> EncoderV1::create_metadata() {
    const Metadata& m = options_.metadata;
    if (!m.stored) return {};
    Offset<flatbuffers::String> info;
    if (m.has_user_info) info = fbb_.CreateSharedString(m.user_info.data(), m.user_info.size());
    fbs::MetadataBuilder table(fbb_);
    table.add_is_valid(m.is_valid);
    table.add_graph_modified(m.graph_modified);
    table.add_user_info(info);
    table.add_optimize_options(m.optimize_options);
    return table.Finish();
}

Offset<fbs::CompNode> EncoderV1::create_comp_node(const std::optional<CompNode>& node) {
    if (!node) return {};
    Offset<flatbuffers::String> locator;
    if (!node->empty()) locator = fbb_.CreateSharedString(node->locator);
    return fbs::CreateCompNode(fbb_, locator);
}

Expected<Offset<fbs::Tensor>> EncoderV1::create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index) {
    const StoredTensor& tensor = opr.tensors[index];
    Offset<flatbuffers::String> name;
    if (const auto text = written_tensor_name(graph_, step, index, options_.kept)) name = fbb_.CreateSharedString(*text);
    Offset<flatbuffers::Vector<std::uint32_t>> shape;
    if (tensor.shape) shape = fbb_.CreateVector(wire_shape(*tensor.shape));
    const auto comp_node = create_comp_node(tensor.comp_node);
    const auto dtype = write_dtype(fbb_, tensor.dtype);
    std::uint32_t size = 0;
    if (tensor.data) {
        if (tensor.data_size > std::numeric_limits<std::uint32_t>::max())
            return fail_in(ErrorCode::unsupported, "A tensor of " + std::to_string(tensor.data_size) + " bytes is too large for FBS v1.",
                           opr_text(opr.id.index(), opr));
        size = static_cast<std::uint32_t>(tensor.data_size);
        values_.emplace_back(tensor.data.get(), tensor.data_size);
        value_bytes_ += size;
    }
    return fbs::CreateTensor(fbb_, name, shape, comp_node, dtype, size);
}

Expected<EncoderV1::Held> EncoderV1::create_held(const WritePlan::Step& step, const Opr& opr) {
    Held held;
    // Releases up to 8.14 know CheckNonFinite without a param.
    const bool emptied = options_.container == Container::fbs_mgbs && opr.kind.valid() && opr.type == "CheckNonFinite";
    for (const Param& param : opr.params) {
        const Param written = emptied ? Param(*ParamRegistry::builtin().find("Empty")) : param;
        held.param_types.push_back(written.type().number);
        held.params.push_back(write_param(fbb_, written));
    }
    const auto formats = make_format_blobs(opr);
    std::size_t next_blob = 0;
    if (formats && formats->order != BlobOrder::pairs) held.blobs.push_back(create_blob(formats->blobs[next_blob++]));
    for (std::size_t i = 0; i < opr.tensors.size(); ++i) {
        MGS_ASSIGN(const Offset<fbs::Tensor> tensor, create_tensor(step, opr, i));
        held.tensors.push_back(tensor);
        if (formats && next_blob < formats->blobs.size()) held.blobs.push_back(create_blob(formats->blobs[next_blob++]));
    }
    if (opr.kind.valid() && holds_shared_tensors(opr)) shared_tensors_ += static_cast<std::uint32_t>(opr.tensors.size());
    for (const auto& blob : opr.blobs) held.blobs.push_back(create_blob(blob));
    return held;
}

Expected<Offset<fbs::Operator>> EncoderV1::create_opr(const WritePlan::Step& step) {
    const Opr& opr = graph_.opr(step.opr);
    MGS_TRY(check_params(opr));
    MGS_ASSIGN(const OprIdentification identity, identify_for(opr, options_));

    OffsetVector<fbs::CompNode> comp_nodes;
    if (!opr.comp_nodes.empty()) {
        std::vector<Offset<fbs::CompNode>> nodes;
        for (const CompNode& node : opr.comp_nodes) nodes.push_back(create_comp_node(node));
        comp_nodes = fbb_.CreateVector(nodes);
    }
    Offset<flatbuffers::Vector<std::uint32_t>> inputs;
    if (!opr.inputs.empty()) inputs = fbb_.CreateVector(wire_inputs(opr, plan_));
    Offset<flatbuffers::String> name;
    if (options_.kept.opr_name) name = fbb_.CreateSharedString(opr.has_name ? opr.name : graph_.display_name(opr.id));
    OffsetVector<flatbuffers::String> output_names;
    if (options_.kept.var_name == 2 || (options_.kept.var_name == 1 && step.owns_graph_output)) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < step.outputs.size(); ++i) names.push_back(written_name(graph_, step, i));
        output_names = fbb_.CreateVectorOfStrings(names);
    }
    const auto output_dtype = write_dtype(fbb_, opr.output_dtype);
    MGS_ASSIGN(Held held, create_held(step, opr));
    OffsetVector<fbs::Tensor> tensors;
    if (!held.tensors.empty()) tensors = fbb_.CreateVector(held.tensors);
    OffsetVector<fbs::Blob> blobs;
    if (!held.blobs.empty()) blobs = fbb_.CreateVector(held.blobs);
    Offset<flatbuffers::Vector<fbs::OperatorParam>> more_types;
    Offset<flatbuffers::Vector<Offset<void>>> more;
    if (held.params.size() > 1) {
        more_types.o = fbb_.CreateVector(held.param_types.data() + 1, held.param_types.size() - 1).o;
        more = fbb_.CreateVector(held.params.data() + 1, held.params.size() - 1);
    }

    fbs::OperatorBuilder table(fbb_);
    table.add_type_id(identity.type_id);
    table.add_inputs(inputs);
    table.add_priority(options_.kept.opr_priority ? opr.priority : 0);
    table.add_comp_node(comp_nodes);
    table.add_output_name(output_names);
    table.add_name(name);
    table.add_output_dtype(output_dtype);
    if (!held.params.empty()) {
        table.add_param_type(static_cast<fbs::OperatorParam>(held.param_types[0]));
        table.add_param(held.params[0]);
    }
    table.add_additional_params_type(more_types);
    table.add_additional_params(more);
    table.add_tensors(tensors);
    table.add_blobs(blobs);
    return table.Finish();
}

std::vector<std::byte> EncoderV1::header() const {
    const bool current = options_.container == Container::fbs_mgbc;
    std::vector<std::byte> bytes(current ? 24 : 16);
    std::memcpy(bytes.data(), current ? "MGBC" : "MGBS", 4);
    std::memcpy(bytes.data() + bytes.size() - 8, &value_bytes_, 8);
    return bytes;
}

Expected<void> EncoderV1::encode(EncodedGraph& out) {
    const auto metadata = create_metadata();
    std::vector<Offset<fbs::Operator>> oprs;
    for (const WritePlan::Step& step : plan_.steps) {
        MGS_ASSIGN(const Offset<fbs::Operator> opr, create_opr(step));
        oprs.push_back(opr);
    }
    const auto opr_vector = fbb_.CreateVector(oprs);
    std::vector<fbs::OutputVar> outputs;
    for (const GraphOutput& output : graph_.outputs()) outputs.emplace_back(plan_.id_of[output.var.index()], output.original_id);
    const auto output_vector = fbb_.CreateVectorOfStructs(outputs);
    out.summary.content_hash =
        graph_hash({reinterpret_cast<const std::byte*>(fbb_.GetCurrentBufferPointer()), static_cast<std::size_t>(fbb_.GetSize())});

    fbs::GraphBuilder graph(fbb_);
    graph.add_mgb_version(options_.mge_version);
    graph.add_hash(out.summary.content_hash);
    graph.add_oprs(opr_vector);
    graph.add_output_vars_idx(output_vector);
    graph.add_nr_shared_tensor(shared_tensors_);
    graph.add_metadata(metadata);
    fbb_.FinishSizePrefixed(graph.Finish(), fbs::GraphIdentifier());

    const auto head = std::make_shared<const std::vector<std::byte>>(header());
    out.owned.push_back(head);
    out.pieces.emplace_back(*head);
    out.pieces.insert(out.pieces.end(), values_.begin(), values_.end());
    take_buffer(fbb_, out);
    return {};
}

} // namespace

Expected<void> encode_v1(const EncodeInput& input, EncodedGraph& out) { return EncoderV1(input).encode(out); }

} // namespace megascope
