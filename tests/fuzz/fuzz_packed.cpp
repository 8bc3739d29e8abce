// Takes packed models apart and puts them together again; reads info JSON and fast-run caches.

#include <cstdlib>

#include "format/packed_model.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    (void)parse_lite_info(bytes);
    if (const auto cache = read_fast_run_cache(bytes))
        if (const auto again = write_fast_run_cache(*cache); again.size() != size) std::abort();
    const auto packed = read_packed_model(MappedFile::from_bytes("fuzz", bytes));
    if (!packed) return 0;
    const auto again = read_packed_model(MappedFile::from_bytes("again", write_packed_model(*packed)));
    if (!again || again->name != packed->name || again->model.size() != packed->model.size()) std::abort();
    return 0;
}
