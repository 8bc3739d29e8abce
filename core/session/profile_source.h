#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "opr/infer.h"
#include "profile/compare_side.h"
#include "profile/graph_profile.h"
#include "profile/timeline.h"
#include "profile/trace_reader.h"
#include "session/runner.h"

namespace megascope {

/// A measurement from outside: profiles of one graph (one per iteration), or a trace of events. Exactly one of the two is set.
struct ProfileSource {
    std::string title; ///< file or folder name
    std::vector<std::shared_ptr<const GraphProfile>> profiles;
    std::shared_ptr<const Timeline> trace;
};

/// Opens a GraphProfiler profile, a Chrome trace (either may be gzipped), or a folder: its *.json files are the iterations of one
/// graph, in natural order of their names. `options` choose a time range of a trace.
/// Errors: foreign, saying what the file is instead; io, corrupt, cancelled as of the readers. `where` names the file.
[[nodiscard]] Expected<ProfileSource> open_profile_source(const std::filesystem::path& path, const TraceReadOptions& options = {},
                                                          const CancelToken& cancel = {}, const Progress& progress = {});

/// The source as one side of a comparison. Errors: cancelled.
[[nodiscard]] Expected<CompareSide> compare_side_of(const ProfileSource& source, const CancelToken& cancel = {});

/// Every counted iteration of a run as a profile of its own; `plan` as of `profile_of_run`. Precondition: the run recorded steps.
[[nodiscard]] std::vector<std::shared_ptr<const GraphProfile>> profiles_of_run(const Graph& graph, const GraphInfo& info, const TestcaseRun& run, const Plan* plan = nullptr);

} // namespace megascope
