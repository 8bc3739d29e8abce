#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/npy.h"

namespace megascope {

struct NpzEntry {
    std::string name; ///< without the ".npy" that savez appends
    NpyArray array;
};

/// Reads the arrays of an .npz file (a zip of .npy members, stored or deflated), in the archive's order. Members that are no .npy
/// are left out. Sizes are checked against the file and each member's CRC against its content.
/// Errors: foreign (no zip), corrupt, unsupported (encryption, other compressions, zip64), with the member in `where`.
[[nodiscard]] Expected<std::vector<NpzEntry>> parse_npz(std::span<const std::byte> bytes, const std::string& name = {});
[[nodiscard]] Expected<std::vector<NpzEntry>> read_npz(const std::filesystem::path& path);

} // namespace megascope
