#include "format/packed_model.h"

#include <cstring>

#include "format/flat_reader.h"
#include "pack_model_generated.h"

namespace megascope {

namespace {

namespace pack = model_parse;

constexpr std::string_view tag = "packed_model";

std::optional<std::string> owned(std::optional<std::string_view> text) {
    return text ? std::optional(std::string(*text)) : std::nullopt;
}

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Bytes = Offset<flatbuffers::Vector<std::uint8_t>>;
using Models = Offset<flatbuffers::Vector<Offset<pack::Model>>>;

Bytes create_bytes(FlatBufferBuilder& fbb, const std::optional<std::span<const std::byte>>& bytes) {
    if (!bytes) return {};
    return fbb.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
}

/// Makes the parts in the order in which load_and_run and the library make them: that decides the bytes.
Models create_models(FlatBufferBuilder& fbb, const PackedModel& packed) {
    const auto text = [&](const std::optional<std::string>& s) { return s ? fbb.CreateSharedString(*s) : Offset<flatbuffers::String>(); };
    const auto name = text(packed.name);
    const auto info_cipher = text(packed.info_cipher);
    const auto info_parser = text(packed.info_parser);
    const auto model_cipher = text(packed.model_cipher);
    const auto cache_parser = text(packed.cache_parser);
    const auto header =
        pack::CreateModelHeader(fbb, name, info_cipher, info_parser, model_cipher, cache_parser, packed.is_fast_run_cache);
    const auto info_data = create_bytes(fbb, packed.info);
    const auto algo_policy = create_bytes(fbb, packed.algo_policy);
    const auto binary_cache = create_bytes(fbb, packed.binary_cache);
    pack::ModelInfoBuilder info_table(fbb);
    info_table.add_data(info_data);
    info_table.add_algo_policy(algo_policy);
    info_table.add_binary_cache(binary_cache);
    const auto info = info_table.Finish();
    const auto data = pack::CreateModelData(fbb, create_bytes(fbb, packed.model));
    pack::ModelBuilder model(fbb);
    model.add_header(header);
    model.add_info(info);
    model.add_data(data);
    return fbb.CreateVector(std::vector{model.Finish()});
}

} // namespace

Expected<PackedModel> read_packed_model(std::shared_ptr<const MappedFile> file) {
    const auto bytes = file->bytes();
    if (bytes.size() < tag.size() || std::memcmp(bytes.data(), tag.data(), tag.size()) != 0)
        return fail(ErrorCode::foreign, "This is not a packed model.");
    FlatReader reader(bytes.subspan(tag.size()), tag.size());
    const FlatTable root = reader.root();
    const FlatVector models = root.vector(pack::PackModel::VT_MODELS, 4);
    if (!reader.ok()) return reader.error();
    if (models.size != 1)
        return fail_at(ErrorCode::corrupt, "The packed model holds " + std::to_string(models.size) + " models, exactly one is possible.",
                       tag.size());
    const FlatTable model = root.table_element(models, 0);
    const FlatTable header = model.table(pack::Model::VT_HEADER);
    const FlatTable info = model.table(pack::Model::VT_INFO);
    const FlatTable data = model.table(pack::Model::VT_DATA);

    PackedModel packed;
    packed.name = header.text(pack::ModelHeader::VT_NAME).value_or("");
    packed.info_cipher = header.text(pack::ModelHeader::VT_INFO_DECRYPTION_METHOD).value_or("NONE");
    packed.model_cipher = header.text(pack::ModelHeader::VT_MODEL_DECRYPTION_METHOD).value_or("NONE");
    packed.info_parser = owned(header.text(pack::ModelHeader::VT_INFO_PARSE_METHOD));
    packed.cache_parser = owned(header.text(pack::ModelHeader::VT_INFO_CACHE_PARSE_METHOD));
    packed.is_fast_run_cache = header.boolean(pack::ModelHeader::VT_IS_FAST_RUN_CACHE);
    packed.info = info.blob(pack::ModelInfo::VT_DATA);
    packed.algo_policy = info.blob(pack::ModelInfo::VT_ALGO_POLICY);
    packed.binary_cache = info.blob(pack::ModelInfo::VT_BINARY_CACHE);
    const auto content = data.blob(pack::ModelData::VT_DATA);
    if (!reader.ok()) return reader.error();
    if (!content) return fail_at(ErrorCode::corrupt, "The packed model holds no model data.", tag.size());
    packed.model = *content;
    packed.file = std::move(file);
    return packed;
}

std::vector<std::byte> write_packed_model(const PackedModel& packed) {
    flatbuffers::FlatBufferBuilder fbb;
    const auto models = create_models(fbb, packed);
    fbb.Finish(pack::CreatePackModel(fbb, models));
    std::vector<std::byte> bytes(tag.size() + fbb.GetSize());
    std::memcpy(bytes.data(), tag.data(), tag.size());
    std::memcpy(bytes.data() + tag.size(), fbb.GetBufferPointer(), fbb.GetSize());
    return bytes;
}

} // namespace megascope
