#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "opr/infer.h"
#include "trace/dump.h"

namespace megascope {

/// What a dump would write.
struct DumpPreview {
    DumpInfo info;
    std::shared_ptr<const Graph> before, after;
    std::shared_ptr<const GraphInfo> beforeInfo, afterInfo;
    struct Counts {
        std::size_t before = 0;
        std::size_t after = 0;
    };
    std::map<std::string, Counts> types; ///< operators by type
    std::size_t oprsBefore = 0;
    OptimizeReport report;
};

/// Which part of the options an error is about.
enum class DumpStage { options, names, testcases, graph };

/// Does everything but write. Blocking; any thread.
[[nodiscard]] Expected<std::shared_ptr<const DumpPreview>> previewDump(const std::shared_ptr<const Graph>& graph, const DumpOptions& options, const CancelToken& cancel,
                                                                       const Progress& progress);
/// Which options an error of `previewDump` is about.
[[nodiscard]] DumpStage stageOf(const std::shared_ptr<const Graph>& graph, const DumpOptions& options, const CancelToken& cancel);

} // namespace megascope
