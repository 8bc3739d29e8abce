// Reads any bytes as Chrome trace events, in small pieces.

#include "profile/trace_reader.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    (void)looks_like_trace(bytes);
    TraceReadOptions options;
    options.piece = 512;
    (void)read_trace(MappedFile::from_bytes("fuzz", bytes), options);
    return 0;
}
