#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace megascope {

/// The header of a .npy file: a magic, a version, a length and a Python dict literal with three keys.
struct NpyHeader {
    std::string descr;                ///< dtype text; for records the literal as written
    bool fortran_order = false;
    std::vector<std::int64_t> shape;  ///< not negative
    std::size_t data_offset = 0;      ///< first byte of the values
};

/// Errors: foreign (no .npy), corrupt with the byte offset, unsupported (a version above 3). `name` is the error's `where`.
[[nodiscard]] Expected<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

} // namespace megascope
