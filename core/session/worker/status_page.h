#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "session/worker/channel.h"

namespace megascope {

/// Where a run process is right now, in memory that both processes map. It costs the run a few stores per operator and stays
/// readable after the process died.
struct WorkerStatus {
    enum Stage : std::uint32_t { idle, preparing, running, answering };
    std::atomic<std::uint32_t> stage{idle};
    std::atomic<std::uint32_t> testcase{0};
    std::atomic<std::uint32_t> iteration{0};
    std::atomic<std::uint32_t> step{0};
    std::atomic<std::uint32_t> steps_total{0};
    std::atomic<std::uint32_t> opr{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "the page is shared between processes");

/// A page's memory file. Errors: io.
[[nodiscard]] Expected<FileDescriptor> create_status_file();
/// Maps it. Errors: io; corrupt (the file is too small to be a page).
[[nodiscard]] Expected<std::shared_ptr<WorkerStatus>> map_status(const FileDescriptor& file);

} // namespace megascope
