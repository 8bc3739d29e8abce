#include <cstring>

#include "format/encoder_frame.h"
#include "format/graph_hash.h"
#include "format/tensor_blobs.h"
#include "mgb1_generated.h"
#include "opr/param_registry.h"

namespace megascope {

namespace {

namespace fbs = mgb::serialization::fbs;
using flatbuffers::Offset;

struct SchemaV1 {
    using CompNode = fbs::CompNode;
    using Blob = fbs::Blob;
    using Tensor = fbs::Tensor;
    using ParamNumber = fbs::OperatorParam;
};

class EncoderV1 : EncoderFrame<SchemaV1> {
public:
    using EncoderFrame::EncoderFrame;

    Expected<void> encode(EncodedGraph& out);

private:
    Offset<fbs::Metadata> create_metadata();
    Expected<Offset<fbs::Operator>> create_opr(const WritePlan::Step& step);
    Expected<Held> create_held(const WritePlan::Step& step, const Opr& opr);
    Expected<Offset<fbs::Tensor>> create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index);
    std::vector<std::byte> header() const;

    std::vector<std::span<const std::byte>> values_; ///< the tensor region
    std::uint64_t value_bytes_ = 0;
};

Offset<fbs::Metadata> EncoderV1::create_metadata() {
    const Metadata& m = options_.metadata;
    if (!m.stored) return {};
    const auto info = create_user_info();
    fbs::MetadataBuilder table(fbb_);
    table.add_is_valid(m.is_valid);
    table.add_graph_modified(m.graph_modified);
    table.add_user_info(info);
    table.add_optimize_options(m.optimize_options);
    return table.Finish();
}

Expected<Offset<fbs::Tensor>> EncoderV1::create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index) {
    const StoredTensor& tensor = opr.tensors[index];
    const auto name = create_tensor_name(step, index);
    const auto shape = create_shape(tensor.shape);
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
    if (options_.container == Container::fbs_mgbs && opr.kind.valid() && opr.type == "CheckNonFinite")
        add_param(held, Param(*ParamRegistry::builtin().find("Empty")));
    else
        MGS_TRY(create_params(opr, held));
    const auto formats = make_format_blobs(opr);
    std::size_t next_blob = 0;
    if (formats && formats->order != BlobOrder::pairs) held.blobs.push_back(create_blob(formats->blobs[next_blob++]));
    for (std::size_t i = 0; i < opr.tensors.size(); ++i) {
        MGS_ASSIGN(const Offset<fbs::Tensor> tensor, create_tensor(step, opr, i));
        held.tensors.push_back(tensor);
        if (formats && next_blob < formats->blobs.size()) held.blobs.push_back(create_blob(formats->blobs[next_blob++]));
    }
    count_shared(opr);
    for (const auto& blob : opr.blobs) held.blobs.push_back(create_blob(blob));
    return held;
}

Expected<Offset<fbs::Operator>> EncoderV1::create_opr(const WritePlan::Step& step) {
    const Opr& opr = graph_.opr(step.opr);
    MGS_ASSIGN(const OprIdentification identity, identify_for(opr, options_));

    const auto comp_nodes = create_comp_nodes(opr);
    const auto inputs = create_inputs(opr);
    const auto name = create_opr_name(opr);
    OffsetVector<flatbuffers::String> output_names;
    if (options_.kept.var_name == 2 || (options_.kept.var_name == 1 && step.owns_graph_output)) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < step.outputs.size(); ++i) names.push_back(written_name(graph_, step, i));
        output_names = fbb_.CreateVectorOfStrings(names);
    }
    const auto output_dtype = write_dtype(fbb_, opr.output_dtype);
    MGS_ASSIGN(const Held held, create_held(step, opr));
    const Lists lists = create_lists(held);

    fbs::OperatorBuilder table(fbb_);
    table.add_type_id(identity.type_id);
    table.add_inputs(inputs);
    table.add_priority(options_.kept.opr_priority ? opr.priority : 0);
    table.add_comp_node(comp_nodes);
    table.add_output_name(output_names);
    table.add_name(name);
    table.add_output_dtype(output_dtype);
    add_params(table, held, lists);
    table.add_blobs(lists.blobs);
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
