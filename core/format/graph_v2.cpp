#include "format/graph_assembler.h"
#include "format/param_reader.h"
#include "mgv2_generated.h"

namespace megascope {

namespace {

namespace v2 = mgb::serialization::fbs::v2;

constexpr std::size_t report_every = 4096;
constexpr std::uint32_t known_model_version = 2;

class GraphV2 {
public:
    GraphV2(const ReadContext& context, std::uint64_t offset, std::span<const std::byte> buffer)
        : context_(context), reader_(buffer, offset + 4) {
        stored_.container = Container::fbs_v2;
        stored_.offset = offset;
        stored_.size = buffer.size() + 4;
    }

    /// With `remember`, params of unknown kinds are read so that they can be written again.
    Expected<StoredGraph> read(bool remember);
    bool has_raw_params() const { return !raw_params_.empty(); }

private:
    Expected<void> read_opr(const FlatTable& table, GraphAssembler& assembler);
    void read_tensors(Opr& opr, const FlatTable& table);
    StoredTensor read_tensor(const FlatTable& table);
    std::optional<TensorFormat> read_format(const FlatTable& table, std::uint16_t type_vt, std::uint16_t vt);
    void read_middle_tensors(const FlatTable& model, const FlatVector& middle, GraphBuilder& builder);
    Expected<void> read_outputs(const FlatTable& model, GraphBuilder& builder);
    void read_metadata(const FlatTable& table);
    /// Remembers where a value lies, from the file's first byte.
    std::uint64_t offset_of(std::span<const std::byte> value) const {
        return reader_.file_offset(static_cast<std::size_t>(value.data() - reader_.bytes().data()));
    }

    const ReadContext& context_;
    FlatReader reader_;
    StoredGraph stored_;
    std::vector<RawParamPlace> raw_params_; ///< params of unknown kinds, in order
};

std::optional<TensorFormat> GraphV2::read_format(const FlatTable& table, std::uint16_t type_vt, std::uint16_t vt) {
    const auto kind = table.scalar<std::uint8_t>(type_vt);
    if (kind == 0) return std::nullopt;
    const FlatTable format = table.table(vt);
    TensorFormat out;
    switch (kind) {
    case 1: break;
    case 2:
        out.kind = TensorFormat::Kind::image2d_pack4;
        out.align_axis = format.scalar<std::uint8_t>(v2::Image2DPackedTensorFormat::VT_ALIGN_AXIS);
        break;
    case 3:
        out.kind = TensorFormat::Kind::lowbits_aligned;
        out.size_nbits = format.scalar<std::uint8_t>(v2::LowbitsAlignedTensorFormat::VT_SIZE_NBITS);
        out.align_size_in_bits = format.scalar<std::uint8_t>(v2::LowbitsAlignedTensorFormat::VT_ALIGN_SIZE_IN_BITS);
        break;
    default: table.violation("a tensor has the unknown format " + std::to_string(kind)); break;
    }
    return out;
}

StoredTensor GraphV2::read_tensor(const FlatTable& table) {
    StoredTensor tensor;
    if (const auto name = table.text(v2::Tensor::VT_NAME)) {
        tensor.name = *name;
        tensor.has_name = true;
    }
    tensor.shape = read_shape(table, v2::Tensor::VT_SHAPE);
    tensor.comp_node = read_comp_node(table.table(v2::Tensor::VT_COMP_NODE), v2::CompNode::VT_LOGICAL_LOCATOR);
    tensor.dtype = read_dtype(table.table(v2::Tensor::VT_DTYPE));
    tensor.format = read_format(table, v2::Tensor::VT_FORMAT_TYPE, v2::Tensor::VT_FORMAT).value_or(TensorFormat());
    if (const auto data = table.blob(v2::Tensor::VT_DATA)) {
        tensor.data_offset = offset_of(*data);
        tensor.data_size = data->size();
        tensor.data = context_.pointer(tensor.data_offset);
        stored_.tensor_bytes += tensor.data_size;
    }
    return tensor;
}

void GraphV2::read_tensors(Opr& opr, const FlatTable& table) {
    const FlatVector tensors = table.vector(v2::Operator::VT_TENSORS, 4);
    opr.tensors.reserve(tensors.size);
    for (std::size_t i = 0; i < tensors.size && reader_.ok(); ++i)
        opr.tensors.push_back(read_tensor(table.table_element(tensors, i)));
    const FlatVector blobs = table.vector(v2::Operator::VT_CUSTOM_DATA, 4);
    for (std::size_t i = 0; i < blobs.size && reader_.ok(); ++i) {
        const FlatTable blob = table.table_element(blobs, i);
        const FlatVector bytes = blob.vector(v2::Blob::VT_DATA, 1);
        const auto view = reader_.bytes().subspan(bytes.position, bytes.size);
        opr.blobs.emplace_back(view.begin(), view.end());
    }
}

Expected<void> GraphV2::read_opr(const FlatTable& table, GraphAssembler& assembler) {
    Opr opr;
    opr.registered_type = table.text(v2::Operator::VT_TYPE).value_or("");
    opr.type_id = table.scalar<std::uint64_t>(v2::Operator::VT_TYPE_ID);
    opr.version = table.scalar<std::uint32_t>(v2::Operator::VT_OPR_VERSION);
    if (const auto name = table.text(v2::Operator::VT_NAME)) {
        opr.name = *name;
        opr.has_name = true;
    }
    opr.priority = table.scalar<std::int32_t>(v2::Operator::VT_PRIORITY);
    const FlatVector inputs = table.vector(v2::Operator::VT_INPUTS, sizeof(std::uint32_t));
    opr.inputs.reserve(inputs.size);
    for (std::size_t i = 0; i < inputs.size; ++i) opr.inputs.emplace_back(table.element<std::uint32_t>(inputs, i));
    const FlatVector comp_nodes = table.vector(v2::Operator::VT_COMP_NODE, 4);
    for (std::size_t i = 0; i < comp_nodes.size && reader_.ok(); ++i)
        opr.comp_nodes.push_back(
            read_comp_node(table.table_element(comp_nodes, i), v2::CompNode::VT_LOGICAL_LOCATOR).value_or(CompNode()));
    opr.output_dtype = read_dtype(table.table(v2::Operator::VT_OUTPUT_DTYPE));

    read_params(opr, table, {v2::Operator::VT_PARAM_TYPE, v2::Operator::VT_PARAM, v2::Operator::VT_ADDITIONAL_PARAMS_TYPE, v2::Operator::VT_ADDITIONAL_PARAMS},
                raw_params_);
    read_tensors(opr, table);

    const FlatVector outputs = table.vector(v2::Operator::VT_OUTPUTS, sizeof(std::uint32_t));
    const std::size_t first = assembler.builder().var_count();
    for (std::size_t i = 0; i < outputs.size; ++i)
        if (table.element<std::uint32_t>(outputs, i) != first + i) {
            table.violation("an operator calls its output " + std::to_string(table.element<std::uint32_t>(outputs, i)) + " where " +
                            std::to_string(first + i) + " comes next");
            break;
        }
    GraphAssembler::identify(opr, Catalogue::builtin().find_v2(opr.type_id, opr.version));
    if (!reader_.ok()) {
        Error error = reader_.error().value();
        error.where = opr_text(assembler.builder().opr_count(), opr);
        return forward(std::move(error));
    }
    MGS_TRY(assembler.add(std::move(opr), outputs.size, 0, table.file_offset()));
    return {};
}

void GraphV2::read_middle_tensors(const FlatTable& model, const FlatVector& middle, GraphBuilder& builder) {
    if (!middle.present) return;
    if (middle.size != builder.var_count())
        context_.warnings.push_back("The graph describes " + std::to_string(middle.size) + " vars, but its operators have " +
                                    std::to_string(builder.var_count()) + " outputs.");
    for (std::size_t i = 0; i < std::min(middle.size, builder.var_count()) && reader_.ok(); ++i) {
        const FlatTable table = model.table_element(middle, i);
        Var& var = builder.var(VarId(i));
        if (const auto name = table.text(v2::MiddleTensor::VT_NAME)) {
            var.name = *name;
            var.has_name = true;
        }
        var.shape = read_shape(table, v2::MiddleTensor::VT_SHAPE);
        var.comp_node = read_comp_node(table.table(v2::MiddleTensor::VT_COMP_NODE), v2::CompNode::VT_LOGICAL_LOCATOR);
        var.dtype = read_dtype(table.table(v2::MiddleTensor::VT_DTYPE));
        var.format = read_format(table, v2::MiddleTensor::VT_FORMAT_TYPE, v2::MiddleTensor::VT_FORMAT);
    }
}

Expected<void> GraphV2::read_outputs(const FlatTable& model, GraphBuilder& builder) {
    std::vector<GraphOutput> outputs;
    const FlatVector vars = model.vector(v2::Model::VT_OUTPUT_VARS_IDX, 4);
    for (std::size_t i = 0; i < vars.size && reader_.ok(); ++i) {
        const FlatTable table = model.table_element(vars, i);
        GraphOutput out;
        out.var = VarId(table.scalar<std::uint32_t>(v2::OutputVar::VT_COMPACT_ID));
        out.original_id = table.scalar<std::uint32_t>(v2::OutputVar::VT_ORIGINAL_ID);
        outputs.push_back(std::move(out));
    }
    const FlatVector aliases = model.vector(v2::Model::VT_OUTPUT_ALIAS, 4);
    for (std::size_t i = 0; i < aliases.size && reader_.ok(); ++i) {
        const FlatTable table = model.table_element(aliases, i);
        OutputAlias alias;
        alias.original_id = table.scalar<std::uint32_t>(v2::OutputAlias::VT_ID);
        alias.name = table.text(v2::OutputAlias::VT_NAME).value_or("");
        const auto named = std::find_if(outputs.begin(), outputs.end(), [&](const GraphOutput& o) { return o.original_id == alias.original_id; });
        if (named == outputs.end())
            context_.warnings.push_back("The output alias '" + alias.name + "' names no output of the graph.");
        else
            named->alias = alias.name;
        stored_.aliases.push_back(std::move(alias));
    }
    if (!reader_.ok()) return reader_.error();
    for (GraphOutput& out : outputs) {
        auto added = builder.add_output(std::move(out));
        if (!added) {
            Error error = std::move(added).error();
            error.offset = model.file_offset();
            return forward(std::move(error));
        }
    }
    return {};
}

void GraphV2::read_metadata(const FlatTable& table) {
    Metadata& m = stored_.metadata;
    m.stored = table.present();
    m.is_valid = table.boolean(v2::Metadata::VT_IS_VALID);
    m.graph_modified = table.boolean(v2::Metadata::VT_GRAPH_MODIFIED);
    m.optimize_options = table.scalar<std::uint64_t>(v2::Metadata::VT_OPTIMIZE_OPTIONS);
    if (const auto info = table.text(v2::Metadata::VT_USER_INFO)) {
        m.user_info = *info;
        m.has_user_info = true;
    }
}

Expected<StoredGraph> GraphV2::read(bool remember) {
    if (remember) reader_.remember_objects();
    const FlatTable model = reader_.root();
    stored_.mge_version = model.scalar<std::uint32_t>(v2::Model::VT_MGE_VERSION);
    stored_.model_version = model.scalar<std::uint32_t>(v2::Model::VT_MODEL_VERSION);
    stored_.nr_shared_tensor = model.scalar<std::uint32_t>(v2::Model::VT_NR_SHARED_TENSOR);
    read_metadata(model.table(v2::Model::VT_METADATA));
    const FlatVector oprs = model.vector(v2::Model::VT_OPRS, 4);
    const FlatVector middle = model.vector(v2::Model::VT_MIDDLE_TENSORS, 4);
    if (!reader_.ok()) return reader_.error();
    if (stored_.model_version > known_model_version)
        context_.warnings.push_back("The graph has model version " + std::to_string(stored_.model_version) + "; versions up to " +
                                    std::to_string(known_model_version) + " are known.");

    GraphAssembler assembler(context_, oprs.size);
    for (std::size_t i = 0; i < oprs.size; ++i) {
        if (i % report_every == 0) {
            if (context_.cancel.cancelled()) return CancelToken::error();
            context_.progress.report("reading operators", i, oprs.size);
        }
        MGS_TRY(read_opr(model.table_element(oprs, i), assembler));
    }
    read_middle_tensors(model, middle, assembler.builder());
    MGS_TRY(read_outputs(model, assembler.builder()));
    if (remember && reader_.ok()) complete_raw_params(reader_, raw_params_, assembler.builder());
    if (!reader_.ok()) return reader_.error();
    stored_.graph = assembler.finish();
    describe_kept_names(stored_);
    return std::move(stored_);
}

} // namespace

Expected<StoredGraph> read_graph_v2(const ReadContext& context, std::uint64_t offset) {
    const auto rest = context.bytes().subspan(offset);
    if (rest.size() < 12) return fail_at(ErrorCode::corrupt, "The graph ends within its first 12 bytes.", offset);
    std::uint32_t size = 0;
    std::memcpy(&size, rest.data(), sizeof size);
    if (size < 8 || size > rest.size() - 4)
        return fail_at(ErrorCode::corrupt, "The graph should have " + std::to_string(std::uint64_t{size} + 4) + " bytes, but only " +
                                               std::to_string(rest.size()) + " are there: the file is cut off or damaged.", offset);
    // Nearly every graph knows all its params; only for others it pays to remember where everything lies.
    const std::size_t warnings = context.warnings.size();
    GraphV2 graph(context, offset, rest.subspan(4, size));
    auto read = graph.read(false);
    if (!read || !graph.has_raw_params()) return read;
    context.warnings.resize(warnings);
    return GraphV2(context, offset, rest.subspan(4, size)).read(true);
}

} // namespace megascope
