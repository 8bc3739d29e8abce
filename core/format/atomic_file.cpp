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
    /// False on an error of the system, or when it was cancelled.
    [[nodiscard]] bool write(std::span<const std::byte> bytes, const CancelToken& cancel, const Progress& progress, std::uint64_t total) {
        constexpr std::size_t chunk = 16U << 20U;
        while (!bytes.empty()) {
            if (cancel.cancelled()) return false;
            progress.report("writing", written_, total);
            const auto n = ::write(fd_, bytes.data(), std::min(bytes.size(), chunk));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return false;
            bytes = bytes.subspan(static_cast<std::size_t>(n));
            written_ += static_cast<std::uint64_t>(n);
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
    std::uint64_t written_ = 0;
    bool committed_ = false;
};

mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

} // namespace

Expected<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces, bool append,
                                     const CancelToken& cancel, const Progress& progress) {
    // A link stays a link: its target is replaced.
    std::error_code ignored;
    const auto target = std::filesystem::weakly_canonical(path, ignored);
    const auto& final_path = ignored ? path : target;

    struct stat status {};
    const bool exists = ::stat(final_path.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) return fail(ErrorCode::io, "'" + path.string() + "' is not a regular file.");

    TemporaryFile temporary(final_path);
    if (!temporary.ok()) return system_failure(path, errno);
    std::shared_ptr<const MappedFile> old;
    if (append && exists) {
        MGS_ASSIGN(old, MappedFile::open(final_path));
    }
    std::uint64_t total = old ? old->bytes().size() : 0;
    for (const auto piece : pieces) total += piece.size();
    const auto write = [&](std::span<const std::byte> bytes) -> Expected<void> {
        if (temporary.write(bytes, cancel, progress, total)) return {};
        const int error = errno;
        if (cancel.cancelled()) return CancelToken::error();
        return system_failure(path, error);
    };
    if (old) MGS_TRY(write(old->bytes()));
    for (const auto piece : pieces) MGS_TRY(write(piece));
    if (!temporary.commit(final_path, exists ? status.st_mode & 07777U : default_mode())) return system_failure(path, errno);
    return {};
}

} // namespace megascope
