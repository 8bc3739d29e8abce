#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "graph/graph.h"
#include "layout/graph_scene.h"
#include "opr/catalogue.h"
#include "opr/cost.h"
#include "opr/infer.h"

namespace megascope {

/// A graph and what follows from it alone: the value struct that all views of a window share. Immutable once computed.
struct GraphFacts {
    std::shared_ptr<const Graph> graph;
    std::shared_ptr<const GraphStructure> structure; ///< groups of operators, for outline and drawing
    GraphInfo info;
    std::vector<Cost> costs;   ///< by OprId
    /// By OprId: position in MegEngine's execution order (a profile's own: as it was executed); nothing for operators that no output needs.
    std::vector<std::optional<std::uint32_t>> steps;
    double total_flops = 0;    ///< over the operators whose count is known
    std::uint64_t weight_bytes = 0; ///< bytes of tensors that operators of the file carry

    [[nodiscard]] OprCategory category(OprId id) const;
    /// What the catalogue knows about the operator; null when it does not know it.
    [[nodiscard]] const OprDef* def(OprId id) const;
    /// Bytes of a var's value; nothing when shape or dtype is not known.
    [[nodiscard]] std::optional<double> var_bytes(VarId id) const;
    /// The operator carries constant values (weights) instead of computing.
    [[nodiscard]] bool is_constant(OprId id) const;
};

/// Infers shapes and costs. Blocking; any thread. Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const GraphFacts>> computeGraphFacts(std::shared_ptr<const Graph> graph, const CancelToken& cancel,
                                                                             const Progress& progress);

/// Facts of a graph whose shapes, costs and execution order are known already (a profile's own graph). Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const GraphFacts>> graphFactsFrom(std::shared_ptr<const Graph> graph, GraphInfo info, std::vector<Cost> costs,
                                                                          std::span<const OprId> order, const CancelToken& cancel);

/// Times per operator from a run or a profile: a side table that joins graph, tables and inspector. Immutable.
struct OprTimes {
    std::string source;          ///< "run on cpu, 2 threads", "profile.json"
    std::vector<double> seconds; ///< by OprId; NaN where nothing was measured
    std::vector<double> host;    ///< by OprId: dispatch on the host; NaN where nothing was measured; empty when only one side was
    std::vector<std::vector<OprId>> fused; ///< operators that ran as one step; the first one has the time of all
    bool of_run = false;         ///< measured by a run on this machine, not read from a file
    double total = 0;            ///< sum over all measured operators, also those that are not in the graph

    static constexpr double none = std::numeric_limits<double>::quiet_NaN();
    [[nodiscard]] double of(OprId id) const { return id.index() < seconds.size() ? seconds[id.index()] : none; }
    [[nodiscard]] double host_of(OprId id) const { return id.index() < host.size() ? host[id.index()] : none; }
};

/// "7×7/2, pad 3" and the like: the params that matter, in a few words. Empty when all are at their defaults.
[[nodiscard]] std::string paramSummary(const Opr& opr);

} // namespace megascope
