#include "session/worker/process_runner.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "session/worker/channel.h"
#include "base/child_process.h"
#include "session/worker/messages.h"
#include "session/worker/status_page.h"

namespace megascope {

namespace {

/// Threads that wait for each other spin a short while only. The OpenMP runtime's own limit is a hundred times longer, which
/// makes runs many times slower as soon as other programs want the cores, too.
constexpr const char* spin_limit = "GOMP_SPINCOUNT=3000";

using std::chrono::milliseconds;

constexpr milliseconds poll_interval{25};
constexpr milliseconds start_patience{30000};  ///< ssh may ask for a key first
constexpr milliseconds cancel_patience{2000};  ///< one kernel may run that long before the process is killed instead
constexpr milliseconds exit_patience{1000};
constexpr std::size_t kept_stderr = 4096;

/// Everything that belongs to one child process.
struct Connection {
    ChildProcess child;
    std::unique_ptr<Channel> channel;
    FileDescriptor errors;                 ///< the child's stderr
    std::string last_errors;               ///< its end
    std::shared_ptr<WorkerStatus> status;  ///< null over a stream
    std::optional<RunProgress> announced;  ///< last progress message of this run
    std::int64_t pid = 0;

    void drain_errors() {
        std::array<char, 1024> piece;
        ssize_t n = 0;
        while (errors.valid() && (n = read(errors.get(), piece.data(), piece.size())) > 0) last_errors.append(piece.data(), static_cast<std::size_t>(n));
        if (last_errors.size() > kept_stderr) last_errors.erase(0, last_errors.size() - kept_stderr);
    }
    /// The last line that the child wrote to stderr.
    [[nodiscard]] std::string last_words() const {
        std::string text = last_errors;
        while (!text.empty() && std::strchr(" \r\n\t", text.back())) text.pop_back();
        const std::size_t line = text.rfind('\n');
        return line == std::string::npos ? text : text.substr(line + 1);
    }
};

std::string sentence(const std::string& text) { return text.empty() || text.back() == '.' ? text : text + "."; }

class ProcessRunnerImpl final : public ProcessRunner {
public:
    ProcessRunnerImpl(std::filesystem::path worker, std::vector<std::string> command) : worker_(std::move(worker)), command_(std::move(command)) {}
    ~ProcessRunnerImpl() override { stop(); }

    [[nodiscard]] std::int64_t pid() const override { return connection_ ? connection_->pid : 0; }
    Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) override;

private:
    Expected<void> start();
    Expected<void> start_child(Connection& c);
    void stop();
    Error death(const RunRequest& request, const std::string& how);
    Error died(const RunRequest& request);

    std::filesystem::path worker_;
    std::vector<std::string> command_;
    std::optional<Connection> connection_;
    std::uint64_t last_run_ = 0;
};

Expected<std::filesystem::path> find_worker() {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return fail(ErrorCode::io, "The folder of the running program cannot be found: " + error.message() + ".");
    const std::filesystem::path folder = self.parent_path();
    for (const std::filesystem::path& candidate : {folder / "megascope-worker", folder / "../libexec/megascope/megascope-worker"})
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
    return fail_in(ErrorCode::io, "The run process 'megascope-worker' was not found beside the program.", folder.string());
}

Expected<void> ProcessRunnerImpl::start_child(Connection& c) {
    std::array<int, 2> sockets{};
    std::array<int, 2> error_pipe{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        return fail(ErrorCode::io, std::string("A connection to a run process cannot be made: ") + std::strerror(errno) + ".");
    FileDescriptor ours(sockets[0]);
    const FileDescriptor theirs(sockets[1]);
    if (pipe2(error_pipe.data(), O_CLOEXEC) != 0)
        return fail(ErrorCode::io, std::string("A pipe cannot be made: ") + std::strerror(errno) + ".");
    c.errors = FileDescriptor(error_pipe[0]);
    const FileDescriptor error_end(error_pipe[1]);
    fcntl(c.errors.get(), F_SETFL, O_NONBLOCK);

    if (!command_.empty()) {
        MGS_ASSIGN(c.child, ChildProcess::start(command_, {{theirs.get(), 0}, {theirs.get(), 1}, {error_end.get(), 2}}));
        c.channel = std::make_unique<Channel>(std::move(ours), FileDescriptor(), Channel::Transport::stream);
        return {};
    }
    std::filesystem::path worker = worker_;
    if (worker.empty()) {
        MGS_ASSIGN(worker, find_worker());
    }
    MGS_ASSIGN(const FileDescriptor page, create_status_file());
    MGS_ASSIGN(c.status, map_status(page));
    const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    MGS_ASSIGN(c.child, ChildProcess::start({worker.string(), "--socket", "3", "--status", "4"},
                                            {{nothing.get(), 0}, {error_end.get(), 1}, {error_end.get(), 2}, {theirs.get(), 3}, {page.get(), 4}},
                                             {spin_limit}));
    c.channel = std::make_unique<Channel>(std::move(ours), FileDescriptor(), Channel::Transport::unix_socket);
    return {};
}

Expected<void> ProcessRunnerImpl::start() {
    if (connection_ && !connection_->child.wait(milliseconds(0))) return {};
    connection_.reset();
    Connection c;
    MGS_TRY(start_child(c));
    c.pid = c.child.pid();
    const auto first = c.channel->receive(start_patience);
    c.drain_errors();
    const auto refuse = [&](const std::string& what) {
        const std::string words = c.last_words();
        return fail(ErrorCode::worker_died, what + (words.empty() ? "" : " It said: " + sentence(words)));
    };
    if (!first && c.channel->ended()) {
        const auto status = c.child.wait(exit_patience);
        c.drain_errors();
        return refuse("The run process " + (status ? status->text() : std::string("closed its connection")) + " before it was ready.");
    }
    if (!first) return refuse(first.error().message);
    if (!*first) return refuse("The run process did not answer within " + std::to_string(start_patience.count() / 1000) + " seconds.");
    MGS_ASSIGN(const Hello hello, read_hello(**first));
    if (hello.protocol != worker_protocol_version)
        return fail(ErrorCode::unsupported, "The run process speaks version " + std::to_string(hello.protocol) + " of the protocol, this program version " +
                                                std::to_string(worker_protocol_version) + "; they must come from one installation.");
    connection_.emplace(std::move(c));
    return {};
}

void ProcessRunnerImpl::stop() {
    if (!connection_) return;
    connection_->channel.reset(); // the end of its input is the end of a run process
    (void)connection_->child.wait(exit_patience);
    connection_.reset();
}

/// The sentence about a run process that is gone, with the operator it was at.
Error ProcessRunnerImpl::death(const RunRequest& request, const std::string& how) {
    Connection& c = *connection_;
    Error error{ErrorCode::worker_died, "The run process " + how, std::nullopt, {}};
    std::optional<RunProgress> at;
    bool preparing = false;
    if (c.status) {
        const auto stage = c.status->stage.load(std::memory_order_relaxed);
        preparing = stage == WorkerStatus::preparing;
        if (stage == WorkerStatus::running)
            at = RunProgress{c.status->testcase, c.status->iteration, c.status->step, c.status->steps_total, OprId(c.status->opr.load())};
    } else {
        at = c.announced;
        preparing = !at;
    }
    if (preparing) error.message += " while it opened and prepared the model";
    if (at) {
        error.message += std::string(c.status ? " at" : "; it last reported") + " step " + std::to_string(at->steps_done + 1) + " of " +
                         std::to_string(at->steps_total) + ", iteration " + std::to_string(at->iteration) + " of testcase " + std::to_string(at->testcase);
        error.where = "operator " + std::to_string(at->opr.value());
        // The name is the dump's; a model on another machine cannot be asked.
        if (auto file = MappedFile::open(request.model))
            if (const auto model = read_model(std::move(*file), request.open); model && request.graph < (*model)->graphs.size()) {
                const Graph& graph = *(*model)->graphs[request.graph].graph;
                if (at->opr.index() < graph.oprs().size()) error.where = graph.display_name(at->opr);
            }
    }
    error.message += ".";
    const std::string words = c.last_words();
    if (!words.empty()) error.message += " It said: " + sentence(words);
    connection_.reset();
    return error;
}

Error ProcessRunnerImpl::died(const RunRequest& request) {
    const auto status = connection_->child.wait(exit_patience);
    connection_->drain_errors();
    return death(request, status ? status->text() : "closed its connection");
}

Expected<RunReport> ProcessRunnerImpl::run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) {
    if (cancel.cancelled()) return CancelToken::error();
    MGS_TRY(start());
    Connection& c = *connection_;
    c.announced.reset();
    const std::uint64_t run = ++last_run_;
    if (!send_request(*c.channel, run, request)) return forward(died(request));

    std::optional<std::chrono::steady_clock::time_point> cancelled_at;
    while (true) {
        auto message = c.channel->receive(poll_interval);
        c.drain_errors();
        if (!message && c.channel->ended()) return forward(died(request));
        if (!message) {
            c.child.kill();
            return forward(death(request, "was stopped because its messages made no sense (" + message.error().message + ")"));
        }
        if (*message && (*message)->type == MessageType::result) {
            auto result = read_result(**message);
            if (!result) {
                c.child.kill();
                return forward(death(request, "was stopped because its result was damaged"));
            }
            if (result->run == run) return std::move(result->report);
        } else if (*message && (*message)->type == MessageType::progress) {
            const auto report = read_progress(**message);
            if (report && report->run == run) {
                c.announced = report->progress;
                if (progress) progress(report->progress);
            }
        }
        if (!cancel.cancelled()) continue;
        const auto now = std::chrono::steady_clock::now();
        if (!cancelled_at) {
            cancelled_at = now;
            (void)send_cancel(*c.channel, run); // if it fails, the end of the stream is seen next
        } else if (now - *cancelled_at > cancel_patience) {
            connection_.reset(); // kills it; the next run starts a new one
            return CancelToken::error();
        }
    }
}

} // namespace

std::unique_ptr<ProcessRunner> make_process_runner(std::filesystem::path worker) {
    return std::make_unique<ProcessRunnerImpl>(std::move(worker), std::vector<std::string>{});
}

std::unique_ptr<ProcessRunner> make_command_runner(std::vector<std::string> command) {
    return std::make_unique<ProcessRunnerImpl>(std::filesystem::path(), std::move(command));
}

std::unique_ptr<Runner> make_worker_runner(std::filesystem::path worker) { return make_process_runner(std::move(worker)); }

} // namespace megascope
