#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/memory/memory_config.h"
#include "trace/eager_tensor.h"

namespace megascope {

/// Which operators a JIT compiler may fuse. Megascope's backends have no JIT: the switches are carried as MegEngine names them
/// and change nothing here (`options_without_effect` says so for a set of options).
struct GraphOptConfig {
    std::optional<bool> jit_fuse_dimshuffle; ///< nothing: unset
    std::optional<bool> jit_fuse_reduce;

    /// MegEngine's number for a switch: 0 unset, 1 off, 2 on.
    [[nodiscard]] static int number(const std::optional<bool>& value) { return value ? (*value ? 2 : 1) : 0; }
    /// MegEngine's text: "GraphOptimizationConfig {jit_fuse_dimshuffle = UNSET, jit_fuse_reduce = ON}".
    [[nodiscard]] std::string text() const {
        const auto word = [](const std::optional<bool>& value) { return value ? (*value ? "ON" : "OFF") : "UNSET"; };
        return std::string("GraphOptimizationConfig {jit_fuse_dimshuffle = ") + word(jit_fuse_dimshuffle) +
               ", jit_fuse_reduce = " + word(jit_fuse_reduce) + "}";
    }
};

/// How a function is traced; names, defaults and effects are those of MegEngine's `trace`.
struct TraceOptions {
    /// The first call executes nothing until it ends: then all operators run as one graph.
    bool symbolic = false;
    /// Tensors from outside become constants; arguments and results get marks. Needed for `dump`.
    bool capture_as_const = false;
    /// Implies symbolic and capture_as_const; the first call computes nothing, its results have no values.
    bool record_only = false;
    /// Compiled runs compute values again instead of keeping them, to need less memory: block by block, or whenever a threshold would
    /// be passed. One of the two at most. What came of it: `Trace::memory_report`.
    std::optional<SublinearMemoryConfig> sublinear_memory_config;
    std::optional<DtrConfig> dtr_config;
    /// Profile the compiled runs, see `Trace::get_profile`.
    bool profiling = false;
    /// 0: the graph as recorded; 1: simple arithmetic is simplified while graphs are built; 2: the backend may fuse as well;
    /// 3: as 2 (it allows a JIT in MegEngine).
    int opt_level = 2;
    std::optional<GraphOptConfig> graph_opt_config;
    /// `shape_of` records an operator while tracing; otherwise the shape of the first call becomes a constant.
    bool symbolic_shape = true;
    /// Later calls run the compiled graph only, not the function.
    bool without_host = false;
    /// Later calls execute each operator at once while they check it.
    bool imperative = false;
    /// Keep the shapes of outside tensors in `vars()` (MEGENGINE_INPUT_NODE_USE_STATIC_SHAPE of MegEngine).
    bool record_input_shapes = false;
    /// without_host: tensors from outside that the function reads and may assign anew (a training step's weights and optimizer
    /// states). Later calls feed their values and store the new ones. The handles must outlive the trace.
    std::vector<EagerTensor*> parameters;
    /// without_host: refuse functions that use outside tensors which are neither arguments, parameters nor bound.
    bool check_external = true;
    std::string backend = "cpu"; ///< where the compiled graph runs
    int threads = 1;             ///< 0 = one per core
};

/// What MegEngine would set on the traced graph for these options, by its own names in its own order: "graph_opt_level" → "2",
/// "dtr_config.eviction_threshold" → "1048576". For people and for comparing configurations.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> graph_options(const TraceOptions& options);

/// A sentence for every option that is set but changes nothing in Megascope, because its backends have no JIT compiler. Empty: all
/// that is set has its effect.
[[nodiscard]] std::vector<std::string> options_without_effect(const TraceOptions& options);

} // namespace megascope
