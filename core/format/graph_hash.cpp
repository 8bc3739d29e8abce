#include "format/graph_hash.h"

#include <xxhash.h>

namespace megascope {

std::uint64_t graph_hash(std::span<const std::byte> bytes) {
    constexpr std::uint64_t seed = 0x4b4e74b36b5d11ULL;
    const std::uint64_t hash = XXH64(bytes.data(), bytes.size(), seed);
    return hash == 0 ? 1 : hash;
}

} // namespace megascope
