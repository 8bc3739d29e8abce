#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "format/writer.h"
#include "graph/graph.h"
#include "opr/infer.h"
#include "optimize/optimize.h"
#include "trace/dump_options.h"

namespace megascope {

/// What MegEngine's dump function returns, of the main graph.
struct DumpInfo {
    std::size_t nr_opr = 0;
    std::uint64_t tot_bytes = 0;          ///< of the main graph alone
    std::uint64_t tensor_value_bytes = 0;
    std::uint64_t content_hash = 0;       ///< FBS: the graph's hash; FBS_V2: 0
    std::vector<std::string> inputs;      ///< sorted
    std::vector<std::string> outputs;     ///< in order; "unnamed0" … without var names
    std::vector<std::string> params;      ///< kept param names
    std::size_t testcases = 0;            ///< written behind the graph
    std::uint64_t file_bytes = 0;         ///< all that was written: header, graph, testcases
    std::vector<std::string> notes;       ///< sentences: values of another shape or dtype than the input
};

/// Everything that a dump will write, before it is written.
struct PreparedDump {
    std::shared_ptr<const Graph> before;  ///< named and asserted, not optimized
    std::shared_ptr<const Graph> optimized; ///< before new operators are replaced for older readers: what strip info is about
    std::shared_ptr<const Graph> after;   ///< what is written
    std::shared_ptr<const GraphInfo> info; ///< of `after`
    OptimizeReport report;                ///< empty without optimization
    DumpContent content;                  ///< its options point at `info`
    std::vector<DumpTestcase> testcases;  ///< with their expected values, as they are written
    std::vector<std::string> notes;
};

/// The steps of MegEngine's `trace.dump` on a graph, without writing: checks, names, testcases with their expected values and
/// AssertEqual operators, optimization, replacement of new operators, priorities, metadata. Assertions that the graph has already
/// are taken away first (trace/assertion_edit.h): testcases bring their own.
/// Where MegEngine itself gives up, this goes on: several testcases may be asserted, and testcases of an FBS graph are stored in
/// FBS, as load_and_run reads them.
/// Any thread. Errors: invalid_argument (options, names, values), unsupported (an operator), run_failed (expected values), those of
/// the optimization, cancelled.
[[nodiscard]] Expected<PreparedDump> prepare_dump(std::shared_ptr<const Graph> graph, const DumpOptions& options, const CancelToken& cancel = {},
                                                  const Progress& progress = {});

/// Prepares, then writes `path` (and the strip info file) in one step: a failure leaves old files as they were.
/// Errors: those of `prepare_dump`, io.
[[nodiscard]] Expected<DumpInfo> dump_graph(std::shared_ptr<const Graph> graph, const DumpOptions& options, const std::filesystem::path& path,
                                            const CancelToken& cancel = {}, const Progress& progress = {});

/// Writes what was prepared with these options.
[[nodiscard]] Expected<DumpInfo> write_dump(const PreparedDump& prepared, const DumpOptions& options, const std::filesystem::path& path,
                                            const CancelToken& cancel = {});
/// What writing would return, and how large the file would be, without writing. Errors: those of `encode_graph`.
[[nodiscard]] Expected<DumpInfo> measure_dump(const PreparedDump& prepared, const CancelToken& cancel = {});

} // namespace megascope
