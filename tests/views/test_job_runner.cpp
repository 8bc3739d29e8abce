#include <QSignalSpy>
#include <QtTest>

#include <atomic>
#include <thread>

#include "views/common/job_runner.h"

using namespace megascope;

namespace {

using Number = std::shared_ptr<const int>;

/// A job that waits until it is cancelled or `open` is set.
JobRunner::Work<int> waits(std::shared_ptr<std::atomic<bool>> open, int value, std::shared_ptr<std::atomic<bool>> sawCancel = nullptr) {
    return [open, value, sawCancel](const CancelToken& cancel, const Progress&) -> Expected<Number> {
        while (!open->load()) {
            if (cancel.cancelled()) {
                if (sawCancel) sawCancel->store(true);
                return CancelToken::error();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return std::make_shared<const int>(value);
    };
}

JobRunner::Work<int> gives(int value) {
    return [value](const CancelToken&, const Progress&) -> Expected<Number> { return std::make_shared<const int>(value); };
}

} // namespace

class JobRunnerTest : public QObject {
    Q_OBJECT
private slots:
    void resultArrivesOnTheGuiThread() {
        JobRunner jobs;
        QThread* where = nullptr;
        int got = 0;
        jobs.start<int>("a", "A", gives(42), this, [&](JobRunner::Result<int> result) {
            where = QThread::currentThread();
            got = **result;
        });
        QVERIFY(!jobs.idle());
        QTRY_COMPARE(got, 42);
        QCOMPARE(where, QThread::currentThread());
        QVERIFY(jobs.idle());
    }

    void workRunsOnAnotherThread() {
        JobRunner jobs;
        std::atomic<Qt::HANDLE> worker{nullptr};
        bool done = false;
        jobs.start<int>(
            "a", "A",
            [&worker](const CancelToken&, const Progress&) -> Expected<Number> {
                worker = QThread::currentThreadId();
                return std::make_shared<const int>(0);
            },
            this, [&](JobRunner::Result<int>) { done = true; });
        QTRY_VERIFY(done);
        QVERIFY(worker.load() != QThread::currentThreadId());
    }

    void aNewerRequestOfTheSlotSupersedesTheOlder() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        auto sawCancel = std::make_shared<std::atomic<bool>>(false);
        QList<int> results;
        jobs.start<int>("view", "old", waits(open, 1, sawCancel), this, [&](JobRunner::Result<int> r) { results << (r ? **r : -1); });
        jobs.start<int>("view", "new", gives(2), this, [&](JobRunner::Result<int> r) { results << (r ? **r : -1); });
        QTRY_COMPARE(results, QList<int>{2});
        QTRY_VERIFY(sawCancel->load());
        QTest::qWait(30);
        QCOMPARE(results, QList<int>{2}); // the old one never answers
    }

    void anOlderResultThatIgnoresCancellingIsDropped() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        QList<int> results;
        const auto deaf = [open](const CancelToken&, const Progress&) -> Expected<Number> {
            while (!open->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return std::make_shared<const int>(1);
        };
        jobs.start<int>("view", "old", deaf, this, [&](JobRunner::Result<int> r) { results << **r; });
        jobs.start<int>("view", "new", gives(2), this, [&](JobRunner::Result<int> r) { results << **r; });
        QTRY_COMPARE(results, QList<int>{2});
        open->store(true);
        QTest::qWait(50);
        QCOMPARE(results, QList<int>{2});
    }

    void otherSlotsAreLeftAlone() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        QSet<int> results;
        jobs.start<int>("a", "A", waits(open, 1), this, [&](JobRunner::Result<int> r) { results << **r; });
        jobs.start<int>("b", "B", gives(2), this, [&](JobRunner::Result<int> r) { results << **r; });
        QTRY_VERIFY(results.contains(2));
        QVERIFY(jobs.busy("a"));
        open->store(true);
        QTRY_VERIFY(results.contains(1));
    }

    void cancellingAnswersAtOnceWithCancelled() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        auto sawCancel = std::make_shared<std::atomic<bool>>(false);
        std::optional<ErrorCode> code;
        int answers = 0;
        const JobId id = jobs.start<int>("a", "A", waits(open, 1, sawCancel), this, [&](JobRunner::Result<int> r) {
            ++answers;
            if (!r) code = r.error().code;
        });
        jobs.cancel(id);
        QCOMPARE(code, std::optional(ErrorCode::cancelled));
        QVERIFY(jobs.idle());
        QTRY_VERIFY(sawCancel->load());
        QTest::qWait(30);
        QCOMPARE(answers, 1);
    }

    void aDestroyedReceiverGetsNothing() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        bool called = false;
        auto receiver = std::make_unique<QObject>();
        jobs.start<int>("a", "A", waits(open, 1), receiver.get(), [&](JobRunner::Result<int>) { called = true; });
        receiver.reset();
        open->store(true);
        QTRY_VERIFY(jobs.idle());
        QVERIFY(!called);
    }

    void destroyingTheRunnerCancelsAndWaits() {
        auto open = std::make_shared<std::atomic<bool>>(false);
        auto sawCancel = std::make_shared<std::atomic<bool>>(false);
        bool called = false;
        {
            JobRunner jobs;
            jobs.start<int>("a", "A", waits(open, 1, sawCancel), this, [&](JobRunner::Result<int>) { called = true; });
            QTest::qWait(20); // it runs
        }
        QVERIFY(sawCancel->load());
        QTest::qWait(20);
        QVERIFY(!called);
    }

    void progressIsSeen() {
        JobRunner jobs;
        auto open = std::make_shared<std::atomic<bool>>(false);
        bool done = false;
        jobs.start<int>(
            "a", "Opening x.mge",
            [open](const CancelToken&, const Progress& progress) -> Expected<Number> {
                progress.report("reading operators", 3, 7);
                while (!open->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                return std::make_shared<const int>(0);
            },
            this, [&](JobRunner::Result<int>) { done = true; });
        QSignalSpy progressed(&jobs, &JobRunner::progressed);
        QTRY_COMPARE(jobs.jobs().front().what, QString("reading operators"));
        QCOMPARE(jobs.jobs().front().done, 3u);
        QCOMPARE(jobs.jobs().front().total, 7u);
        QTRY_VERIFY(progressed.size() > 0);
        open->store(true);
        QTRY_VERIFY(done);
    }

    void idleIsToldAfterTheLastJobOnly() {
        JobRunner jobs;
        QSignalSpy idle(&jobs, &JobRunner::becameIdle);
        bool second = false;
        jobs.start<int>("a", "A", gives(1), this, [&](JobRunner::Result<int>) {
            jobs.start<int>("a", "A2", gives(2), this, [&](JobRunner::Result<int>) { second = true; });
        });
        QTRY_VERIFY(second);
        QTRY_COMPARE(idle.size(), 1);
    }
};

QTEST_GUILESS_MAIN(JobRunnerTest)
#include "test_job_runner.moc"
