#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "session/runner.h"

namespace megascope {

/// A Runner whose runs happen in a child process; see make_worker_runner in session/runner.h.
class ProcessRunner : public Runner {
public:
    /// Of the child that runs or waits; 0 when there is none.
    [[nodiscard]] virtual std::int64_t pid() const = 0;
};

/// `worker` empty: megascope-worker beside the running program, or in ../libexec/megascope. Socket and shared memory.
[[nodiscard]] std::unique_ptr<ProcessRunner> make_process_runner(std::filesystem::path worker = {});
/// Starts a command that speaks the protocol on its stdin and stdout: {"ssh", "host", "megascope-worker", "--stdio"}. The model's
/// path is then one of that machine.
[[nodiscard]] std::unique_ptr<ProcessRunner> make_command_runner(std::vector<std::string> command);

} // namespace megascope
