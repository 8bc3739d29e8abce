// megascope-worker: the run process. Started by Megascope with a socket, or by hand (ssh) with --stdio.

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "session/worker/serve.h"

using namespace megascope;

namespace {

constexpr const char* program = "megascope-worker " MEGASCOPE_VERSION;

int usage() {
    std::fputs("Usage: megascope-worker --stdio\n"
               "       megascope-worker --socket FD [--status FD]\n"
               "       megascope-worker --version\n"
               "Runs models for Megascope, which starts this program by itself. With --stdio it speaks its protocol on standard input\n"
               "and output, for use over ssh.\n",
               stderr);
    return 2;
}

std::optional<int> descriptor(std::string_view text) {
    int fd = -1;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), fd);
    if (status != std::errc() || end != text.data() + text.size() || fd < 3 || fcntl(fd, F_GETFD) < 0) return std::nullopt;
    return fd;
}

int serve_stdio() {
    // Whatever a library prints must not end up between messages.
    FileDescriptor input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
    FileDescriptor output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10));
    dup2(STDERR_FILENO, STDOUT_FILENO);
    Channel channel(std::move(input), std::move(output), Channel::Transport::stream);
    return serve_runs(channel, program, nullptr);
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    std::optional<int> socket;
    std::optional<int> status;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--version") {
            std::puts(program);
            return 0;
        }
        if (option == "--stdio" && argc == 2) return serve_stdio();
        if (i + 1 < argc && (option == "--socket" || option == "--status")) {
            const auto fd = descriptor(argv[++i]);
            if (!fd) return usage();
            (option == "--socket" ? socket : status) = fd;
            continue;
        }
        return usage();
    }
    if (!socket) return usage();
    std::shared_ptr<WorkerStatus> page;
    if (status) {
        auto mapped = map_status(FileDescriptor(*status));
        if (!mapped) {
            std::fprintf(stderr, "megascope-worker: %s\n", mapped.error().text().c_str());
            return 3;
        }
        page = std::move(*mapped);
    }
    fcntl(*socket, F_SETFD, FD_CLOEXEC);
    Channel channel(FileDescriptor(*socket), FileDescriptor(), Channel::Transport::unix_socket);
    return serve_runs(channel, program, std::move(page));
}
