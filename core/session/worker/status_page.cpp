#include "session/worker/status_page.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope {

Expected<FileDescriptor> create_status_file() {
    FileDescriptor file(memfd_create("megascope-status", MFD_CLOEXEC));
    if (!file.valid() || ftruncate(file.get(), sizeof(WorkerStatus)) != 0)
        return fail(ErrorCode::io, std::string("Shared memory cannot be created: ") + std::strerror(errno) + ".");
    return file;
}

Expected<std::shared_ptr<WorkerStatus>> map_status(const FileDescriptor& file) {
    struct stat info{};
    if (fstat(file.get(), &info) != 0 || info.st_size < static_cast<off_t>(sizeof(WorkerStatus)))
        return fail(ErrorCode::corrupt, "The descriptor of the status page is no status page.");
    void* memory = mmap(nullptr, sizeof(WorkerStatus), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return fail(ErrorCode::io, std::string("The status page cannot be mapped: ") + std::strerror(errno) + ".");
    // A new memory file is all zeros, which is what a fresh WorkerStatus holds.
    return std::shared_ptr<WorkerStatus>(static_cast<WorkerStatus*>(memory), [](WorkerStatus* p) { munmap(p, sizeof(WorkerStatus)); });
}

} // namespace megascope
