#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <QtTest>

#include <cmath>

#include "exec/memory/graph_memory.h"
#include "sample_model.h"
#include "views/profile/budget_curve_view.h"
#include "views/profile/memory_panel.h"
#include "views/profile/memory_view.h"
#include "views/profile/memory_what_if.h"

using namespace megascope;

namespace {

/// Four steps: a (1000 B) at steps 0–1, b (3000 B) at 1–2, w (workspace, 500 B) at 2, c (200 B) at 2–3.
std::shared_ptr<const MemoryMap> sampleMap() {
    auto map = std::make_shared<MemoryMap>();
    map->steps = {"one", "two", "three", "four"};
    map->step_oprs.resize(4);
    const auto add = [&](const char* name, std::uint64_t address, std::uint64_t bytes, std::uint32_t first, std::uint32_t last) {
        MemoryBlock block;
        block.name = name;
        block.address = address;
        block.bytes = bytes;
        block.first = first;
        block.last = last;
        map->blocks.push_back(block);
    };
    add("a", 0, 1000, 0, 1);
    add("b", 1024, 3000, 1, 2);
    add("w", 0, 500, 2, 2);
    map->blocks.back().kind = MemoryBlock::Kind::workspace;
    add("c", 512, 200, 2, 3);
    map->settle();
    return map;
}
enum : std::uint32_t { a, b, w, c };

} // namespace

class ProfileMemoryTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        view_ = std::make_unique<MemoryView>();
        view_->resize(900, 500);
        view_->setMap(sampleMap());
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    }
    void cleanup() { view_.reset(); }

    void everyBlockIsWhereItIsDrawn() {
        QCOMPARE(view_->map()->peak, 4000U); // a and b at step 1
        QCOMPARE(view_->step(), 1U);
        for (const std::uint32_t block : {a, b, w, c}) QCOMPARE(view_->blockAt(view_->boxOf(block).center().toPoint()), std::optional(block));
        // Twice as many steps, twice as wide; addresses grow upwards.
        QVERIFY(std::abs(view_->boxOf(b).width() - 2 * view_->boxOf(w).width()) < 1e-6);
        QVERIFY(view_->boxOf(b).bottom() < view_->boxOf(a).top() + 1);
        QVERIFY(!view_->blockAt({2, 2}));
    }

    void aClickPicksABlockAndTheCurvePicksAStep() {
        QSignalSpy block(view_.get(), &MemoryView::blockPicked);
        QSignalSpy step(view_.get(), &MemoryView::stepPicked);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, view_->boxOf(b).center().toPoint());
        QCOMPARE(block.size(), 1);
        QCOMPARE(block[0][0].toUInt(), static_cast<uint>(b));
        QCOMPARE(view_->highlighted(), std::vector<std::uint32_t>{b});
        const int x = static_cast<int>(view_->boxOf(c).right()) - 4; // step 3
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, {x, view_->curveArea().center().y()});
        QCOMPARE(step.size(), 1);
        QCOMPARE(view_->step(), 3U);
        QTest::keyClick(view_.get(), Qt::Key_BracketLeft);
        QCOMPARE(view_->step(), 2U);
    }

    void zoomMoveAndFit() {
        const double whole = view_->steps().span();
        QTest::keyClick(view_.get(), Qt::Key_W);
        QVERIFY(view_->steps().span() < whole * 0.75);
        const double begin = view_->steps().begin;
        QTest::mousePress(view_.get(), Qt::LeftButton, {}, {500, 300});
        QTest::mouseMove(view_.get(), {450, 300});
        QTest::mouseRelease(view_.get(), Qt::LeftButton, {}, {450, 300});
        QVERIFY(view_->steps().begin > begin);
        QTest::keyClick(view_.get(), Qt::Key_F);
        QVERIFY(std::abs(view_->steps().span() - whole) < 1e-9);
    }

    void tooltipsAreExact() {
        const QString text = view_->describe(b);
        QVERIFY2(text.contains("3000 bytes") && text.contains("1024") && text.contains("step 1 to 2") && text.contains("75.0 %"), qPrintable(text));
        QVERIFY(view_->describe(w).contains("workspace"));
    }

    void tenThousandVarsPaintQuickly() {
        auto map = std::make_shared<MemoryMap>();
        map->steps.resize(12000);
        for (std::uint32_t i = 0; i < 12000; ++i) {
            MemoryBlock block;
            block.bytes = 100 + i * 37 % 5000;
            block.first = i;
            block.last = std::min(11999U, i + i % 40);
            map->blocks.push_back(block);
        }
        place_blocks(*map);
        map->settle();
        view_->setMap(map);
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < 5; ++i) {
            QTest::keyClick(view_.get(), Qt::Key_W);
            view_->grab();
        }
        QVERIFY2(timer.elapsed() < 3000, qPrintable(QString::number(timer.elapsed())));
    }

    void thePanelComparesPlansAndNamesOwners() {
        const SampleModel sample = openSample();
        std::vector<MemoryRow> rows;
        for (const bool in_place : {true, false}) {
            const auto map = plan_graph_memory(*sample.facts->graph, sample.facts->info, {.in_place = in_place});
            QVERIFY(map.has_value());
            rows.push_back({in_place ? "plan" : "not in place", {}, std::make_shared<const MemoryMap>(*map), std::nullopt, false});
        }
        QVERIFY(rows[1].map->peak > rows[0].map->peak);
        MemoryPanel panel;
        panel.resize(1000, 500);
        panel.show();
        panel.setRows(rows, sample.facts);
        QCOMPARE(panel.currentRow(), 0);
        QAbstractItemModel* plans = panel.rowTable()->model();
        QCOMPARE(plans->rowCount(), 2);
        QVERIFY(plans->index(1, 2).data().toString().startsWith('+'));
        // The owners at the peak add up to it.
        QAbstractItemModel* owners = panel.ownerTable()->model();
        QCOMPARE(owners->rowCount(), static_cast<int>(rows[0].map->alive_at(rows[0].map->peak_step).size()));
        panel.rowTable()->selectRow(1);
        QCOMPARE(panel.currentRow(), 1);
        QCOMPARE(panel.view()->map(), rows[1].map.get());

        QSignalSpy picked(&panel, &MemoryPanel::picked);
        panel.ownerTable()->selectRow(0);
        QCOMPARE(picked.size(), 1);
        const Pick pick = picked[0][0].value<Pick>();
        QVERIFY(pick.var.valid());
        panel.setHighlighted(Pick::of(sample.facts->graph->var(pick.var).producer));
        QCOMPARE(panel.view()->highlighted().size(), 1U);
        panel.setRows({}, nullptr);
        QCOMPARE(panel.currentRow(), -1);
    }

    void theSettingsAreMegEnginesWithItsDefaults() {
        MemoryWhatIf form;
        form.show();
        const SublinearMemoryConfig sublinear;
        MemoryWhatIf::Request request = form.request();
        QCOMPARE(request.config.method, RecomputeConfig::Method::dtr);
        QCOMPARE(*request.threshold_percent, 60.0);
        QCOMPARE(request.config.dtr.evictee_minimum_size, std::size_t{1048576});
        QCOMPARE(request.config.dtr.recomp_memory_factor, 1.0);
        QCOMPARE(request.config.dtr.recomp_time_factor, 1.0);
        QCOMPARE(request.config.sublinear.thresh_nr_try, 10);
        QCOMPARE(request.config.sublinear.genetic_nr_iter, 0);
        QCOMPARE(request.config.sublinear.genetic_pool_size, 20);
        QCOMPARE(request.config.sublinear.lb_memory_mb, 0);
        QCOMPARE(request.config.sublinear.num_worker, sublinear.num_worker);
        // Percent of the plain peak, once that is known.
        QCOMPARE(request.forPeak(1000).dtr.eviction_threshold, 600U);
        QVERIFY2(request.title().contains("60"), qPrintable(request.title()));
        // MiB, typed with real keys.
        form.thresholdUnit()->setCurrentIndex(1);
        form.threshold()->setFocus();
        form.threshold()->selectAll();
        QTest::keyClicks(form.threshold(), form.threshold()->locale().toString(2.5));
        QTest::keyClick(form.threshold(), Qt::Key_Return);
        request = form.request();
        QVERIFY(!request.threshold_percent);
        QCOMPARE(request.forPeak(1000).dtr.eviction_threshold, std::size_t{2621440}); // 2.5 · 2²⁰
        form.method()->setCurrentIndex(1);
        form.lowerBound()->setValue(7);
        request = form.request();
        QCOMPARE(request.config.method, RecomputeConfig::Method::sublinear);
        QCOMPARE(request.config.sublinear.lb_memory_mb, 7);
        QVERIFY2(request.title().contains("7"), qPrintable(request.title()));
        QVERIFY(!form.threshold()->isVisible());
        QVERIFY(form.lowerBound()->isVisible());
        QCOMPARE(form.lowerBound()->accessibleName(), QString("lb_memory_mb"));
    }

    void planningCanBeStopped() {
        MemoryWhatIf form;
        QSignalSpy plan(&form, &MemoryWhatIf::planRequested), curve(&form, &MemoryWhatIf::curveRequested), stop(&form, &MemoryWhatIf::stopRequested);
        form.show();
        QTest::mouseClick(form.planButton(), Qt::LeftButton);
        QTest::mouseClick(form.curveButton(), Qt::LeftButton);
        QCOMPARE(plan.size(), 1);
        QCOMPARE(curve.size(), 1);
        form.setPlanning(true);
        QVERIFY(!form.curveButton()->isEnabled());
        QTest::mouseClick(form.planButton(), Qt::LeftButton);
        QCOMPARE(stop.size(), 1);
        QCOMPARE(plan.size(), 1);
        form.setPlanning(false);
        QTest::mouseClick(form.planButton(), Qt::LeftButton);
        QCOMPARE(plan.size(), 2);
    }

    // 100 MiB without computing again; at 50 MiB a tenth more, at 25 MiB two fifths more.
    void aPointOfTheCurveSetsItsBudget() {
        MemoryWhatIf form;
        form.resize(400, 500);
        form.show();
        QVERIFY(QTest::qWaitForWindowExposed(&form));
        QVERIFY(!form.curveView()->isVisible());
        auto curve = std::make_shared<BudgetCurve>();
        constexpr std::size_t mib = 1048576;
        curve->plain_peak = 100 * mib;
        curve->plain_flops = 1e9;
        curve->plain_steps = 50;
        curve->points = {{20 * mib, 25 * mib, 20, 4e8}, {50 * mib, 50 * mib, 5, 1e8}, {100 * mib, 100 * mib, 0, 0}};
        form.setCurve(curve);
        QTRY_VERIFY(form.curveView()->isVisible());
        BudgetCurveView* view = form.curveView();
        // Right is more memory, up is more computation; both in proportion.
        const QPointF a = view->placeOf(0), b = view->placeOf(1), c = view->placeOf(2);
        QVERIFY(a.x() < b.x() && b.x() < c.x() && a.y() < b.y() && b.y() < c.y());
        QVERIFY(std::abs((c.x() - b.x()) / (b.x() - a.x()) - 2) < 0.01);
        QVERIFY(std::abs((c.y() - a.y()) / (c.y() - b.y()) - 4) < 0.01);
        const QString words = view->describe(1);
        for (const char* part : {"50", "-50", "5 of 50", "10"}) QVERIFY2(words.contains(QLatin1String(part)), qPrintable(words));
        QSignalSpy plan(&form, &MemoryWhatIf::planRequested);
        QTest::mouseClick(view, Qt::LeftButton, {}, b.toPoint());
        QCOMPARE(plan.size(), 1);
        QCOMPARE(form.request().forPeak(curve->plain_peak).dtr.eviction_threshold, 50 * mib);
        // By keys, too.
        view->setFocus();
        QTest::keyClick(view, Qt::Key_Left);
        QTest::keyClick(view, Qt::Key_Return);
        QCOMPARE(plan.size(), 2);
        QCOMPARE(form.request().forPeak(curve->plain_peak).dtr.eviction_threshold, 20 * mib);
        QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(3, 3)); // nothing there
        QCOMPARE(plan.size(), 2);
        form.setCurve(nullptr);
        QVERIFY(!view->isVisible());
    }

    void whatIfIsFoldedAwayUntilItIsAsked() {
        MemoryPanel panel;
        panel.resize(1000, 600);
        auto map = sampleMap();
        panel.setRows({{"plan", {}, map, std::nullopt, false}}, nullptr);
        QSignalSpy shown(&panel, &MemoryPanel::shown);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCOMPARE(shown.size(), 1);
        QVERIFY(!panel.whatIf()->isVisible());
        QTest::mouseClick(panel.whatIfButton(), Qt::LeftButton);
        QVERIFY(panel.whatIf()->isVisible());
        panel.whatIfButton()->setFocus();
        QTest::keyClick(panel.whatIfButton(), Qt::Key_Space);
        QVERIFY(!panel.whatIf()->isVisible());
        QCOMPARE(panel.rowOf("plan"), 0);
        QCOMPARE(panel.rowOf("other"), -1);
    }

private:
    std::unique_ptr<MemoryView> view_;
};

QTEST_MAIN(ProfileMemoryTest)
#include "test_profile_memory.moc"
