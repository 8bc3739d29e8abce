#include "feed/transform.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child_process.h"
#include "tensor/npy.h"

namespace megascope {

namespace {

constexpr const char* script = "import io, sys\n"
                               "import numpy as np\n"
                               "data = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)\n"
                               "value = np.asarray(eval(sys.argv[1], {'data': data, 'np': np}))\n"
                               "out = io.BytesIO()\n"
                               "np.save(out, value, allow_pickle=False)\n"
                               "sys.stdout.buffer.write(out.getvalue())\n";

/// A file in memory: the child reads or writes it whole, so neither end waits for the other.
class MemoryFile {
public:
    explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
    ~MemoryFile() {
        if (fd_ >= 0) close(fd_);
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool fill(std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
        return lseek(fd_, 0, SEEK_SET) == 0;
    }
    [[nodiscard]] std::vector<std::byte> content() const {
        struct stat info{};
        if (fstat(fd_, &info) != 0) return {};
        std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
        std::size_t have = 0;
        while (have < bytes.size()) {
            const ssize_t n = pread(fd_, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break;
            have += static_cast<std::size_t>(n);
        }
        bytes.resize(have);
        return bytes;
    }

private:
    int fd_;
};

std::string last_line(const std::vector<std::byte>& bytes) {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const std::size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
}

} // namespace

Expected<Tensor> transform_array(const Tensor& value, const std::string& expression, const std::string& python, const CancelToken& cancel) {
    const MemoryFile input("megascope-transform-in");
    const MemoryFile output("megascope-transform-out");
    const MemoryFile errors("megascope-transform-errors");
    if (input.fd() < 0 || output.fd() < 0 || errors.fd() < 0 || !input.fill(npy_bytes(value)))
        return fail(ErrorCode::io, std::string("Memory for the transform cannot be shared: ") + std::strerror(errno) + ".");
    MGS_ASSIGN(ChildProcess child, ChildProcess::start({python, "-c", script, expression}, {{input.fd(), 0}, {output.fd(), 1}, {errors.fd(), 2}}));
    std::optional<ExitStatus> status;
    while (!(status = child.wait(std::chrono::milliseconds(50))))
        if (cancel.cancelled()) return CancelToken::error(); // the child is killed with its object
    if (status->signalled || status->number != 0) {
        const std::string words = last_line(errors.content());
        return fail(ErrorCode::run_failed, "The transform '" + expression + "' failed: " + (words.empty() ? python + " " + status->text() : words) + ".");
    }
    MGS_ASSIGN(NpyArray array, parse_npy(output.content(), "the result of '" + expression + "'"));
    return std::move(array.tensor);
}

} // namespace megascope
