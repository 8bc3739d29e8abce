#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "session/runner.h"
#include "session/worker/channel.h"

namespace megascope {

/// Raised whenever a message changes. Both ends must have the same.
inline constexpr std::uint32_t worker_protocol_version = 3;

/// The first message of a run process.
struct Hello {
    std::uint32_t protocol = worker_protocol_version;
    std::string program; ///< "megascope-worker 0.1.0"
    std::int64_t pid = 0;
};

/// A run and its answers carry the same number, so that a late answer to a run that was given up is told apart.
struct NumberedRequest {
    std::uint64_t run = 0;
    RunRequest request;
};
struct NumberedProgress {
    std::uint64_t run = 0;
    RunProgress progress;
};
struct NumberedResult {
    std::uint64_t run = 0;
    Expected<RunReport> report;
};

Expected<void> send_hello(Channel& channel, const Hello& hello);
Expected<void> send_request(Channel& channel, std::uint64_t run, const RunRequest& request);
Expected<void> send_cancel(Channel& channel, std::uint64_t run);
Expected<void> send_progress(Channel& channel, std::uint64_t run, const RunProgress& progress);
Expected<void> send_result(Channel& channel, std::uint64_t run, const Expected<RunReport>& report);

// Errors of all: corrupt (the content does not fit the type).
[[nodiscard]] Expected<Hello> read_hello(const Message& message);
[[nodiscard]] Expected<NumberedRequest> read_request(const Message& message);
[[nodiscard]] Expected<std::uint64_t> read_cancel(const Message& message);
[[nodiscard]] Expected<NumberedProgress> read_progress(const Message& message);
[[nodiscard]] Expected<NumberedResult> read_result(const Message& message);

} // namespace megascope
