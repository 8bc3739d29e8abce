// Takes any bytes apart as a pickle and prints them.

#include <cstdlib>

#include "format/pickle.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto tree = read_pickle(std::as_bytes(std::span(data, size)));
    if (!tree) return 0;
    if (tree->size > size || tree->text(1000).size() > 1010) std::abort();
    return 0;
}
