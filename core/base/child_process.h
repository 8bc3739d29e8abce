#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/error.h"

namespace megascope {

/// How a process ended.
struct ExitStatus {
    bool signalled = false;
    int number = 0; ///< of the signal, else the exit status

    /// The rest of a sentence: "was ended by signal 11 (invalid memory access)", "ended by itself with exit status 3".
    [[nodiscard]] std::string text() const;
};

/// A child process. The destructor kills it if it still runs.
class ChildProcess {
public:
    /// Starts `argv` (argv[0] is searched in PATH unless it holds a slash). `descriptors` are (ours, number in the child); all other
    /// descriptors are closed there. `environment` ("NAME=value") is added to this process' own variables where they have no such
    /// name. Errors: io, with the system's reason.
    static Expected<ChildProcess> start(const std::vector<std::string>& argv, const std::vector<std::pair<int, int>>& descriptors,
                                        const std::vector<std::string>& environment = {});

    ChildProcess() = default;
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}
    ChildProcess& operator=(ChildProcess&& other) noexcept;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool started() const { return pid_ > 0; }
    /// The exit status once the process ended; waits at most `patience`.
    std::optional<ExitStatus> wait(std::chrono::milliseconds patience);
    void kill();

private:
    pid_t pid_ = -1;
    std::optional<ExitStatus> status_;
};

} // namespace megascope
