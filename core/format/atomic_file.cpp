#include "format/atomic_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mapped_file.h"

namespace megascope {

namespace {

tl::unexpected<Error> system_failure(const std::filesystem::path& path, int error) {
    return fail(ErrorCode::io, "Cannot write '" + path.string() + "': " + std::generic_category().message(error) + ".");
}

/// A new file in the target's folder that disappears unless it is committed.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::filesystem::path& target) : name_((target.string() + ".XXXXXX")), fd_(::mkstemp(name_.data())) {}
    ~TemporaryFile() {
        if (fd_ >= 0) ::close(fd_);
        if (fd_ >= 0 && !committed_) ::unlink(name_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    [[nodiscard]] bool ok() const { return fd_ >= 0; }
    [[nodiscard]] bool write(std::span<const std::byte> bytes) {
        constexpr std::size_t chunk = 1U << 30U; // the kernel takes at most 2 GiB a call
        while (!bytes.empty()) {
            const auto n = ::write(fd_, bytes.data(), std::min(bytes.size(), chunk));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return false;
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
        return true;
    }
    [[nodiscard]] bool commit(const std::filesystem::path& target, mode_t mode) {
        if (::fchmod(fd_, mode) != 0 || ::fsync(fd_) != 0) return false;
        if (::rename(name_.c_str(), target.c_str()) != 0) return false;
        committed_ = true;
        return true;
    }

private:
    std::string name_;
    int fd_;
    bool committed_ = false;
};

mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

} // namespace

Expected<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces, bool append) {
    // A link stays a link: its target is replaced.
    std::error_code ignored;
    const auto target = std::filesystem::weakly_canonical(path, ignored);
    const auto& final_path = ignored ? path : target;

    struct stat status {};
    const bool exists = ::stat(final_path.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) return fail(ErrorCode::io, "'" + path.string() + "' is not a regular file.");

    TemporaryFile temporary(final_path);
    if (!temporary.ok()) return system_failure(path, errno);
    if (append && exists) {
        MGS_ASSIGN(const auto old, MappedFile::open(final_path));
        if (!temporary.write(old->bytes())) return system_failure(path, errno);
    }
    for (const auto piece : pieces)
        if (!temporary.write(piece)) return system_failure(path, errno);
    if (!temporary.commit(final_path, exists ? status.st_mode & 07777U : default_mode())) return system_failure(path, errno);
    return {};
}

} // namespace megascope
