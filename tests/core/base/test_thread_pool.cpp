#include <QtTest>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

using namespace megascope;

class ThreadPoolTest : public QObject {
    Q_OBJECT
private slots:
    void everyIndexIsVisitedOnce_data() {
        QTest::addColumn<int>("threads");
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("grain");
        for (const int threads : {1, 2, 4})
            for (const int count : {0, 1, 7, 1000, 4097})
                for (const int grain : {1, 64})
                    QTest::addRow("%d threads, %d items, grain %d", threads, count, grain) << threads << count << grain;
    }
    void everyIndexIsVisitedOnce() {
        QFETCH(int, threads);
        QFETCH(int, count);
        QFETCH(int, grain);
        ThreadPool pool(threads);
        QCOMPARE(pool.threads(), threads);
        for (int round = 0; round < 20; ++round) {
            std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
            pool.parallel_for(visits.size(), static_cast<std::size_t>(grain), [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) ++visits[i];
            });
            for (const auto& v : visits) QCOMPARE(v.load(), 1);
        }
    }

    void piecesAreNotShorterThanTheGrain() {
        ThreadPool pool(4);
        std::mutex mutex;
        std::set<std::pair<std::size_t, std::size_t>> pieces;
        pool.parallel_for(1000, 100, [&](std::size_t begin, std::size_t end) {
            const std::lock_guard lock(mutex);
            pieces.insert({begin, end});
        });
        QVERIFY(pieces.size() > 1);
        for (const auto& [begin, end] : pieces) QVERIFY(end - begin >= 100 || end == 1000);
    }

    void secondThreadTakesPart() {
        ThreadPool pool(2);
        // Both pieces wait for each other: only two threads at once can finish this.
        std::atomic<int> arrived{0};
        pool.parallel_for(2, 1, [&](std::size_t, std::size_t) {
            ++arrived;
            while (arrived.load() < 2) std::this_thread::yield();
        });
        QCOMPARE(arrived.load(), 2);
    }

    void nestedLoopsRunOnTheCaller() {
        ThreadPool pool(2);
        std::atomic<int> sum{0};
        pool.parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                pool.parallel_for(10, 1, [&](std::size_t b, std::size_t e) { sum += static_cast<int>(e - b); });
        });
        QCOMPARE(sum.load(), 80);
    }

    void exceptionsComeBackToTheCaller() {
        ThreadPool pool(2);
        QVERIFY_EXCEPTION_THROWN(pool.parallel_for(100, 1,
                                                   [](std::size_t begin, std::size_t) {
                                                       if (begin > 40) throw std::runtime_error("piece");
                                                   }),
                                 std::runtime_error);
        std::atomic<int> n{0};
        pool.parallel_for(100, 1, [&](std::size_t b, std::size_t e) { n += static_cast<int>(e - b); });
        QCOMPARE(n.load(), 100); // usable afterwards
    }
};

QTEST_APPLESS_MAIN(ThreadPoolTest)
#include "test_thread_pool.moc"
