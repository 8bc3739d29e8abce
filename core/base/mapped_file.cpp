#include "base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope {

namespace {

tl::unexpected<Error> system_failure(const std::filesystem::path& path, const char* action, int error) {
    return fail(ErrorCode::io,
                "Cannot " + std::string(action) + " '" + path.string() + "': " + std::generic_category().message(error) + ".");
}

} // namespace

Expected<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return system_failure(path, "open", errno);

    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        const int error = errno;
        ::close(fd);
        return system_failure(path, "read", error);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(fd);
        return fail(ErrorCode::io, "'" + path.string() + "' is not a regular file.");
    }

    std::shared_ptr<MappedFile> file(new MappedFile);
    file->path_ = path;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > 0) {
        void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (address == MAP_FAILED) {
            const int error = errno;
            ::close(fd);
            return system_failure(path, "map", error);
        }
        file->bytes_ = {static_cast<const std::byte*>(address), size};
        file->mapped_ = true;
    }
    ::close(fd);
    return std::shared_ptr<const MappedFile>(std::move(file));
}

std::shared_ptr<const MappedFile> MappedFile::from_bytes(std::string name, std::span<const std::byte> bytes) {
    std::shared_ptr<MappedFile> file(new MappedFile);
    file->path_ = std::move(name);
    file->owned_ = std::make_unique<std::byte[]>(bytes.size());
    if (!bytes.empty()) std::memcpy(file->owned_.get(), bytes.data(), bytes.size());
    file->bytes_ = {file->owned_.get(), bytes.size()};
    return file;
}

MappedFile::~MappedFile() {
    if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace megascope
