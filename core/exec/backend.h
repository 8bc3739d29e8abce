#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

struct DeviceInfo {
    std::string name;        ///< "cpu"
    std::string description; ///< "AMD EPYC, 2 threads, AVX-512"
    int max_threads = 1;
};

/// Can a backend run this operator as it stands (params, dtypes)?
struct Support {
    bool ok = true;
    std::string reason; ///< a sentence, when not ok
};

struct CompileOptions {
    int threads = 1; ///< 0 = one per core
    /// Vars whose values the observer will ask for. Keeping them does not change what is computed on the same plan.
    std::vector<VarId> keep;
    /// No fusion: every var exists and can be kept. Named in the result, because it is another plan.
    bool unfused = false;
    /// What the graph inputs will look like, parallel to `graph.inputs()`; lets a backend plan shapes and memory ahead.
    /// Empty, or entries without a shape: decided at run time.
    std::vector<std::optional<Shape>> input_shapes;
};

/// One executed step, reported while a program runs. Times in seconds since the run began.
struct StepRecord {
    OprId opr;                ///< the (first) operator of the step
    std::uint32_t step = 0;   ///< position in `Plan::steps`
    double start = 0;         ///< the step was entered
    double kern = 0;          ///< its kernel started (after waiting and shape inference)
    double end = 0;           ///< its kernel ended
};

/// Watches a run. Called on the thread that runs the program, in execution order. Must not throw.
class RunObserver {
public:
    virtual ~RunObserver() = default;
    virtual void step_begins(OprId /*opr*/, std::uint32_t /*step*/) {}
    virtual void step_ended(const StepRecord& /*record*/) {}
    /// The value of a var that was asked for in `CompileOptions::keep`, right after it was computed.
    virtual void value(VarId /*var*/, const Tensor& /*value*/) {}
};

struct PlanStep {
    std::vector<OprId> oprs;  ///< more than one when operators were fused
    std::string backend;      ///< who runs it: a fallback names itself here
    std::string kernel;       ///< implementation, e.g. "brgconv:avx512_core", "plain loops"
};

/// A stretch of memory that a program holds for a value, or for a kernel's scratch data, from one step to another (both included).
struct PlanBlock {
    enum class Kind : std::uint8_t {
        value,     ///< in the arena
        output,    ///< given to the caller: allocated beside the arena, held to the end
        workspace, ///< in the arena; a kernel's scratch memory during one step
        copy,      ///< in the arena; a value once more, in the layout that another kernel reads
    };
    Kind kind = Kind::value;
    VarId var;                 ///< whose value it is first; invalid for a workspace
    std::vector<VarId> sharing; ///< further vars that lie in it: forwarded, or computed in place
    std::uint64_t address = 0; ///< bytes from the begin of the arena; outputs stand behind its end, one after the other
    std::uint64_t bytes = 0;
    std::uint32_t first = 0;   ///< positions in `Plan::steps`
    std::uint32_t last = 0;
};

/// What a program will do, in order.
struct Plan {
    std::vector<PlanStep> steps;
    std::vector<PlanBlock> blocks; ///< what it allocates for vars whose shapes are known ahead; empty for backends that plan nothing
    std::size_t arena_bytes = 0;   ///< planned memory for vars; 0 when shapes are only known at run time
    std::size_t weight_bytes = 0;  ///< constants and params as held for running
    std::vector<std::string> notes; ///< sentences for people: fallbacks, unfused, dynamic shapes
};

struct RunResult {
    std::vector<Tensor> outputs; ///< parallel to `graph.outputs()`
    double seconds = 0;          ///< from the first step to the last
};

/// A compiled graph. `run` may be called repeatedly, from one thread at a time.
class Program {
public:
    virtual ~Program() = default;
    [[nodiscard]] virtual const Plan& plan() const = 0;
    /// `inputs` is parallel to `graph.inputs()`. Errors: invalid_argument (an input is missing or does not fit), run_failed
    /// with the operator in `where`, cancelled, out_of_memory. An AssertEqual that does not hold is not an error: its inputs
    /// can be kept and judged (core/compare).
    virtual Expected<RunResult> run(std::span<const Tensor> inputs, RunObserver* observer, const CancelToken& cancel) = 0;
};

/// A way to run graphs. Stateless and shareable between threads; programs hold the state.
class Backend {
public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::string_view name() const = 0; ///< "reference", "cpu"
    [[nodiscard]] virtual std::vector<DeviceInfo> devices() const = 0;
    [[nodiscard]] virtual Support supports(const Graph& graph, OprId opr) const = 0;
    /// Errors: unsupported, naming the operator that neither this backend nor its fallback can run.
    [[nodiscard]] virtual Expected<std::unique_ptr<Program>> compile(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                                                     const CancelToken& cancel) const = 0;
};

/// All backends of this build, in the order in which they are offered: "cpu", "reference".
[[nodiscard]] std::vector<std::shared_ptr<const Backend>> all_backends();
/// Null when there is no such backend.
[[nodiscard]] std::shared_ptr<const Backend> find_backend(std::string_view name);

} // namespace megascope
