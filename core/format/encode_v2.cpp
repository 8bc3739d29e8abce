#include "format/encoder_frame.h"
#include "mgv2_generated.h"

namespace megascope {

namespace {

namespace v2 = mgb::serialization::fbs::v2;
using flatbuffers::Offset;

struct SchemaV2 {
    using CompNode = v2::CompNode;
    using Blob = v2::Blob;
    using Tensor = v2::Tensor;
    using ParamNumber = v2::OperatorParam;
};

class EncoderV2 : EncoderFrame<SchemaV2> {
public:
    using EncoderFrame::EncoderFrame;

    Expected<void> encode(EncodedGraph& out);

private:
    Offset<v2::Metadata> create_metadata();
    Expected<Offset<v2::Operator>> create_opr(const WritePlan::Step& step);
    Expected<Held> create_held(const WritePlan::Step& step, const Opr& opr);
    Offset<v2::Tensor> create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index);
    Offset<v2::MiddleTensor> create_middle_tensor(const WritePlan::Step& step, std::size_t output);
    Offset<void> create_format(const TensorFormat& format);
    OffsetVector<v2::OutputAlias> create_aliases();

    std::vector<Offset<v2::MiddleTensor>> middle_;
};

v2::TensorFormat format_type(const TensorFormat& format) {
    switch (format.kind) {
    case TensorFormat::Kind::image2d_pack4: return v2::TensorFormat::Image2DPackedTensorFormat;
    case TensorFormat::Kind::lowbits_aligned: return v2::TensorFormat::LowbitsAlignedTensorFormat;
    case TensorFormat::Kind::default_: break;
    }
    return v2::TensorFormat::DefaultTensorFormat;
}

Offset<v2::Metadata> EncoderV2::create_metadata() {
    const Metadata& m = options_.metadata;
    if (!m.stored) return {};
    const auto info = create_user_info();
    v2::MetadataBuilder table(fbb_);
    table.add_is_valid(m.is_valid);
    table.add_graph_modified(m.graph_modified);
    table.add_optimize_options(m.optimize_options);
    table.add_user_info(info);
    return table.Finish();
}

Offset<void> EncoderV2::create_format(const TensorFormat& format) {
    switch (format.kind) {
    case TensorFormat::Kind::image2d_pack4: return v2::CreateImage2DPackedTensorFormat(fbb_, format.align_axis).Union();
    case TensorFormat::Kind::lowbits_aligned:
        return v2::CreateLowbitsAlignedTensorFormat(fbb_, format.size_nbits, format.align_size_in_bits).Union();
    case TensorFormat::Kind::default_: break;
    }
    return v2::CreateDefaultTensorFormat(fbb_).Union();
}

Offset<v2::Tensor> EncoderV2::create_tensor(const WritePlan::Step& step, const Opr& opr, std::size_t index) {
    const StoredTensor& tensor = opr.tensors[index];
    Offset<flatbuffers::Vector<std::uint8_t>> data;
    if (tensor.data) data = fbb_.CreateVector(reinterpret_cast<const std::uint8_t*>(tensor.data.get()), tensor.data_size);
    const auto name = create_tensor_name(step, index);
    const auto shape = create_shape(tensor.shape);
    const auto comp_node = create_comp_node(tensor.comp_node);
    const auto dtype = write_dtype(fbb_, tensor.dtype);
    const auto format = create_format(tensor.format);
    return v2::CreateTensor(fbb_, name, shape, comp_node, dtype, format_type(tensor.format), format, data);
}

Expected<EncoderV2::Held> EncoderV2::create_held(const WritePlan::Step& step, const Opr& opr) {
    Held held;
    MGS_TRY(create_params(opr, held));
    for (std::size_t i = 0; i < opr.tensors.size(); ++i) held.tensors.push_back(create_tensor(step, opr, i));
    count_shared(opr);
    for (const auto& blob : opr.blobs) held.blobs.push_back(create_blob(blob));
    return held;
}

Offset<v2::MiddleTensor> EncoderV2::create_middle_tensor(const WritePlan::Step& step, std::size_t output) {
    const auto name = fbb_.CreateSharedString(written_name(graph_, step, output));
    if (!step.outputs[output]) return v2::CreateMiddleTensor(fbb_, name);
    const Var& var = graph_.var(*step.outputs[output]);
    std::optional<Shape> known = var.shape;
    if (!known && options_.info) known = options_.info->var(var.id).shape;
    const auto shape = create_shape(known);
    const auto comp_node = create_comp_node(var.comp_node);
    const auto dtype = write_dtype(fbb_, var.dtype);
    if (!var.format) return v2::CreateMiddleTensor(fbb_, name, shape, comp_node, dtype);
    const auto format = create_format(*var.format);
    return v2::CreateMiddleTensor(fbb_, name, shape, comp_node, dtype, format_type(*var.format), format);
}

Expected<Offset<v2::Operator>> EncoderV2::create_opr(const WritePlan::Step& step) {
    const Opr& opr = graph_.opr(step.opr);
    MGS_ASSIGN(const OprIdentification identity, identify_for(opr, options_));

    const auto inputs = create_inputs(opr);
    MGS_ASSIGN(const Held held, create_held(step, opr));
    const auto comp_nodes = create_comp_nodes(opr);
    const auto name = create_opr_name(opr);
    const auto output_dtype = write_dtype(fbb_, opr.output_dtype);
    std::vector<std::uint32_t> output_ids;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
        output_ids.push_back(step.first_id + static_cast<std::uint32_t>(i));
        if (options_.kept.var_name >= 1) middle_.push_back(create_middle_tensor(step, i));
    }
    const auto outputs = fbb_.CreateVector(output_ids);
    const Lists lists = create_lists(held);
    const auto type = fbb_.CreateSharedString(identity.type.data(), identity.type.size());

    v2::OperatorBuilder table(fbb_);
    table.add_type(type);
    table.add_type_id(identity.type_id);
    table.add_inputs(inputs);
    table.add_outputs(outputs);
    table.add_priority(options_.kept.opr_priority ? opr.priority : 0);
    table.add_comp_node(comp_nodes);
    table.add_opr_version(identity.version);
    table.add_name(name);
    table.add_output_dtype(output_dtype);
    add_params(table, held, lists);
    table.add_custom_data(lists.blobs);
    return table.Finish();
}

EncoderV2::OffsetVector<v2::OutputAlias> EncoderV2::create_aliases() {
    std::vector<Offset<v2::OutputAlias>> aliases;
    for (const OutputAlias& alias : options_.aliases)
        aliases.push_back(v2::CreateOutputAlias(fbb_, alias.original_id, fbb_.CreateSharedString(alias.name)));
    return fbb_.CreateVector(aliases);
}

Expected<void> EncoderV2::encode(EncodedGraph& out) {
    const auto metadata = create_metadata();
    std::vector<Offset<v2::Operator>> oprs;
    for (const WritePlan::Step& step : plan_.steps) {
        MGS_ASSIGN(const Offset<v2::Operator> opr, create_opr(step));
        oprs.push_back(opr);
    }
    const auto opr_vector = fbb_.CreateVector(oprs);
    std::vector<Offset<v2::OutputVar>> outputs;
    for (const GraphOutput& output : graph_.outputs())
        outputs.push_back(v2::CreateOutputVar(fbb_, plan_.id_of[output.var.index()], output.original_id));
    const auto output_vector = fbb_.CreateVector(outputs);
    const auto aliases = create_aliases();
    OffsetVector<v2::MiddleTensor> middle;
    if (options_.kept.var_name >= 1) middle = fbb_.CreateVector(middle_);

    v2::ModelBuilder model(fbb_);
    model.add_mge_version(options_.mge_version);
    model.add_model_version(options_.model_version);
    model.add_oprs(opr_vector);
    model.add_middle_tensors(middle);
    model.add_output_vars_idx(output_vector);
    model.add_output_alias(aliases);
    model.add_nr_shared_tensor(shared_tensors_);
    model.add_metadata(metadata);
    fbb_.FinishSizePrefixed(model.Finish(), v2::ModelIdentifier());
    take_buffer(fbb_, out);
    return {};
}

} // namespace

Expected<void> encode_v2(const EncodeInput& input, EncodedGraph& out) { return EncoderV2(input).encode(out); }

} // namespace megascope
