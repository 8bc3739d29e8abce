// Parses any text as "#rand(…)".

#include "feed/random.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)parse_random_spec({reinterpret_cast<const char*>(data), size});
    return 0;
}
