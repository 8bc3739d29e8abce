#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"

namespace megascope {

/// Writes `pieces` one after another into a new file beside `path` and then puts it in place of `path` in one step, so that
/// nobody ever sees half a file. With `append`, the present content of `path` comes first. The permissions of an existing file
/// stay, and so does what others have mapped of it. Errors: io, with the path and the system's reason; cancelled; the old file is
/// then untouched.
[[nodiscard]] Expected<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces,
                                                   bool append = false, const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
