#pragma once

#include <QString>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/run_record.h"
#include "base/cancel.h"
#include "base/error.h"
#include "session/runner.h"
#include "views/common/graph_facts.h"

namespace megascope {

/// By row of a record: the var of a graph that has its name; invalid where none, or more than one, has.
[[nodiscard]] std::vector<VarId> varsOfRecord(const RunRecord& record, const Graph& graph);

/// What MegEngine wrote down of a run, held against a run of one's own.
struct RecordComparison {
    /// By row: AssertEqual's error, max |e - g| / max(min(|e|, |g|), 1); NaN when a NaN took part; nothing where nothing was compared.
    /// Of a text dump only what it prints is compared (the first elements, min, max, mean), and what rounding to its digits explains
    /// is no error: the true error is at least this.
    std::vector<std::optional<double>> errors;
    std::vector<QString> mismatches;     ///< by row: why the value could not be compared; empty otherwise
    std::size_t compared = 0;
    std::optional<std::size_t> first;    ///< of the rows beyond the tolerance, the one that runs first
    double tolerance = 0;
};

/// `vars` is parallel to the record's rows (varsOfRecord). Blocking; any thread. Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const RecordComparison>> compareRecord(const RunRecord& record, const std::vector<VarId>& vars, const GraphFacts& facts, const TestcaseRun& run,
                                                                             double tolerance, const CancelToken& cancel);

} // namespace megascope
