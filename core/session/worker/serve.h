#pragma once

#include <memory>
#include <string>

#include "session/worker/channel.h"
#include "session/worker/status_page.h"

namespace megascope {

/// The life of a run process: greets, then runs one request after another until the other end closes the channel.
/// Ends the process itself when the channel closes or breaks during a run. `status` may be null; without it the first run of every
/// operator is announced by a message instead.
/// Returns the exit status: 0, or 3 when something arrived that is no message (said on stderr).
int serve_runs(Channel& channel, const std::string& program, std::shared_ptr<WorkerStatus> status);

} // namespace megascope
