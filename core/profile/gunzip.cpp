#include "profile/gunzip.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <zlib.h>

namespace megascope {

bool is_gzip(std::span<const std::byte> bytes) {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Expected<std::shared_ptr<const MappedFile>> gunzip(const MappedFile& file, const CancelToken& cancel, std::size_t limit) {
    const auto input = file.bytes();
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) return fail(ErrorCode::out_of_memory, "There is no memory to unpack the file.");
    struct Closer {
        z_stream* s;
        ~Closer() { inflateEnd(s); }
    } closer{&stream};

    std::vector<std::byte> out;
    std::size_t taken = 0; // input handed to zlib
    while (true) {
        if (cancel.cancelled()) return CancelToken::error();
        if (stream.avail_in == 0) {
            const std::size_t next = std::min<std::size_t>(input.size() - taken, std::size_t{1} << 30);
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data() + taken));
            stream.avail_in = static_cast<uInt>(next);
            taken += next;
        }
        const std::size_t have = out.size();
        const std::size_t room = std::clamp<std::size_t>(have, std::size_t{1} << 20, std::size_t{64} << 20);
        if (have + room > limit) return fail(ErrorCode::corrupt, "The file unpacks to more than " + std::to_string(limit >> 20) + " MiB.");
        out.resize(have + room);
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
        stream.avail_out = static_cast<uInt>(room);
        const int status = inflate(&stream, Z_NO_FLUSH);
        out.resize(have + room - stream.avail_out);
        const std::size_t position = taken - stream.avail_in;
        if (status == Z_STREAM_END) {
            // Another member may follow; trailing zeros are padding.
            if (position >= input.size() || !is_gzip(input.subspan(position))) break;
            inflateReset(&stream);
        } else if (status == Z_BUF_ERROR && position >= input.size()) {
            return fail_at(ErrorCode::corrupt, "The gzip file ends in the middle of its data.", position);
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            return fail_at(ErrorCode::corrupt, "The gzip data are broken.", position);
        }
    }
    return MappedFile::from_bytes(file.path().string(), out);
}

} // namespace megascope
