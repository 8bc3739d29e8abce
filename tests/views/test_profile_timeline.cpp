#include <QSignalSpy>
#include <QtTest>

#include "profile/timeline_rows.h"
#include "views/profile/timeline_view.h"

using namespace megascope;

namespace {

std::shared_ptr<const TimelineScene> scene() {
    auto t = std::make_shared<Timeline>();
    std::vector<TimelineSlice> slices = {{0, 100, t->strings.intern("outer"), 7, false},
                                         {10, 60, t->strings.intern("inner"), 8, false},
                                         {200, 300, t->strings.intern("later"), 9, false}};
    t->rows.emplace_back();
    t->rows.back().title = "thread";
    t->rows.back().group = "process";
    fill_row(t->rows.back(), slices);
    t->begin = 0;
    t->end = 300;
    return makeTimelineScene(t);
}

} // namespace

class ProfileTimelineTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        view_ = std::make_unique<TimelineView>();
        view_->resize(1000, 300);
        view_->setScene(scene());
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    }
    void cleanup() { view_.reset(); }

    void clickSelectsTheSlice() {
        QSignalSpy clicked(view_.get(), &TimelineView::sliceClicked);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, find(7));
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][1].toUInt(), 7U);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, find(8));
        QCOMPARE(clicked[1][1].toUInt(), 8U);
    }

    void keysZoomAndMove() {
        const double span = view_->axis().span();
        QTest::keyClick(view_.get(), Qt::Key_W);
        QVERIFY(view_->axis().span() < span * 0.75);
        const double begin = view_->axis().begin;
        QTest::keyClick(view_.get(), Qt::Key_D);
        QVERIFY(view_->axis().begin > begin);
        QTest::keyClick(view_.get(), Qt::Key_F);
        QVERIFY(std::abs(view_->axis().span() - span) < 1e-9);
    }

    void theTimeUnderThePointerStaysWhenZooming() {
        TimeAxis axis{0, 300, 600};
        const double before = axis.toTime(200);
        axis.zoom(0.5, 200, 0, 300);
        QVERIFY(std::abs(axis.toTime(200) - before) < 1e-9);
        QCOMPARE(axis.span(), 150.0);
    }

    void draggingInTheRulerChoosesARange() {
        QSignalSpy range(view_.get(), &TimelineView::rangeChanged);
        QTest::mousePress(view_.get(), Qt::LeftButton, {}, {400, 8});
        QTest::mouseMove(view_.get(), {600, 8});
        QTest::mouseRelease(view_.get(), Qt::LeftButton, {}, {600, 8});
        QCOMPARE(range.size(), 1);
        QVERIFY(view_->range().has_value());
        QVERIFY(std::abs(view_->range()->second - view_->range()->first - 200 * view_->axis().perPixel()) < 1e-6);
        QTest::keyClick(view_.get(), Qt::Key_Escape);
        QVERIFY(!view_->range());
    }

    void searchCountsSlices() {
        QCOMPARE(view_->setSearch("er"), 3U);
        QCOMPARE(view_->setSearch("inn"), 1U);
        QCOMPARE(view_->setSearch(""), 0U);
    }

    void highlightingScrollsToWhatIsOutside() {
        view_->showRange(0, 50);
        view_->setHighlighted(9);
        QVERIFY(view_->axis().begin < 250 && view_->axis().end > 250);
    }

    void labelsHaveTheDigitsThatAStepNeeds() {
        QCOMPARE(timeLabel(1500, 100), QString("1.5\u202fms"));
        QCOMPARE(timeLabel(1500, 1), QString("1.500\u202fms"));
        QCOMPARE(timeLabel(0.25, 0.05), QString("250\u202fns"));
        QCOMPARE(timeLabel(2e6, 1e6), QString("2\u202fs"));
    }

private:
    /// Some pixel on the slice with this source.
    QPoint find(std::uint32_t source) const {
        for (int y = 0; y < view_->height(); y += 3)
            for (int x = 0; x < view_->width(); x += 3)
                if (const auto place = view_->placeAt({x, y}); place && view_->scene()->timeline->rows[place->row].source[place->slice] == source) return {x, y};
        return {-1, -1};
    }
    std::unique_ptr<TimelineView> view_;
};

QTEST_MAIN(ProfileTimelineTest)
#include "test_profile_timeline.moc"
