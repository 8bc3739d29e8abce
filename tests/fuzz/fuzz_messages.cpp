// Reads any bytes as messages of the run process: the first byte chooses the type, the rest is a body of the size in the next two
// bytes and the payload behind it. A message that is understood is sent and must come out the same.

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include <sys/socket.h>

#include "session/worker/messages.h"

using namespace megascope;

namespace {

/// Both ends in this process; messages are small enough for the socket's buffer.
struct Pair {
    std::unique_ptr<Channel> a, b;
    Pair() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
        a = std::make_unique<Channel>(FileDescriptor(ends[0]), FileDescriptor(), Channel::Transport::unix_socket);
        b = std::make_unique<Channel>(FileDescriptor(ends[1]), FileDescriptor(), Channel::Transport::unix_socket);
    }
};

Message sent_again(const std::function<Expected<void>(Channel&)>& send) {
    static Pair pair;
    if (!send(*pair.a)) std::abort();
    auto message = pair.b->receive(std::chrono::milliseconds(10000));
    if (!message || !*message) std::abort();
    return std::move(**message);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t largest = 64 * 1024; // of what is sent, too
    if (size < 3 || size > largest) return 0;
    Message message;
    message.type = static_cast<MessageType>(data[0] % 6);
    std::uint16_t body = 0;
    std::memcpy(&body, data + 1, sizeof body);
    const auto rest = std::as_bytes(std::span(data, size)).subspan(3);
    const std::size_t body_size = std::min<std::size_t>(body, rest.size());
    message.body.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(body_size));
    const auto payload = rest.subspan(body_size);
    auto memory = allocate_aligned(payload.size());
    if (!payload.empty()) std::memcpy(memory.get(), payload.data(), payload.size());
    message.payload = std::move(memory);
    message.payload_size = payload.size();

    (void)read_hello(message);
    (void)read_cancel(message);
    if (const auto progress = read_progress(message)) {
        const auto again = read_progress(sent_again([&](Channel& c) { return send_progress(c, progress->run, progress->progress); }));
        if (!again || again->run != progress->run || again->progress.opr != progress->progress.opr) std::abort();
    }
    if (const auto request = read_request(message)) {
        const auto again = read_request(sent_again([&](Channel& c) { return send_request(c, request->run, request->request); }));
        if (!again || again->request.model != request->request.model || again->request.inputs.size() != request->request.inputs.size() ||
            again->request.open != request->request.open)
            std::abort();
    }
    if (const auto result = read_result(message)) {
        const auto again = read_result(sent_again([&](Channel& c) { return send_result(c, result->run, result->report); }));
        if (!again || again->report.has_value() != result->report.has_value()) std::abort();
        if (again->report && again->report->testcases.size() != result->report->testcases.size()) std::abort();
    }
    return 0;
}
