#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace megascope {

/// What tells a file from what later stands at its path: a file that was written again has another stamp.
struct FileStamp {
    std::uint64_t size = 0;
    std::int64_t written = 0; ///< nanoseconds, of the file system's clock
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Nothing when there is no such file, or it cannot be looked at.
[[nodiscard]] std::optional<FileStamp> file_stamp(const std::filesystem::path& path);

} // namespace megascope
