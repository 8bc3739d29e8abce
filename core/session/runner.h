#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file_stamp.h"
#include "base/id.h"
#include "compare/verdict.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "tensor/tensor.h"

namespace megascope {

/// A value for one graph input.
struct NamedTensor {
    std::string name;
    Tensor value;
};

/// One job for a run process: which file, which graph, which inputs, how.
struct RunRequest {
    std::filesystem::path model;     ///< opened by the runner itself; weights are never sent
    /// What the file must still be; ids of a graph mean nothing in a file that was written again. Nothing: whatever is there.
    std::optional<FileStamp> stamp;
    ReadOptions open;                ///< how to open it, when it is encrypted
    std::uint32_t graph = 0;         ///< which of the file's appended graphs
    std::string backend = "cpu";
    int threads = 1;                 ///< 0 = one per core
    bool unfused = false;
    std::vector<std::uint32_t> testcases; ///< run these testcases of the file, in this order …
    std::vector<NamedTensor> inputs;      ///< … or, when there are none, this one set of inputs
    std::vector<VarId> keep;         ///< vars whose values to return
    std::uint32_t warmup = 0;        ///< runs before the counted ones, per testcase
    std::uint32_t iterations = 1;    ///< counted runs, per testcase
    bool plan_only = false;          ///< compile, run nothing: the report has the plan and no testcases. Inputs may be missing
};

/// One testcase (or the one set of inputs) after it ran.
struct TestcaseRun {
    std::uint32_t testcase = 0;               ///< index in the file; 0 for given inputs
    std::optional<Error> error;               ///< the run itself failed; `error->where` names the operator
    /// Parallel to the graph's outputs, from the last iteration. An output that is an AssertEqual only forwards the expected
    /// value; here stands the value that it asserts. AssertEqual itself is not run: its comparison is made outside.
    std::vector<Tensor> outputs;
    std::vector<AssertVerdict> verdicts;      ///< one per AssertEqual that has an expectation, in file order
    std::vector<std::pair<VarId, Tensor>> kept;
    std::vector<double> seconds;              ///< one per counted iteration
    std::vector<std::vector<StepRecord>> steps; ///< per counted iteration

    /// No error and no failed verdict. A run without any AssertEqual passes.
    [[nodiscard]] bool passed() const;
};

struct RunReport {
    std::string backend;
    int threads = 1;
    Plan plan;
    std::vector<TestcaseRun> testcases;
};

/// Called while a run goes on, on the runner's thread.
struct RunProgress {
    std::uint32_t testcase = 0;
    std::uint32_t iteration = 0;   ///< counts warm-up runs, too
    std::uint32_t steps_done = 0;
    std::uint32_t steps_total = 0; ///< of the whole iteration
    OprId opr;                     ///< running now
};
using RunProgressCallback = std::function<void(const RunProgress&)>;

/// Runs graphs somewhere. Blocking; one run at a time per object.
class Runner {
public:
    virtual ~Runner() = default;
    /// Errors: io/foreign/corrupt (the model; io also when it has another stamp), unsupported (an operator, named), invalid_argument (inputs, backend name),
    /// cancelled, worker_died (with the operator in `where`). A failing testcase is not an error of the run: see TestcaseRun::error.
    virtual Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) = 0;
};

/// Runs in this process. Used inside megascope-worker and by tests.
[[nodiscard]] std::unique_ptr<Runner> make_local_runner();
/// Starts `megascope-worker` (found beside the running program, or by `worker`) and talks to it. The process is kept for the
/// next run and restarted after it died.
[[nodiscard]] std::unique_ptr<Runner> make_worker_runner(std::filesystem::path worker = {});

} // namespace megascope
