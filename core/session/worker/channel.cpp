#include "session/worker/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope {

namespace {

constexpr std::uint32_t magic = 0x5753474d; // "MGSW"
constexpr std::uint16_t payload_is_shared = 1;
constexpr std::uint64_t largest_body = std::uint64_t{1} << 32;
constexpr std::uint64_t largest_payload = std::uint64_t{1} << 42;
constexpr std::uint64_t smallest_shared_payload = 64 * 1024; // below this a copy through the socket is cheaper

struct Header {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t flags;
    std::uint64_t body_size;
    std::uint64_t payload_size;
};
static_assert(sizeof(Header) == 24);

std::string system_reason() { return std::strerror(errno); }

bool is_socket(int fd) {
    struct stat info{};
    return fd >= 0 && fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

/// A memory file that nobody can change or shrink any more. Invalid when the system gives none: the payload then goes inline.
FileDescriptor shared_payload(const TensorWriter& tensors) {
    const auto size = static_cast<std::size_t>(tensors.payload_size());
    FileDescriptor file(memfd_create("megascope-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return {};
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return {};
    tensors.copy_to({static_cast<std::byte*>(memory), size});
    munmap(memory, size);
    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) return {};
    return file;
}

Expected<std::shared_ptr<const std::byte>> map_payload(const FileDescriptor& file, std::uint64_t size) {
    struct stat info{};
    const int seals = fcntl(file.get(), F_GET_SEALS);
    if (fstat(file.get(), &info) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || static_cast<std::uint64_t>(info.st_size) != size)
        return fail(ErrorCode::corrupt, "The shared memory of a message is not what its header says.");
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return fail(ErrorCode::out_of_memory, "Shared memory of " + std::to_string(size) + " bytes cannot be mapped.");
    return std::shared_ptr<const std::byte>(static_cast<const std::byte*>(memory),
                                            [size](const std::byte* p) { munmap(const_cast<std::byte*>(p), size); });
}

} // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void FileDescriptor::reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

void TensorWriter::put(WireWriter& body, const Tensor& tensor) {
    body.put(static_cast<std::uint8_t>(tensor.dtype().id));
    body.put(tensor.dtype().scale);
    body.put(tensor.dtype().zero_point);
    body.put(static_cast<std::uint8_t>(tensor.shape().ndim()));
    for (const std::int64_t size : tensor.shape()) body.put(size);
    body.flag(tensor.has_value());
    if (!tensor.has_value()) return;
    size_ = (size_ + 63) / 64 * 64;
    body.put(size_);
    parts_.push_back({size_, tensor});
    size_ += tensor.nbytes();
}

void TensorWriter::copy_to(std::span<std::byte> out) const {
    std::uint64_t at = 0;
    for (const Part& part : parts_) {
        std::memset(out.data() + at, 0, part.offset - at);
        const auto bytes = part.tensor.bytes();
        if (!bytes.empty()) std::memcpy(out.data() + part.offset, bytes.data(), bytes.size());
        at = part.offset + bytes.size();
    }
}

Tensor Message::tensor(WireReader& reader) const {
    const auto id = reader.get<std::uint8_t>();
    DType dtype;
    dtype.scale = reader.get<float>();
    dtype.zero_point = reader.get<std::uint8_t>();
    const auto ndim = reader.get<std::uint8_t>();
    if (!dtype_id_valid(id) || ndim > Shape::max_ndim) {
        reader.miss();
        return {};
    }
    dtype.id = static_cast<DTypeId>(id);
    Shape shape;
    for (std::uint8_t i = 0; i < ndim; ++i) shape.push_back(reader.get<std::int64_t>());
    if (!shape.checked_elements()) reader.miss();
    const bool has_value = reader.flag();
    if (!reader.ok()) return {};
    if (!has_value) return {dtype, shape, nullptr};
    const auto offset = reader.get<std::uint64_t>();
    const std::uint64_t size = tensor_bytes(dtype, shape);
    if (size == 0 && reader.ok()) return {dtype, shape, allocate_aligned(0)}; // a tensor without elements needs no payload
    if (!reader.ok() || !payload || offset > payload_size || size > payload_size - offset) {
        reader.miss();
        return {};
    }
    return {dtype, shape, std::shared_ptr<const std::byte>(payload, payload.get() + offset)};
}

Channel::Channel(FileDescriptor input, FileDescriptor output, Transport transport)
    : input_(std::move(input)), output_(std::move(output)), transport_(transport) {
    if (output_.get() == input_.get()) output_.release();
    output_is_socket_ = is_socket(this->output());
    input_is_socket_ = is_socket(input_.get());
}

Expected<void> Channel::write_all(std::span<const std::byte> bytes, int descriptor) {
    while (!bytes.empty()) {
        ssize_t n = 0;
        if (output_is_socket_) {
            iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
            msghdr message{};
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
            if (descriptor >= 0) {
                message.msg_control = control.data();
                message.msg_controllen = control.size();
                cmsghdr* c = CMSG_FIRSTHDR(&message);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                std::memcpy(CMSG_DATA(c), &descriptor, sizeof(int));
            }
            n = sendmsg(output(), &message, MSG_NOSIGNAL);
        } else {
            n = write(output(), bytes.data(), bytes.size());
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail(ErrorCode::io, "The other process does not take messages any more: " + system_reason() + ".");
        descriptor = -1; // goes with the first byte
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

Expected<void> Channel::send(MessageType type, const WireWriter& body, const TensorWriter& tensors) {
    FileDescriptor shared;
    if (transport_ == Transport::unix_socket && tensors.payload_size() >= smallest_shared_payload) shared = shared_payload(tensors);
    const Header header{magic, static_cast<std::uint16_t>(type), shared.valid() ? payload_is_shared : std::uint16_t{0},
                        body.bytes().size(), tensors.payload_size()};
    const std::lock_guard lock(sending_);
    MGS_TRY(write_all(std::as_bytes(std::span(&header, 1)), shared.get()));
    MGS_TRY(write_all(body.bytes(), -1));
    if (!shared.valid() && tensors.payload_size() > 0) {
        std::vector<std::byte> inline_payload(tensors.payload_size());
        tensors.copy_to(inline_payload);
        MGS_TRY(write_all(inline_payload, -1));
    }
    return {};
}

Expected<void> Channel::read_exactly(std::span<std::byte> out, FileDescriptor* descriptor) {
    while (!out.empty()) {
        ssize_t n = 0;
        if (input_is_socket_) {
            iovec part{out.data(), out.size()};
            msghdr message{};
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            n = recvmsg(input_.get(), &message, MSG_CMSG_CLOEXEC);
            if (n > 0)
                for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
                    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int))) continue;
                    int fd = -1;
                    std::memcpy(&fd, CMSG_DATA(c), sizeof(int));
                    FileDescriptor received(fd);
                    if (descriptor) *descriptor = std::move(received);
                }
        } else {
            n = read(input_.get(), out.data(), out.size());
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            ended_ = true;
            return fail(ErrorCode::io, n == 0 ? std::string("The stream of messages ended.") : "The stream of messages broke: " + system_reason() + ".");
        }
        out = out.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

Expected<std::optional<Message>> Channel::receive(std::chrono::milliseconds timeout) {
    pollfd waiting{input_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout.count() < 0 ? -1 : static_cast<int>(timeout.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) return std::optional<Message>();

    Header header{};
    FileDescriptor shared;
    MGS_TRY(read_exactly(std::as_writable_bytes(std::span(&header, 1)), &shared));
    if (header.magic != magic) return fail(ErrorCode::corrupt, "The stream holds something that is no message.");
    if (header.body_size > largest_body || header.payload_size > largest_payload)
        return fail(ErrorCode::corrupt, "A message claims the impossible size of " + std::to_string(header.body_size) + " + " +
                                            std::to_string(header.payload_size) + " bytes.");
    Message message;
    message.type = static_cast<MessageType>(header.type);
    message.payload_size = header.payload_size;
    try {
        // The body grows with what arrives: a claim alone costs no memory.
        constexpr std::size_t piece = 1 << 20;
        while (message.body.size() < header.body_size) {
            const std::size_t have = message.body.size();
            message.body.resize(have + std::min<std::size_t>(piece, header.body_size - have));
            MGS_TRY(read_exactly(std::span(message.body).subspan(have), nullptr));
        }
        if (header.flags & payload_is_shared) {
            if (!shared.valid()) return fail(ErrorCode::corrupt, "A message came without its shared memory.");
            MGS_ASSIGN(message.payload, map_payload(shared, header.payload_size));
        } else if (header.payload_size > 0) {
            const std::shared_ptr<std::byte> memory = allocate_aligned(header.payload_size);
            MGS_TRY(read_exactly({memory.get(), header.payload_size}, nullptr));
            message.payload = memory;
        }
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "There is not enough memory for a message of " + std::to_string(header.body_size + header.payload_size) + " bytes.");
    }
    return std::optional<Message>(std::move(message));
}

} // namespace megascope
