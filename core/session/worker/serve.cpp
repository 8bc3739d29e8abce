#include "session/worker/serve.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include <unistd.h>

#include "base/not_enough_memory.h"
#include "session/worker/messages.h"

namespace megascope {

namespace {

constexpr auto progress_interval = std::chrono::milliseconds(20);

/// Requests that arrived, and the one that runs. Shared by the reading and the running thread.
class Inbox {
public:
    void push(NumberedRequest request) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(request));
        arrived_.notify_one();
    }
    void cancel(std::uint64_t run) {
        const std::lock_guard lock(mutex_);
        if (run == running_) token_.cancel();
        std::erase_if(waiting_, [&](const NumberedRequest& r) { return r.run == run; });
    }
    /// Nothing more will come.
    void close(int status) {
        const std::lock_guard lock(mutex_);
        status_ = status;
        arrived_.notify_one();
    }
    /// Blocks. Nothing: the channel is closed.
    std::optional<NumberedRequest> next(CancelToken& token) {
        std::unique_lock lock(mutex_);
        running_ = 0;
        arrived_.wait(lock, [&] { return status_ || !waiting_.empty(); });
        if (status_) return std::nullopt;
        NumberedRequest request = std::move(waiting_.front());
        waiting_.pop_front();
        token_ = CancelToken();
        token = token_;
        running_ = request.run;
        return request;
    }
    [[nodiscard]] bool idle() {
        const std::lock_guard lock(mutex_);
        return running_ == 0;
    }
    [[nodiscard]] int status() {
        const std::lock_guard lock(mutex_);
        return status_.value_or(0);
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<NumberedRequest> waiting_;
    std::uint64_t running_ = 0; ///< runs are numbered from 1
    CancelToken token_;
    std::optional<int> status_;
};

/// Reads until the channel ends. A run in progress has nobody to answer to then, and a kernel cannot be stopped: the process ends.
void read_messages(Channel& channel, Inbox& inbox) {
    int status = 0;
    while (true) {
        auto message = channel.receive(std::chrono::milliseconds(-1));
        std::optional<Error> error;
        if (!message) {
            if (!channel.ended()) error = message.error();
        } else if (*message) {
            if ((*message)->type == MessageType::run) {
                auto request = read_request(**message);
                if (request) inbox.push(std::move(*request));
                else error = request.error();
            } else if ((*message)->type == MessageType::cancel) {
                const auto run = read_cancel(**message);
                if (run) inbox.cancel(*run);
                else error = run.error();
            } else {
                error = Error{ErrorCode::corrupt, "A message of an unknown kind came.", std::nullopt, {}};
            }
        }
        if (error) {
            std::fprintf(stderr, "megascope-worker: %s\n", error->text().c_str());
            status = 3;
        }
        if (error || channel.ended()) break;
    }
    if (!inbox.idle()) std::_Exit(status);
    inbox.close(status);
}

/// Keeps the status page and sends progress, at most every 20 ms.
class Reporter {
public:
    Reporter(Channel& channel, std::uint64_t run, WorkerStatus* status) : channel_(channel), run_(run), status_(status) {}

    void report(const RunProgress& progress) {
        if (status_) {
            status_->testcase.store(progress.testcase, std::memory_order_relaxed);
            status_->iteration.store(progress.iteration, std::memory_order_relaxed);
            status_->step.store(progress.steps_done, std::memory_order_relaxed);
            status_->steps_total.store(progress.steps_total, std::memory_order_relaxed);
            status_->opr.store(progress.opr.value(), std::memory_order_relaxed);
            status_->stage.store(WorkerStatus::running, std::memory_order_relaxed);
        }
        const auto now = std::chrono::steady_clock::now();
        const bool announce = !status_ && progress.iteration == 0;
        if (!announce && last_ && now - *last_ < progress_interval) return;
        last_ = now;
        // A lost progress message is harmless; a closed channel is noticed by the reading thread.
        (void)send_progress(channel_, run_, progress);
    }

private:
    Channel& channel_;
    std::uint64_t run_;
    WorkerStatus* status_;
    std::optional<std::chrono::steady_clock::time_point> last_;
};

Expected<RunReport> run_guarded(Runner& runner, const RunRequest& request, Reporter& reporter, const CancelToken& cancel) {
    try {
        return runner.run(request, [&](const RunProgress& p) { reporter.report(p); }, cancel);
    } catch (const std::bad_alloc& error) {
        return forward(not_enough_memory(error, "for this run"));
    } catch (const std::exception& error) { // a library below a backend
        return fail(ErrorCode::run_failed, std::string("The run failed: ") + error.what() + ".");
    }
}

} // namespace

int serve_runs(Channel& channel, const std::string& program, std::shared_ptr<WorkerStatus> status) {
    Hello hello;
    hello.program = program;
    hello.pid = getpid();
    if (!send_hello(channel, hello)) return 0; // nobody there

    Inbox inbox;
    std::thread reading([&] { read_messages(channel, inbox); });
    const std::unique_ptr<Runner> runner = make_local_runner();
    const auto stage = [&](WorkerStatus::Stage s) {
        if (status) status->stage.store(s, std::memory_order_relaxed);
    };
    CancelToken cancel;
    while (const auto request = inbox.next(cancel)) {
        stage(WorkerStatus::preparing);
        Reporter reporter(channel, request->run, status.get());
        const Expected<RunReport> report = run_guarded(*runner, request->request, reporter, cancel);
        stage(WorkerStatus::answering);
        if (!send_result(channel, request->run, report)) break;
        stage(WorkerStatus::idle);
    }
    reading.join();
    return inbox.status();
}

} // namespace megascope
