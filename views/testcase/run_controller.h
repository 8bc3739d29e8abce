#pragma once

#include <QObject>

#include <functional>
#include <memory>
#include <vector>

#include "session/runner.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/testcase/shared_runner.h"

namespace megascope {

/// Runs graphs for a window, one at a time: a newer run supersedes the one that goes on. GUI thread.
class RunController : public QObject {
    Q_OBJECT
public:
    /// `runner` decides where runs happen (a worker process, this process in tests).
    RunController(JobRunner* jobs, std::unique_ptr<Runner> runner, QObject* parent = nullptr);

    /// `graph` names operators in progress texts; it must be the graph that the request runs.
    void start(const RunRequest& request, std::shared_ptr<const Graph> graph);
    /// Testcases that are not (so) in the file: each is run with its own inputs and compared with what it expects. Their numbers
    /// stand for the file's in the report.
    struct Given {
        std::uint32_t number = 0;
        std::vector<NamedTensor> inputs;
        std::vector<NamedTensor> expected; ///< "<output>:expect"; may be empty
        double maxerr = 1e-4;
    };
    void startGiven(const RunRequest& request, std::vector<Given> testcases, std::shared_ptr<const Graph> graph);
    /// Compiles without running, in the background and by the same runner, so that the next run finds its program made. `done` gets
    /// the report with its plan, or nothing when that failed or a newer request came; a run says why.
    void plan(RunRequest request, std::function<void(std::shared_ptr<const RunReport>)> done);
    void stop();
    [[nodiscard]] bool running() const;
    [[nodiscard]] const RunRequest& lastRequest() const { return last_; }
    /// For other jobs that run graphs.
    [[nodiscard]] const std::shared_ptr<SharedRunner>& runner() const { return runner_; }

signals:
    void started();
    void finished(std::shared_ptr<const megascope::RunReport> report);
    /// The run as a whole failed; stopping is ErrorCode::cancelled.
    void failed(const megascope::Error& error);

private:
    using Work = std::function<Expected<RunReport>(Runner&, const RunProgressCallback&, const CancelToken&)>;
    void launch(const RunRequest& request, std::size_t testcases, std::shared_ptr<const Graph> graph, Work work);

    JobRunner* jobs_;
    std::shared_ptr<SharedRunner> runner_;
    RunRequest last_;
    JobId job_;
};

/// Kernel time per operator in the iteration of median length (session/profile_export.h), which a saved profile and the timeline show,
/// too; of several testcases the mean of theirs. A fused step counts for its first operator. Null when nothing was measured.
[[nodiscard]] std::shared_ptr<const OprTimes> timesOfRun(const RunReport& report, std::size_t oprs);

/// By OprId: the operator whose step ran this one, too (the first of a fused step); invalid where it ran by itself.
[[nodiscard]] std::shared_ptr<const std::vector<OprId>> fusedInto(const RunReport& report, std::size_t oprs);

/// Seven of eight passed: one sentence about a whole report.
[[nodiscard]] QString reportSentence(const RunReport& report);

} // namespace megascope

