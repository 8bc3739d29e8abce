#include <QAction>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <QtTest>

#include "app/gui/main_window.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/profile/budget_curve_view.h"
#include "views/profile/flame_panel.h"
#include "views/profile/flame_view.h"
#include "views/profile/memory_panel.h"
#include "views/profile/memory_view.h"
#include "views/profile/memory_what_if.h"
#include "views/profile/roofline_panel.h"

using namespace megascope;

/// Flame graph, roofline and memory in the window: what they show and how they follow the selection.
class ProfileViewsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
    }
    void init() {
        QSettings().clear();
        window_ = std::make_unique<MainWindow>(make_local_runner());
        window_->show();
    }
    void cleanup() { window_.reset(); }

    void aProfiledRunMakesAFlameGraph() {
        openModel();
        auto* panel = window_->findChild<FlamePanel*>();
        QVERIFY(!panel->scene());
        profileNow();
        QTRY_VERIFY(panel->scene());
        const FlameTree& tree = *panel->scene()->tree;
        QVERIFY(tree.frames.size() > 20);
        QVERIFY(tree.frames[0].total > 0);
        // A frame selects its operator everywhere, and an operator its frame.
        std::uint32_t widest = FlameFrame::none;
        for (std::uint32_t i = 0; i < tree.frames.size(); ++i)
            if (tree.frames[i].source != FlameFrame::none && (widest == FlameFrame::none || tree.frames[i].total > tree.frames[widest].total)) widest = i;
        window_->showView(MainWindow::View::flame);
        QTRY_VERIFY(!panel->view()->boxOf(widest).isEmpty());
        QTest::mouseClick(panel->view(), Qt::LeftButton, {}, panel->view()->boxOf(widest).center().toPoint());
        QCOMPARE(window_->selection()->current().opr, OprId(tree.frames[widest].source));
        window_->selection()->clear();
        QCOMPARE(panel->view()->current(), FlameFrame::none);
        window_->selection()->select(Pick::of(OprId(tree.frames[widest].source)));
        QCOMPARE(panel->view()->current(), widest);
        // Another model: its operators have no times yet.
        window_->open(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        QTRY_VERIFY(!panel->scene());
    }

    void aProfileAloneMakesAFlameGraphOfItsOwnGraph() {
        window_->open(QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json"));
        auto* panel = window_->findChild<FlamePanel*>();
        QTRY_VERIFY(panel->scene());
        QVERIFY(panel->scene()->facts);
        QCOMPARE(panel->scene()->source, QStringLiteral("lenet_lar_profile.json"));
        QVERIFY(!window_->errorBar()->isVisible());
    }

    void anOpenModelIsPlannedAndAProfileAddsWhatItRecorded() {
        openModel();
        auto* panel = window_->findChild<MemoryPanel*>();
        QTRY_VERIFY(window_->settled());
        QVERIFY(panel->rows().empty()); // nobody looks yet
        window_->showView(MainWindow::View::memory);
        QTRY_VERIFY(panel->rows().size() >= 6);
        QVERIFY(panel->rows()[0].map->peak > 0);
        // A block selects its var everywhere.
        panel->ownerTable()->selectRow(0);
        const Pick pick = window_->selection()->current();
        QVERIFY(pick.var.valid());
        window_->selection()->clear();
        QVERIFY(panel->view()->highlighted().empty());
        window_->selection()->select(pick);
        QCOMPARE(panel->view()->highlighted().size(), 1U);
        window_->documents()->close();
        QTRY_VERIFY(panel->rows().empty());
    }

    // What the run process would allocate is a row beside the plans, planned when the view is looked at, and what a run gave after it.
    void theBackendsOwnPlanIsARow() {
        openModel();
        auto* panel = window_->findChild<MemoryPanel*>();
        window_->showView(MainWindow::View::memory);
        const QString title = QStringLiteral("Megascope's cpu plan");
        QTRY_VERIFY_WITH_TIMEOUT(panel->rowOf(title) == 1, 60000);
        const auto planned = panel->rows()[1].map;
        QVERIFY(!planned->blocks.empty());
        QVERIFY(planned->weight_bytes > 0);
        QTRY_VERIFY(window_->settled());
        profileNow();
        QTRY_VERIFY_WITH_TIMEOUT(panel->rows()[1].map != planned, 60000);
        const auto run = panel->rows()[1].map;
        QCOMPARE(panel->rows()[1].title, title);
        QCOMPARE(run->area, planned->area); // the same plan: what ran is what was planned
        QCOMPARE(run->peak, planned->peak);
        QCOMPARE(run->weight_bytes, planned->weight_bytes);
    }

    void otherSettingsPlanMemoryAnew() {
        openModel();
        auto* panel = window_->findChild<MemoryPanel*>();
        window_->showView(MainWindow::View::memory);
        QTRY_VERIFY(panel->rows().size() >= 6);
        QTest::mouseClick(panel->whatIfButton(), Qt::LeftButton);
        panel->whatIf()->minimumSize()->setValue(0);
        panel->whatIf()->threshold()->setValue(90);
        QTest::mouseClick(panel->whatIf()->planButton(), Qt::LeftButton);
        const QString title = panel->whatIf()->request().title();
        QTRY_VERIFY_WITH_TIMEOUT(panel->rowOf(title) >= 0, 30000);
        QCOMPARE(panel->currentRow(), panel->rowOf(title));
        const MemoryRow& row = panel->rows()[static_cast<std::size_t>(panel->currentRow())];
        QVERIFY(row.extraComputation.has_value());
        QTest::mouseClick(panel->whatIf()->curveButton(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(panel->whatIf()->curveView()->isVisible(), 60000);
        QCOMPARE(panel->whatIf()->curveView()->curve()->points.size(), 10U);
        window_->documents()->close();
        QTRY_VERIFY(panel->rows().empty());
        QVERIFY(!panel->whatIf()->curveView()->curve());
    }

    void aProfilesChunksAreShown() {
        window_->open(QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json"));
        auto* panel = window_->findChild<MemoryPanel*>();
        QTRY_VERIFY(!panel->rows().empty() && panel->rows().back().measured);
        QCOMPARE(panel->rows().back().map->area, 17280U);
    }

    void staticMemoryInfoOpensInTheMemoryView() {
        window_->open(QStringLiteral(MEGASCOPE_TEST_DATA "/format/lar/StaticMemoryInfo.json"));
        auto* panel = window_->findChild<MemoryPanel*>();
        QTRY_COMPARE(panel->rows().size(), 1U);
        QCOMPARE(panel->rows()[0].map->area, 134656U);
        QVERIFY(panel->isVisible());
        QVERIFY(!window_->errorBar()->isVisible());
    }

    void aProfiledRunMakesARoofline() {
        openModel();
        auto* panel = window_->findChild<RooflinePanel*>();
        QVERIFY(!panel->view()->scene());
        profileNow();
        QTRY_VERIFY(panel->view()->scene());
        const RooflineScene& scene = *panel->view()->scene();
        QVERIFY(scene.of_this_machine);
        QVERIFY(scene.roofline.points.size() > 5);
        window_->showView(MainWindow::View::roofline);
        QTest::keyClick(panel->view(), Qt::Key_Right);
        QVERIFY(panel->view()->current());
        const RooflinePoint point = scene.roofline.points[*panel->view()->current()];
        QCOMPARE(window_->selection()->current(), Pick::of(point.opr));
        // The table's filter hides points, too.
        const QPoint place = panel->view()->placeOf(*panel->view()->current()).toPoint();
        QVERIFY(panel->view()->pointAt(place));
        window_->showTable("operators");
        window_->setTableFilter("type:NoSuchType");
        QTRY_VERIFY(!panel->view()->pointAt(place));
        window_->setTableFilter("");
        QTRY_VERIFY(panel->view()->pointAt(place));
        // Measured ceilings are remembered.
        QTest::mouseClick(panel->measureButton(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 120000);
        QVERIFY(panel->view()->describe(*panel->view()->current()).contains("allows"));
        MainWindow second(make_local_runner());
        QVERIFY(second.findChild<RooflinePanel*>()->measureButton()->text().contains("again"));
    }

private:
    void openModel() {
        window_->open(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        QTRY_VERIFY(window_->documents()->model());
        QTRY_VERIFY(window_->settled());
    }
    void profileNow() {
        for (QAction* action : window_->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(Qt::Key_F6)) action->trigger();
        QTRY_VERIFY(window_->settled());
    }

    OwnSettings settings_;
    std::unique_ptr<MainWindow> window_;
};

QTEST_MAIN(ProfileViewsTest)
#include "test_profile_views.moc"
