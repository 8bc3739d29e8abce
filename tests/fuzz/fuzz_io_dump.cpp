// Reads any bytes as binary and as text IO dump.

#include <cstdlib>

#include "format/io_dump.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto dump = read_binary_io_dump(MappedFile::from_bytes("fuzz", std::as_bytes(std::span(data, size)))))
        if (const auto value = dump->value(); value && value->nbytes() != dump->data.size()) std::abort();
    (void)read_text_io_dump({reinterpret_cast<const char*>(data), size});
    return 0;
}
