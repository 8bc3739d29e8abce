#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace megascope {

/// A file mapped read-only into memory. Opening reads nothing; pages come when they are touched.
/// Immutable and safe to read from any thread. The bytes stay valid as long as the object lives.
class MappedFile {
public:
    /// Errors: io, with the path and the system's reason. An empty file maps to an empty span. Directories are refused.
    [[nodiscard]] static Expected<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
    /// Wraps bytes that are already in memory (tests, decrypted or unpacked content). `name` stands for the path.
    [[nodiscard]] static std::shared_ptr<const MappedFile> from_bytes(std::string name, std::span<const std::byte> bytes);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    MappedFile() = default;

    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
    std::unique_ptr<std::byte[]> owned_;
    bool mapped_ = false;
};

} // namespace megascope
