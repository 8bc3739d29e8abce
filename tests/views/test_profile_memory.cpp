#include <QSignalSpy>
#include <QTableView>
#include <QtTest>

#include "exec/memory/graph_memory.h"
#include "sample_model.h"
#include "views/profile/memory_panel.h"
#include "views/profile/memory_view.h"

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

private:
    std::unique_ptr<MemoryView> view_;
};

QTEST_MAIN(ProfileMemoryTest)
#include "test_profile_memory.moc"
