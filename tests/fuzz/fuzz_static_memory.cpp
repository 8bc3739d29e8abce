// Reads any bytes as static memory info and as strip info.

#include <cstdlib>

#include "format/static_memory.h"
#include "format/strip_info.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto memory = read_static_memory(std::as_bytes(std::span(data, size)))) {
        (void)memory->peak_bytes();
        (void)memory->weight_bytes();
        if (memory->used_bytes().size() != memory->oprs.size()) std::abort();
    }
    StripInfo info;
    info.opr_types = {"Concat", "Elemwise"};
    info.dtypes = {"Float32"};
    const std::string_view old(reinterpret_cast<const char*>(data), size);
    if (const auto text = append_strip_info(old, info))
        if (!append_strip_info(*text, info)) std::abort();
    return 0;
}
