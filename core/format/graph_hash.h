#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace megascope {

/// The v1 graph hash: XXH64 over what the writer's builder holds right before it creates the root table; that is the end of the
/// flatbuffer, from the length word of the output list on. Never 0.
[[nodiscard]] std::uint64_t graph_hash(std::span<const std::byte> bytes);

} // namespace megascope
