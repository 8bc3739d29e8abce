#include <algorithm>

#include "format/graph_assembler.h"
#include "format/graph_hash.h"
#include "format/param_reader.h"
#include "format/tensor_blobs.h"
#include "mgb1_generated.h"

namespace megascope {

namespace {

namespace fbs = mgb::serialization::fbs;

constexpr std::size_t report_every = 4096;

class GraphV1 {
public:
    GraphV1(const ReadContext& context, Container container, std::uint64_t offset, std::uint64_t tensors, std::uint64_t tensors_end,
            std::span<const std::byte> buffer)
        : context_(context), reader_(buffer, tensors_end + 4), cursor_(tensors), tensors_end_(tensors_end) {
        stored_.container = container;
        stored_.offset = offset;
        stored_.size = tensors_end + 4 + buffer.size() - offset;
    }

    /// With `remember`, params of unknown kinds are read so that they can be written again.
    Expected<StoredGraph> read(bool remember);
    bool has_raw_params() const { return !raw_params_.empty(); }

private:
    Expected<void> read_opr(const FlatTable& table, GraphAssembler& assembler);
    Expected<void> read_tensors(Opr& opr, const FlatTable& table);
    Expected<void> read_outputs(const FlatTable& graph, GraphBuilder& builder);
    void read_metadata(const FlatTable& table);
    void check_hash(const FlatVector& outputs);

    const ReadContext& context_;
    FlatReader reader_;
    std::uint64_t cursor_; ///< next unread byte of the tensor region, from the file's first byte
    std::uint64_t tensors_end_;
    StoredGraph stored_;
    std::vector<RawParamPlace> raw_params_; ///< params of unknown kinds, in order
};

Expected<void> GraphV1::read_tensors(Opr& opr, const FlatTable& table) {
    const FlatVector tensors = table.vector(fbs::Operator::VT_TENSORS, 4);
    opr.tensors.reserve(tensors.size);
    for (std::size_t i = 0; i < tensors.size && reader_.ok(); ++i) {
        const FlatTable t = table.table_element(tensors, i);
        StoredTensor tensor;
        if (const auto name = t.text(fbs::Tensor::VT_NAME)) {
            tensor.name = *name;
            tensor.has_name = true;
        }
        tensor.shape = read_shape(t, fbs::Tensor::VT_SHAPE);
        tensor.comp_node = read_comp_node(t.table(fbs::Tensor::VT_COMP_NODE), fbs::CompNode::VT_LOGICAL_LOCATOR);
        tensor.dtype = read_dtype(t.table(fbs::Tensor::VT_DTYPE));
        const auto size = t.scalar<std::uint32_t>(fbs::Tensor::VT_DATA_SIZE);
        const auto skipped = t.scalar<std::uint32_t>(fbs::Tensor::VT_OFFSET);
        if (size > 0) {
            if (skipped > size || size > tensors_end_ - cursor_)
                return fail_at(ErrorCode::corrupt, "A tensor of " + std::to_string(size) + " bytes does not fit into the " +
                                                       std::to_string(tensors_end_ - cursor_) + " bytes of values that are left.", cursor_);
            tensor.data_offset = cursor_ + skipped;
            tensor.data_size = size - skipped;
            tensor.data = context_.pointer(tensor.data_offset);
            stored_.tensor_bytes += tensor.data_size;
            cursor_ += size;
        }
        opr.tensors.push_back(std::move(tensor));
    }
    const FlatVector blobs = table.vector(fbs::Operator::VT_BLOBS, 4);
    for (std::size_t i = 0; i < blobs.size && reader_.ok(); ++i) {
        const FlatTable blob = table.table_element(blobs, i);
        const FlatVector bytes = blob.vector(fbs::Blob::VT_DATA, 1);
        const auto view = reader_.bytes().subspan(bytes.position, bytes.size);
        opr.blobs.emplace_back(view.begin(), view.end());
    }
    return {};
}

Expected<void> GraphV1::read_opr(const FlatTable& table, GraphAssembler& assembler) {
    Opr opr;
    opr.type_id = table.scalar<std::uint64_t>(fbs::Operator::VT_TYPE_ID);
    const Catalogue& catalogue = Catalogue::builtin();
    GraphAssembler::identify(opr, stored_.container == Container::fbs_mgbc ? catalogue.find_v1(opr.type_id) : catalogue.find_mgbs(opr.type_id));
    if (const auto name = table.text(fbs::Operator::VT_NAME)) {
        opr.name = *name;
        opr.has_name = true;
    }
    const auto refuse = [&](Error error) {
        error.where = opr_text(assembler.builder().opr_count(), opr);
        return forward(std::move(error));
    };
    opr.priority = table.scalar<std::int32_t>(fbs::Operator::VT_PRIORITY);
    const FlatVector inputs = table.vector(fbs::Operator::VT_INPUTS, sizeof(std::uint32_t));
    opr.inputs.reserve(inputs.size);
    for (std::size_t i = 0; i < inputs.size; ++i) opr.inputs.emplace_back(table.element<std::uint32_t>(inputs, i));
    const FlatVector comp_nodes = table.vector(fbs::Operator::VT_COMP_NODE, 4);
    for (std::size_t i = 0; i < comp_nodes.size && reader_.ok(); ++i)
        opr.comp_nodes.push_back(
            read_comp_node(table.table_element(comp_nodes, i), fbs::CompNode::VT_LOGICAL_LOCATOR).value_or(CompNode()));
    opr.output_dtype = read_dtype(table.table(fbs::Operator::VT_OUTPUT_DTYPE));

    read_params(opr, table, {fbs::Operator::VT_PARAM_TYPE, fbs::Operator::VT_PARAM, fbs::Operator::VT_ADDITIONAL_PARAMS_TYPE, fbs::Operator::VT_ADDITIONAL_PARAMS},
                raw_params_);
    if (auto tensors = read_tensors(opr, table); !tensors) return refuse(std::move(tensors).error());

    std::vector<std::string_view> names;
    const FlatVector output_names = table.vector(fbs::Operator::VT_OUTPUT_NAME, 4);
    for (std::size_t i = 0; i < output_names.size && reader_.ok(); ++i) names.push_back(table.text_element(output_names, i));
    if (!reader_.ok()) return refuse(reader_.error().value());
    if (auto formats = take_format_blobs(opr); !formats) {
        Error error = std::move(formats).error();
        error.offset = table.file_offset();
        return refuse(std::move(error));
    }

    MGS_ASSIGN(const OprId id, assembler.add(std::move(opr), std::nullopt, names.size(), table.file_offset()));
    GraphBuilder& builder = assembler.builder();
    for (std::size_t i = 0; i < names.size(); ++i) {
        Var& var = builder.var(builder.opr(id).outputs[i]);
        var.name = names[i];
        var.has_name = true;
    }
    return {};
}

Expected<void> GraphV1::read_outputs(const FlatTable& graph, GraphBuilder& builder) {
    const FlatVector outputs = graph.vector(fbs::Graph::VT_OUTPUT_VARS_IDX, sizeof(fbs::OutputVar));
    check_hash(outputs);
    for (std::size_t i = 0; i < outputs.size; ++i) {
        const std::size_t at = outputs.position + i * sizeof(fbs::OutputVar);
        GraphOutput out;
        out.var = VarId(reader_.load<std::uint32_t>(at));
        out.original_id = reader_.load<std::uint32_t>(at + 4);
        auto added = builder.add_output(std::move(out));
        if (!added) {
            Error error = std::move(added).error();
            error.offset = reader_.file_offset(at);
            return forward(std::move(error));
        }
    }
    return {};
}

void GraphV1::check_hash(const FlatVector& outputs) {
    stored_.hash_matches = graph_hash(reader_.bytes().subspan(outputs.present ? outputs.position - 4 : 0)) == stored_.hash;
    if (!stored_.hash_matches)
        context_.warnings.emplace_back("The graph's hash does not fit its content: it was changed or damaged after it was written.");
}

void GraphV1::read_metadata(const FlatTable& table) {
    Metadata& m = stored_.metadata;
    m.stored = table.present();
    m.is_valid = table.boolean(fbs::Metadata::VT_IS_VALID);
    m.graph_modified = table.boolean(fbs::Metadata::VT_GRAPH_MODIFIED);
    m.optimize_options = table.scalar<std::uint64_t>(fbs::Metadata::VT_OPTIMIZE_OPTIONS);
    if (const auto info = table.text(fbs::Metadata::VT_USER_INFO)) {
        m.user_info = *info;
        m.has_user_info = true;
    }
}

Expected<StoredGraph> GraphV1::read(bool remember) {
    if (remember) reader_.remember_objects();
    const std::uint64_t tensors_begin = cursor_;
    const FlatTable graph = reader_.root();
    stored_.mge_version = graph.scalar<std::uint32_t>(fbs::Graph::VT_MGB_VERSION);
    stored_.hash = graph.scalar<std::uint64_t>(fbs::Graph::VT_HASH);
    stored_.nr_shared_tensor = graph.scalar<std::uint32_t>(fbs::Graph::VT_NR_SHARED_TENSOR);
    read_metadata(graph.table(fbs::Graph::VT_METADATA));
    const FlatVector oprs = graph.vector(fbs::Graph::VT_OPRS, 4);
    if (!reader_.ok()) return reader_.error();

    GraphAssembler assembler(context_, oprs.size);
    for (std::size_t i = 0; i < oprs.size; ++i) {
        if (i % report_every == 0) {
            if (context_.cancel.cancelled()) return CancelToken::error();
            context_.progress.report("reading operators", i, oprs.size);
        }
        MGS_TRY(read_opr(graph.table_element(oprs, i), assembler));
    }
    MGS_TRY(read_outputs(graph, assembler.builder()));
    if (remember && reader_.ok()) complete_raw_params(reader_, raw_params_, assembler.builder());
    if (!reader_.ok()) return reader_.error();
    if (cursor_ != tensors_end_)
        context_.warnings.push_back("The operators use " + std::to_string(cursor_ - tensors_begin) + " of " +
                                    std::to_string(tensors_end_ - tensors_begin) + " bytes of tensor values.");
    stored_.graph = assembler.finish();
    describe_kept_names(stored_);
    return std::move(stored_);
}

} // namespace

Expected<StoredGraph> read_graph_v1(const ReadContext& context, std::uint64_t offset) {
    const auto rest = context.bytes().subspan(offset);
    const auto u32 = [&](std::uint64_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, rest.data() + at, sizeof value);
        return value;
    };
    const auto u64 = [&](std::uint64_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, rest.data() + at, sizeof value);
        return value;
    };
    const auto cut_off = [&](std::uint64_t needed) {
        return fail_at(ErrorCode::corrupt, "The graph needs " + std::to_string(needed) + " bytes, but only " + std::to_string(rest.size()) +
                                               " are there: the file is cut off or damaged.", offset);
    };
    if (rest.size() < 24) return cut_off(24);
    const Container container = std::memcmp(rest.data(), "MGBC", 4) == 0 ? Container::fbs_mgbc : Container::fbs_mgbs;
    const std::uint64_t header = container == Container::fbs_mgbc ? 24 : 16;
    if (container == Container::fbs_mgbc && u64(4) != 0)
        return fail_at(ErrorCode::unsupported, "The graph asks for features that are not known (bits " + std::to_string(u64(4)) + ").", offset + 4);
    const std::uint64_t region = u64(header - 8);
    if (region > rest.size() || rest.size() - region < header + 12) return cut_off(region > (1ULL << 62U) ? region : header + region + 12);
    const std::uint32_t size = u32(header + region);
    if (size < 8 || size > rest.size() - header - region - 4) return cut_off(header + region + 4 + size);
    const auto buffer = rest.subspan(header + region + 4, size);
    if (std::memcmp(buffer.data() + 4, "mgb1", 4) != 0)
        return fail_at(ErrorCode::corrupt, "The graph's flatbuffer has no 'mgb1' identifier.", offset + header + region + 8);
    // Nearly every graph knows all its params; only for others it pays to remember where everything lies.
    const std::size_t warnings = context.warnings.size();
    GraphV1 graph(context, container, offset, offset + header, offset + header + region, buffer);
    auto read = graph.read(false);
    if (!read || !graph.has_raw_params()) return read;
    context.warnings.resize(warnings);
    return GraphV1(context, container, offset, offset + header, offset + header + region, buffer).read(true);
}

} // namespace megascope
