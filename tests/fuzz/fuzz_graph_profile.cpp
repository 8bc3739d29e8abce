// Reads any bytes as a GraphProfiler profile.

#include "profile/graph_profile_reader.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    (void)looks_like_graph_profile(bytes);
    (void)read_graph_profile(bytes);
    return 0;
}
