#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "session/worker/wire.h"
#include "tensor/tensor.h"

namespace megascope {

/// A file descriptor that is closed with its owner.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    ~FileDescriptor() { reset(); }
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    void reset();

private:
    int fd_ = -1;
};

enum class MessageType : std::uint16_t { hello = 1, run = 2, cancel = 3, progress = 4, result = 5 };

/// Tensors of a message under construction; `put` writes a reference into the body.
class TensorWriter {
public:
    /// A tensor without a value is fine, too.
    void put(WireWriter& body, const Tensor& tensor);
    [[nodiscard]] std::uint64_t payload_size() const { return size_; }
    /// Precondition: `out` has `payload_size()` bytes.
    void copy_to(std::span<std::byte> out) const;

private:
    struct Part {
        std::uint64_t offset;
        Tensor tensor;
    };
    std::vector<Part> parts_;
    std::uint64_t size_ = 0;
};

/// A message as it arrived. Tensors share the payload's memory.
struct Message {
    MessageType type{};
    std::vector<std::byte> body;
    std::shared_ptr<const std::byte> payload;
    std::uint64_t payload_size = 0;

    /// Reads a reference that TensorWriter wrote; `reader.miss()` when it does not fit the payload.
    [[nodiscard]] Tensor tensor(WireReader& reader) const;
};

/// Messages over a pair of byte streams.
///
///   u32 magic "MGSW" | u16 type | u16 flags | u64 body size | u64 payload size | body | payload
///
/// The payload holds tensor bytes, each at a multiple of 64. With flag 1 it does not follow: it lies in a sealed memory file whose
/// descriptor came with the header (only over a Unix socket). All numbers are little endian.
///
/// Sending is thread-safe; receiving belongs to one thread.
class Channel {
public:
    enum class Transport : std::uint8_t {
        unix_socket, ///< one socket, both ends on this machine: large payloads go through shared memory
        stream,      ///< anything that carries bytes; payloads follow inline
    };

    /// Takes over both descriptors; they may be equal numbers of one socket (then `output` is ignored).
    Channel(FileDescriptor input, FileDescriptor output, Transport transport);

    /// Errors: io (the other end is gone).
    Expected<void> send(MessageType type, const WireWriter& body, const TensorWriter& tensors = {});

    /// Waits at most `timeout` (negative: forever) for the beginning of a message, then reads it whole. Nothing: no message came
    /// in time. Errors: io (the stream ended; `ended()` is true), corrupt (the bytes are no message).
    Expected<std::optional<Message>> receive(std::chrono::milliseconds timeout);

    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] Transport transport() const { return transport_; }

private:
    [[nodiscard]] int output() const { return output_.valid() ? output_.get() : input_.get(); }
    Expected<void> read_exactly(std::span<std::byte> out, FileDescriptor* descriptor);
    Expected<void> write_all(std::span<const std::byte> bytes, int descriptor);

    FileDescriptor input_;
    FileDescriptor output_;
    Transport transport_;
    bool output_is_socket_ = false;
    bool input_is_socket_ = false;
    bool ended_ = false;
    std::mutex sending_;
};

} // namespace megascope
