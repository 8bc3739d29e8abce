#include "tensor/npz_writer.h"

#include <cstdint>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include <zlib.h>

namespace megascope {

namespace {

constexpr std::uint64_t most_bytes = 0xffffffffU;
constexpr std::size_t most_members = 0xffff;

class Fields {
public:
    Fields& u16(std::uint32_t value) { return put(value, 2); }
    Fields& u32(std::uint32_t value) { return put(value, 4); }
    Fields& text(const std::string& value) {
        bytes_ += value;
        return *this;
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    Fields& put(std::uint32_t value, int size) {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xffU);
        return *this;
    }
    std::string bytes_;
};

/// What the header before a member and its entry in the directory have in common.
std::string common_fields(std::uint32_t crc, std::uint32_t size, const std::string& name) {
    constexpr std::uint32_t utf8_names = 0x800;
    constexpr std::uint32_t first_of_january_1980 = 0x21; // the same content gives the same bytes
    return Fields().u16(20).u16(utf8_names).u16(0).u16(0).u16(first_of_january_1980).u32(crc).u32(size).u32(size).u16(static_cast<std::uint32_t>(name.size())).u16(0).bytes();
}

Expected<void> write_members(std::ofstream& file, std::span<const NpzMember> members, NpyQuantized quantized, const CancelToken& cancel, const Progress& progress) {
    std::string directory;
    std::set<std::string> names;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (cancel.cancelled()) return CancelToken::error();
        progress.report("writing", i, members.size());
        std::string name = members[i].name + ".npy";
        for (int n = 1; !names.insert(name).second; ++n) name = members[i].name + "_" + std::to_string(n) + ".npy";
        MGS_ASSIGN(const Tensor value, members[i].value());
        const std::vector<std::byte> content = npy_bytes(value, quantized);
        if (at + content.size() + name.size() + 30 + directory.size() + 46 > most_bytes || name.size() > 0xffff)
            return fail(ErrorCode::unsupported, "The arrays take more than 4 GiB, which an .npz file of the plain form cannot hold.");
        const auto crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
        const std::string common = common_fields(crc, static_cast<std::uint32_t>(content.size()), name);
        const std::string header = Fields().u32(0x04034b50).text(common).text(name).bytes();
        file.write(header.data(), static_cast<std::streamsize>(header.size()));
        file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
        if (!file) return fail(ErrorCode::io, "The file could not be written completely.");
        directory += Fields().u32(0x02014b50).u16(20).text(common).u16(0).u16(0).u16(0).u32(0).u32(static_cast<std::uint32_t>(at)).text(name).bytes();
        at += header.size() + content.size();
    }
    const auto count = static_cast<std::uint32_t>(members.size());
    directory += Fields().u32(0x06054b50).u16(0).u16(0).u16(count).u16(count).u32(static_cast<std::uint32_t>(directory.size())).u32(static_cast<std::uint32_t>(at)).u16(0).bytes();
    file.write(directory.data(), static_cast<std::streamsize>(directory.size()));
    return {};
}

} // namespace

Expected<void> write_npz(const std::filesystem::path& path, std::span<const NpzMember> members, NpyQuantized quantized, const CancelToken& cancel, const Progress& progress) {
    if (members.size() > most_members) return fail_in(ErrorCode::unsupported, "An .npz file of the plain form holds 65535 arrays at most.", path.string());
    std::filesystem::path part = path;
    part += ".part";
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    if (!file) return fail_in(ErrorCode::io, "The file cannot be created.", path.string());
    auto written = write_members(file, members, quantized, cancel, progress);
    file.close();
    std::error_code error;
    if (written && !file) written = fail(ErrorCode::io, "The file could not be written completely.");
    if (written) std::filesystem::rename(part, path, error);
    if (written && error) written = fail(ErrorCode::io, "The file cannot be put in its place: " + error.message() + ".");
    if (written) return {};
    std::filesystem::remove(part, error);
    Error failure = std::move(written).error();
    if (failure.where.empty() && failure.code != ErrorCode::cancelled) failure.where = path.string();
    return forward(std::move(failure));
}

} // namespace megascope
