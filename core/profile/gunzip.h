#pragma once

#include <memory>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mapped_file.h"

namespace megascope {

[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// Unpacks a gzip file (also several members behind each other). Stops with an error beyond `limit` bytes, because a small file
/// can unpack to anything. Errors: corrupt, out_of_memory, cancelled.
[[nodiscard]] Expected<std::shared_ptr<const MappedFile>> gunzip(const MappedFile& file, const CancelToken& cancel = {},
                                                                 std::size_t limit = std::size_t{16} << 30);

} // namespace megascope
