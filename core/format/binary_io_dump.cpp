#include <array>
#include <charconv>
#include <cstring>

#include "format/io_dump.h"

namespace megascope {

namespace {

constexpr std::size_t header_size = 40;
constexpr std::size_t stored_dims = 7;

/// The library numbers dtypes differently from the dump schema.
std::optional<DType> library_dtype(std::uint32_t number) {
    switch (number) {
    case 0: return DTypeId::float32;
    case 1: return DTypeId::uint8;
    case 2: return DTypeId::int8;
    case 3: return DTypeId::int16;
    case 4: return DTypeId::int32;
    case 8: return DTypeId::byte;
    case 9: return DTypeId::float16;
    case 13: return DTypeId::uint16;
    case 100000: return DTypeId::quint8;
    case 100001: return DTypeId::qint32;
    case 100002: return DTypeId::qint8;
    default: return std::nullopt;
    }
}

/// Takes "…<key><value><end>" apart: the text between `key` and the next `end` behind it; `from` moves behind it.
std::optional<std::string_view> between(std::string_view text, std::size_t& from, std::string_view key, std::string_view end) {
    const auto at = text.find(key, from);
    if (at == std::string_view::npos) return std::nullopt;
    const auto begin = at + key.size();
    const auto stop = text.find(end, begin);
    if (stop == std::string_view::npos) return std::nullopt;
    from = stop;
    return text.substr(begin, stop - begin);
}

std::uint32_t number_of(std::string_view text) {
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// Names may hold commas and braces, so the fixed words around them decide.
void parse_description(BinaryIoDump& dump) {
    const std::string_view text = dump.text;
    std::size_t at = 0;
    if (const auto id = between(text, at, "var={id:", ",")) dump.var = number_of(*id);
    // "<dtype>, owner:<name>{<type>}, name:<name>, slot:<n>, CompNode"
    const auto owner_at = text.find(", owner:", at);
    if (owner_at == std::string_view::npos) return;
    if (!dump.dtype) {
        const auto comma = text.rfind(", ", owner_at - 1);
        if (comma != std::string_view::npos) {
            std::string_view name = text.substr(comma + 2, owner_at - comma - 2);
            name = name.substr(0, name.find('('));
            dump.dtype = dtype_from_name(name);
        }
    }
    at = owner_at;
    if (const auto owner = between(text, at, ", owner:", ", name:")) {
        const auto brace = owner->rfind('{');
        dump.owner = owner->substr(0, brace);
        if (brace != std::string_view::npos && owner->ends_with('}')) dump.owner_type = owner->substr(brace + 1, owner->size() - brace - 2);
    }
    if (const auto name = between(text, at, ", name:", ", slot:")) dump.name = *name;
    if (const auto slot = between(text, at, ", slot:", ",")) dump.output = number_of(*slot);
    const auto inputs_at = text.find("owner_opr_inputs=", at);
    if (inputs_at == std::string_view::npos) return;
    for (std::size_t k = 0, from = inputs_at;; ++k) {
        const auto id = between(text, from, " " + std::to_string(k) + "={id:", ",");
        if (!id) break;
        dump.owner_inputs.push_back(number_of(*id));
    }
}

} // namespace

std::optional<Tensor> BinaryIoDump::value() const {
    if (!dtype || !shape.checked_elements() || tensor_bytes(*dtype, shape) != data.size()) return std::nullopt;
    return Tensor(*dtype, shape, std::shared_ptr<const std::byte>(file, data.data()));
}

Expected<BinaryIoDump> read_binary_io_dump(std::shared_ptr<const MappedFile> file) {
    const auto bytes = file->bytes();
    std::array<std::uint32_t, header_size / 4> header{};
    if (bytes.size() < header_size) return fail(ErrorCode::foreign, "This is not a binary IO dump: it is shorter than the header.");
    std::memcpy(header.data(), bytes.data(), header_size);
    if (header[2] != stored_dims) return fail(ErrorCode::foreign, "This is not a binary IO dump: the number of stored dimensions is not 7.");
    const std::uint32_t name_size = header[0];
    if (name_size > bytes.size() - header_size)
        return fail_at(ErrorCode::corrupt, "The binary IO dump's text of " + std::to_string(name_size) + " bytes reaches out of the file.", 0);

    BinaryIoDump dump;
    dump.dtype_number = header[1];
    dump.dtype = library_dtype(header[1]);
    for (std::size_t i = 0; i < stored_dims && header[3 + i] != 0; ++i) dump.shape.push_back(header[3 + i]);
    dump.text.assign(reinterpret_cast<const char*>(bytes.data()) + header_size, name_size);
    dump.data = bytes.subspan(header_size + name_size);
    if (!dump.text.starts_with("var={")) return fail(ErrorCode::foreign, "This is not a binary IO dump: it does not describe a var.");
    parse_description(dump);
    dump.file = std::move(file);
    return dump;
}

} // namespace megascope
