#include <QtTest>

#include <cmath>

#include "profile/timeline_lanes.h"
#include "profile/timeline_rows.h"

using namespace megascope;

namespace {

std::shared_ptr<Timeline> timeline_with(std::vector<TimelineSlice> slices) {
    auto t = std::make_shared<Timeline>();
    for (TimelineSlice& slice : slices) slice.name = t->strings.intern("n");
    t->rows.emplace_back();
    fill_row(t->rows.back(), slices);
    return t;
}

} // namespace

class TimelineLanesTest : public QObject {
    Q_OBJECT
private slots:
    void wideSlicesStayAlone() {
        const auto t = timeline_with({{0, 10, {}, 0, false}, {20, 30, {}, 1, false}});
        const TimelineLanes lanes = build_lanes(*t);
        std::vector<LaneRun> runs;
        collect_runs(t->rows[0], lanes.rows[0][0], 0, 100, 1, runs);
        QCOMPARE(runs.size(), 2U);
        QCOMPARE(runs[1].start, 20.0);
        QCOMPARE(runs[1].count, 1U);
    }

    void narrowSlicesBecomeOneRunPerPixel() {
        std::vector<TimelineSlice> slices;
        for (std::uint32_t i = 0; i < 100000; ++i) slices.push_back({i * 0.01, i * 0.01 + 0.005, {}, i, false});
        const auto t = timeline_with(slices); // 1000 µs
        const TimelineLanes lanes = build_lanes(*t);
        std::vector<LaneRun> runs;
        collect_runs(t->rows[0], lanes.rows[0][0], 0, 1000, 1, runs); // a pixel is 1 µs
        QVERIFY(runs.size() >= 990 && runs.size() <= 1010);
        std::uint64_t total = 0;
        for (const LaneRun& run : runs) total += run.count;
        QCOMPARE(total, 100000U); // nothing is lost
    }

    void crowdedPixelsAreMadeOfWholeBlocks() {
        // A thousand slices a pixel, 16 a block: a run lacks less than a block of its pixel, so there are at most 100000 / 984 of them
        // and the one that leads to the first border.
        std::vector<TimelineSlice> slices;
        for (std::uint32_t i = 0; i < 100000; ++i) slices.push_back({i * 0.01, i * 0.01 + (i == 40005 ? 0.009 : 0.005), {}, i, false});
        const auto t = timeline_with(slices);
        const TimelineLanes lanes = build_lanes(*t);
        for (const double begin : {0.0, 0.033, 123.456}) {
            std::vector<LaneRun> runs;
            collect_runs(t->rows[0], lanes.rows[0][0], begin, 1000, 10, runs);
            QVERIFY(runs.size() <= 103);
            std::uint64_t total = 0;
            for (std::size_t i = 0; i < runs.size(); ++i) {
                QVERIFY(runs[i].end - runs[i].start < 10);
                if (i > 0) QVERIFY(runs[i].start > runs[i - 1].end);
                total += runs[i].count;
            }
            QCOMPARE(total, 100000U - static_cast<std::uint64_t>(std::ceil((begin - 0.005) / 0.01 > 0 ? (begin - 0.005) / 0.01 : 0)));
        }
        QCOMPARE(lanes.rows[0][0].blocks[40005 / 16].slice, 40005U); // the longest one
    }

    void onlyTheVisiblePartIsVisited() {
        std::vector<TimelineSlice> slices;
        for (std::uint32_t i = 0; i < 1000; ++i) slices.push_back({i * 1.0, i + 0.5, {}, i, false});
        const auto t = timeline_with(slices);
        const TimelineLanes lanes = build_lanes(*t);
        std::vector<LaneRun> runs;
        collect_runs(t->rows[0], lanes.rows[0][0], 500.2, 502.2, 0.001, runs);
        QCOMPARE(runs.size(), 3U);
        QCOMPARE(runs.front().slice, 500U);
    }

    void hitTestFindsTheSliceUnderThePointer() {
        const auto t = timeline_with({{0, 10, {}, 0, false}, {20, 20, {}, 1, true}, {30, 31, {}, 2, false}});
        const TimelineLanes lanes = build_lanes(*t);
        const auto hit = [&](double time, double slack) { return slice_at(t->rows[0], lanes.rows[0][0], time, slack); };
        QCOMPARE(hit(5, 0).value(), 0U);
        QVERIFY(!hit(15, 0));
        QCOMPARE(hit(19.5, 1).value(), 1U);
        QCOMPARE(hit(32, 1.5).value(), 2U);
    }

    void rangeStatisticsAreCutToTheRange() {
        const auto t = timeline_with({{0, 10, {}, 0, false}, {20, 40, {}, 1, false}, {60, 61, {}, 2, false}});
        const auto statistics = range_statistics(*t, 0, 30);
        QCOMPARE(statistics.size(), 1U);
        QCOMPARE(statistics[0].count, 2U);
        QCOMPARE(statistics[0].total, 20.0);
        QCOMPARE(statistics[0].longest, 20.0);
    }
};

QTEST_APPLESS_MAIN(TimelineLanesTest)
#include "test_timeline_lanes.moc"
