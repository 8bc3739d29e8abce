#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "tensor/npy.h"

namespace megascope {

/// An array to be written; asked for its value when its turn comes, so that one at a time is in memory.
struct NpzMember {
    std::string name; ///< without ".npy"
    std::function<Expected<Tensor>()> value;
};

/// Writes an archive as numpy.savez does: .npy members (npy_bytes), not compressed. The file appears in one step, or not at all.
/// Of members with one name the later ones get a number behind it. Blocking.
/// Errors: io; unsupported (more than 4 GiB or 65535 members: the zip64 form is not written); those of a value; cancelled.
[[nodiscard]] Expected<void> write_npz(const std::filesystem::path& path, std::span<const NpzMember> members, NpyQuantized quantized, const CancelToken& cancel,
                                       const Progress& progress);

} // namespace megascope
