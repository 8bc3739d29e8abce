#include "tensor/npz.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <zlib.h>

#include "base/mapped_file.h"

namespace megascope {

namespace {

/// Little-endian fields at checked positions.
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] bool has(std::size_t at, std::size_t count) const { return at <= bytes_.size() && count <= bytes_.size() - at; }
    [[nodiscard]] std::uint32_t u16(std::size_t at) const { return byte(at) | byte(at + 1) << 8; }
    [[nodiscard]] std::uint32_t u32(std::size_t at) const { return u16(at) | u16(at + 2) << 16; }
    [[nodiscard]] std::span<const std::byte> part(std::size_t at, std::size_t count) const { return bytes_.subspan(at, count); }
    [[nodiscard]] std::string_view text(std::size_t at, std::size_t count) const {
        return {reinterpret_cast<const char*>(bytes_.data()) + at, count};
    }

private:
    [[nodiscard]] std::uint32_t byte(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
    std::span<const std::byte> bytes_;
};

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;

/// The end record is last, before a comment of at most 65535 bytes.
std::optional<std::size_t> find_end_record(const Bytes& zip) {
    if (zip.size() < 22) return std::nullopt;
    const std::size_t lowest = zip.size() - std::min<std::size_t>(zip.size(), 22 + 65535);
    for (std::size_t at = zip.size() - 22 + 1; at-- > lowest;)
        if (zip.u32(at) == end_signature && at + 22 + zip.u16(at + 20) <= zip.size()) return at;
    return std::nullopt;
}

Expected<std::vector<std::byte>> inflate_member(std::span<const std::byte> packed, std::size_t size, const std::string& where) {
    // Deflate shrinks at most about 1032-fold: a larger claim is a lie, found before memory is asked for.
    if (size / 1040 > packed.size()) return fail_in(ErrorCode::corrupt, "The member claims an impossible size.", where);
    std::vector<std::byte> out(size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail_in(ErrorCode::out_of_memory, "zlib could not start.", where);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    Bytef nothing = 0;
    stream.next_out = out.empty() ? &nothing : reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    const bool complete = status == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!complete) return fail_in(ErrorCode::corrupt, "The compressed data is damaged.", where);
    return out;
}

} // namespace

Expected<std::vector<NpzEntry>> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
    const Bytes zip(bytes);
    if (!zip.has(0, 4) || (zip.u32(0) != local_signature && zip.u32(0) != end_signature))
        return fail_in(ErrorCode::foreign, "This is not an .npz file (a zip archive).", name);
    const auto end = find_end_record(zip);
    if (!end) return fail_in(ErrorCode::corrupt, "The archive's directory is missing; the file seems to be cut off.", name);
    const std::size_t count = zip.u16(*end + 10);
    std::size_t at = zip.u32(*end + 16);
    if (count == 0xffff || at == 0xffffffffU) return fail_in(ErrorCode::unsupported, "Archives in zip64 form are not read.", name);

    std::vector<NpzEntry> entries;
    for (std::size_t i = 0; i < count; ++i) {
        if (!zip.has(at, 46) || zip.u32(at) != central_signature)
            return forward(Error{ErrorCode::corrupt, "Entry " + std::to_string(i) + " of the archive's directory is damaged.", at, name});
        const std::uint32_t flags = zip.u16(at + 8);
        const std::uint32_t method = zip.u16(at + 10);
        const std::uint32_t crc = zip.u32(at + 16);
        const std::size_t packed_size = zip.u32(at + 20);
        const std::size_t size = zip.u32(at + 24);
        const std::size_t name_size = zip.u16(at + 28);
        const std::size_t local = zip.u32(at + 42);
        const std::size_t next = at + 46 + name_size + zip.u16(at + 30) + zip.u16(at + 32);
        if (!zip.has(at + 46, name_size)) return forward(Error{ErrorCode::corrupt, "A member's name runs past the end of the file.", at, name});
        std::string member(zip.text(at + 46, name_size));
        at = next;
        if (!member.ends_with(".npy")) continue;
        const std::string where = name.empty() ? member : name + ": " + member;
        if (flags & 1U) return fail_in(ErrorCode::unsupported, "The member is encrypted.", where);
        if (packed_size == 0xffffffffU || size == 0xffffffffU || local == 0xffffffffU)
            return fail_in(ErrorCode::unsupported, "Members in zip64 form are not read.", where);
        if (!zip.has(local, 30) || zip.u32(local) != local_signature)
            return forward(Error{ErrorCode::corrupt, "The directory points at something that is no member.", local, where});
        const std::size_t data = local + 30 + zip.u16(local + 26) + zip.u16(local + 28);
        if (!zip.has(data, packed_size)) return forward(Error{ErrorCode::corrupt, "The member runs past the end of the file.", local, where});
        std::span<const std::byte> content = zip.part(data, packed_size);
        std::vector<std::byte> unpacked;
        if (method == 8) {
            MGS_ASSIGN(unpacked, inflate_member(content, size, where));
            content = unpacked;
        } else if (method != 0) {
            return fail_in(ErrorCode::unsupported, "The member is compressed with method " + std::to_string(method) + "; only deflate is read.", where);
        }
        if (content.size() != size || crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()) != crc)
            return fail_in(ErrorCode::corrupt, "The member's checksum does not match its content.", where);
        MGS_ASSIGN(NpyArray array, parse_npy(content, where));
        member.resize(member.size() - 4);
        entries.push_back({std::move(member), std::move(array)});
    }
    return entries;
}

Expected<std::vector<NpzEntry>> read_npz(const std::filesystem::path& path) {
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    return parse_npz(file->bytes(), path.string());
}

} // namespace megascope
