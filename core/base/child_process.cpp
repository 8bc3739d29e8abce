#include "base/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT: POSIX declares it nowhere

namespace megascope {

namespace {

const char* signal_meaning(int number) {
    switch (number) {
    case SIGSEGV: return "invalid memory access";
    case SIGBUS: return "memory that is not there, as when a file shrinks";
    case SIGABRT: return "it found itself in an impossible state";
    case SIGFPE: return "an impossible calculation";
    case SIGILL: return "an instruction that this processor does not have";
    case SIGKILL: return "killed, which the system does when memory runs out";
    case SIGTERM: return "it was told to end";
    case SIGINT: return "interrupted";
    default: return nullptr;
    }
}

ExitStatus decode(int raw) {
    if (WIFSIGNALED(raw)) return {true, WTERMSIG(raw)};
    return {false, WEXITSTATUS(raw)};
}

} // namespace

std::string ExitStatus::text() const {
    if (!signalled) return "ended by itself with exit status " + std::to_string(number);
    const char* meaning = signal_meaning(number);
    return "was ended by signal " + std::to_string(number) + (meaning ? " (" + std::string(meaning) + ")" : "");
}

Expected<ChildProcess> ChildProcess::start(const std::vector<std::string>& argv, const std::vector<std::pair<int, int>>& descriptors,
                                           const std::vector<std::string>& environment) {
    std::vector<char*> arguments;
    for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (char** v = environ; v && *v; ++v) variables.push_back(*v);
    for (const std::string& v : environment)
        if (!getenv(v.substr(0, v.find('=')).c_str())) variables.push_back(const_cast<char*>(v.c_str()));
    variables.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Moved out of the way first: one pair's target may be another pair's source.
    std::vector<int> moved;
    int highest = 2;
    for (const auto& [ours, theirs] : descriptors) {
        moved.push_back(fcntl(ours, F_DUPFD_CLOEXEC, 64));
        if (moved.back() >= 0) posix_spawn_file_actions_adddup2(&actions, moved.back(), theirs);
        highest = std::max(highest, theirs);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

    ChildProcess child;
    pid_t pid = -1;
    const int status = std::ranges::find(moved, -1) != moved.end() ? errno : posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes,
                                                                                          arguments.data(), variables.data());
    for (const int fd : moved)
        if (fd >= 0) close(fd);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0)
        return fail_in(ErrorCode::io, std::string("The program cannot be started: ") + std::strerror(status) + ".", argv.front());
    child.pid_ = pid;
    return child;
}

ChildProcess::~ChildProcess() { kill(); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    if (this != &other) {
        kill();
        pid_ = std::exchange(other.pid_, -1);
        status_ = other.status_;
    }
    return *this;
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::milliseconds patience) {
    if (status_ || pid_ <= 0) return status_;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        int raw = 0;
        const pid_t ended = waitpid(pid_, &raw, WNOHANG);
        if (ended == pid_) return status_ = decode(raw);
        if (ended < 0 && errno != EINTR) return status_ = ExitStatus{}; // somebody else reaped it
        if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

void ChildProcess::kill() {
    if (pid_ > 0 && !status_) {
        ::kill(pid_, SIGKILL);
        int raw = 0;
        while (waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {}
        status_ = decode(raw);
    }
}

} // namespace megascope
