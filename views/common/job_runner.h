#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>
#include <QTimer>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/id.h"
#include "base/progress.h"

namespace megascope {

struct JobTag;
using JobId = Id<JobTag>;

/// A job as people see it.
struct JobInfo {
    JobId id;
    QString slot;
    QString title;          ///< "Opening resnet18.mge"
    QString what;           ///< the last progress report: "reading operators"
    std::uint64_t done = 0;
    std::uint64_t total = 0; ///< 0 = unknown
    std::chrono::steady_clock::time_point started;
};

/// Runs blocking functions on a thread pool and brings their results to the GUI thread.
///
/// Jobs of one slot supersede each other: starting one cancels the older ones of that slot, and an older one's result is dropped
/// even if it arrives. A result goes to `receiver`; if that is destroyed first, the result is dropped. Work functions get copies or
/// shared constants only: they must not touch widgets, the runner or the receiver.
/// All functions: GUI thread. The destructor cancels everything and waits for the pool.
class JobRunner : public QObject {
    Q_OBJECT
public:
    template <class T>
    using Result = Expected<std::shared_ptr<const T>>;
    template <class T>
    using Work = std::function<Expected<std::shared_ptr<const T>>(const CancelToken&, const Progress&)>;

    explicit JobRunner(QObject* parent = nullptr);
    ~JobRunner() override;

    /// Starts `work`; `done` is called once on the GUI thread with the result, unless the job was superseded or cancelled.
    template <class T>
    JobId start(const QString& slot, const QString& title, Work<T> work, QObject* receiver, std::function<void(Result<T>)> done);

    /// Asks a job to stop; its `done` is called with ErrorCode::cancelled at once.
    void cancel(JobId job);
    /// Like superseding without a successor: no `done`.
    void dropSlot(const QString& slot);

    [[nodiscard]] std::vector<JobInfo> jobs() const;
    [[nodiscard]] bool idle() const { return jobs_.empty(); }
    [[nodiscard]] bool busy(const QString& slot) const;

signals:
    void jobStarted(megascope::JobId job);
    /// Progress was made by some job; at most some twenty times a second.
    void progressed();
    void jobEnded(megascope::JobId job);
    void becameIdle();

private:
    /// Shared by the worker and the GUI side; outlives both.
    struct Shared {
        CancelToken cancel;
        std::mutex mutex;
        QString what; // guarded by mutex, as the next two
        std::uint64_t done = 0;
        std::uint64_t total = 0;
    };
    /// Where workers leave results; emptied when the runner goes away.
    struct Mailbox {
        std::mutex mutex;
        QObject* target = nullptr;
        void post(std::function<void()> deliver);
    };
    struct Job {
        JobInfo info;
        std::shared_ptr<Shared> shared;
        std::function<void()> cancelled; ///< calls the receiver with ErrorCode::cancelled
    };

    JobId add(const QString& slot, const QString& title, std::shared_ptr<Shared> shared, std::function<void()> cancelled);
    /// Removes the job; false when it was superseded or cancelled before.
    bool take(JobId job);
    void launch(std::function<void()> task);

    QThreadPool pool_;
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
    std::vector<Job> jobs_;
    std::uint32_t next_ = 0;
    QTimer poll_;
};

template <class T>
JobId JobRunner::start(const QString& slot, const QString& title, Work<T> work, QObject* receiver,
                       std::function<void(Result<T>)> done) {
    dropSlot(slot);
    auto shared = std::make_shared<Shared>();
    const QPointer<QObject> alive(receiver);
    const JobId id = add(slot, title, shared, [alive, done] {
        if (alive) done(CancelToken::error());
    });
    launch([this, work = std::move(work), shared, mailbox = mailbox_, id, alive, done = std::move(done)] {
        const Progress progress([&shared](const Progress::Report& report) {
            const std::lock_guard lock(shared->mutex);
            shared->what = QString::fromUtf8(report.what.data(), static_cast<qsizetype>(report.what.size()));
            shared->done = report.done;
            shared->total = report.total;
        });
        auto result = std::make_shared<Result<T>>(work(shared->cancel, progress));
        // `this` is used only inside the delivery, on the GUI thread, where the mailbox proves that the runner lives.
        mailbox->post([this, id, alive, done, result] {
            if (take(id) && alive) done(std::move(*result));
        });
    });
    return id;
}

} // namespace megascope
