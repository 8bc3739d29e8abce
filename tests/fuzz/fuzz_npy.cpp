// Reads any bytes as .npy and .npz.

#include <cstdlib>

#include "tensor/npy.h"
#include "tensor/npz.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    if (const auto array = parse_npy(bytes))
        if (!parse_npy(npy_bytes(array->tensor))) std::abort();
    (void)parse_npz(bytes);
    return 0;
}
