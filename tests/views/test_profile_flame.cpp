#include <QSignalSpy>
#include <QtTest>

#include <QLineEdit>

#include "sample_model.h"
#include "views/profile/flame_panel.h"
#include "views/profile/flame_view.h"

using namespace megascope;

namespace {

/// root 10 s: a 6 s (x 5 s, y 1 s), b 4 s (z 4 s).
std::shared_ptr<const FlameTree> tree() {
    FlameBuilder builder("root");
    const auto a = builder.child(FlameBuilder::root, "alpha");
    const auto b = builder.child(FlameBuilder::root, "beta");
    builder.add(builder.leaf(a, "x conv", 10), 5);
    builder.add(builder.leaf(a, "y relu", 11), 1);
    builder.add(builder.leaf(b, "z conv", 12), 4);
    return std::make_shared<const FlameTree>(std::move(builder).finish());
}

// Depth-first order of that tree.
enum : std::uint32_t { root, alpha, x, y, beta, z };

} // namespace

class ProfileFlameTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        view_ = std::make_unique<FlameView>();
        view_->resize(1000, 300);
        view_->setTree(tree());
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    }
    void cleanup() { view_.reset(); }

    void widthsAreShares() {
        QCOMPARE(view_->boxOf(root).width(), 1000.0);
        QCOMPARE(view_->boxOf(alpha).width(), 600.0);
        QCOMPARE(view_->boxOf(y).left(), 500.0);
        QCOMPARE(view_->boxOf(z).left(), 600.0);
        for (const std::uint32_t frame : {root, alpha, x, y, beta, z}) QCOMPARE(view_->frameAt(view_->boxOf(frame).center().toPoint()), frame);
        QCOMPARE(view_->frameAt({10, 290}), FlameFrame::none);
    }

    void aClickZoomsAndPicks() {
        QSignalSpy picked(view_.get(), &FlameView::framePicked);
        click(beta);
        QCOMPARE(picked.size(), 1);
        QCOMPARE(picked[0][0].toUInt(), static_cast<uint>(beta));
        QCOMPARE(view_->zoomed(), beta);
        QCOMPARE(view_->boxOf(z).width(), 1000.0);
        QCOMPARE(view_->boxOf(root).width(), 1000.0); // the callers stay above
        QVERIFY(view_->boxOf(alpha).isEmpty());
        click(z);
        QCOMPARE(view_->zoomed(), z);
        QTest::keyClick(view_.get(), Qt::Key_Backspace);
        QCOMPARE(view_->zoomed(), beta);
        QTest::keyClick(view_.get(), Qt::Key_Backspace);
        QCOMPARE(view_->zoomed(), root);
        click(x);
        QTest::keyClick(view_.get(), Qt::Key_Escape);
        QCOMPARE(view_->zoomed(), root);
    }

    void keysWalk() {
        QTest::keyClick(view_.get(), Qt::Key_Down);
        QCOMPARE(view_->current(), alpha);
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(view_->current(), beta);
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(view_->current(), beta);
        QTest::keyClick(view_.get(), Qt::Key_Left);
        QTest::keyClick(view_.get(), Qt::Key_Down);
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(view_->current(), y);
        QTest::keyClick(view_.get(), Qt::Key_Left);
        QCOMPARE(view_->current(), x);
        QTest::keyClick(view_.get(), Qt::Key_Return);
        QCOMPARE(view_->zoomed(), x);
        QTest::keyClick(view_.get(), Qt::Key_Up);
        QCOMPARE(view_->current(), alpha);
    }

    void searchCountsEachSecondOnce() {
        FlameView::Found found = view_->setSearch("CONV");
        QCOMPARE(found.frames, 2U);
        QCOMPARE(found.seconds, 9.0);
        found = view_->setSearch("a"); // alpha and beta; nothing below them
        QCOMPARE(found.frames, 2U);
        QCOMPARE(found.seconds, 10.0);
        QCOMPARE(view_->setSearch("").frames, 0U);
    }

    void hoverTellsExactNumbers() {
        QSignalSpy hovered(view_.get(), &FlameView::frameHovered);
        QTest::mouseMove(view_.get(), view_->boxOf(y).center().toPoint());
        QCOMPARE(hovered.size(), 1);
        const QString text = view_->describe(y);
        QVERIFY(text.contains("alpha / y relu"));
        QVERIFY2(text.contains("1000000.000") && text.contains("10.0 %") && text.contains("16.7 % of alpha"), qPrintable(text));
    }

    void whatIsPickedElsewhereComesIntoSight() {
        view_->setHighlighted(12);
        QCOMPARE(view_->current(), z);
        QCOMPARE(view_->zoomed(), root); // it was in sight
        view_->zoomTo(alpha);
        view_->setHighlighted(FlameFrame::none);
        view_->setHighlighted(12);
        QVERIFY(!view_->boxOf(z).isEmpty());
        view_->setHighlighted(99);
        QCOMPARE(view_->current(), FlameFrame::none);
    }

    void aHundredThousandFramesPaintQuickly() {
        FlameBuilder builder("root");
        for (std::uint32_t i = 0; i < 400; ++i)
            for (std::uint32_t k = 0; k < 300; ++k) builder.add(builder.leaf(builder.child(builder.child(FlameBuilder::root, QByteArray("s").append(QByteArray::number(i % 20)).toStdString()), QByteArray("m").append(QByteArray::number(i)).toStdString()), "o", k), 1 + k);
        view_->setTree(std::make_shared<const FlameTree>(std::move(builder).finish()));
        QVERIFY(view_->tree()->frames.size() > 120000);
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < 5; ++i) view_->grab();
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        QTest::mouseMove(view_.get(), {3, 3});
        QVERIFY(view_->frameAt({3, 3}) == 0);
    }

    void aModelsTimesByScope() {
        const auto facts = openSample().facts;
        auto times = std::make_shared<OprTimes>();
        times->source = "test";
        times->seconds.assign(facts->graph->oprs().size(), OprTimes::none);
        double sum = 0;
        for (std::size_t i = 0; i < times->seconds.size(); i += 2) sum += times->seconds[i] = 1e-3 * static_cast<double>(i + 1);
        times->total = sum + 0.5;
        const auto flame = flameOfTimes(*facts, *times, {});
        QVERIFY(flame.has_value());
        QVERIFY(std::abs((*flame)->frames[0].total - times->total) < 1e-9);
        std::size_t operators = 0;
        for (const FlameFrame& frame : (*flame)->frames)
            if (frame.source != FlameFrame::none) {
                ++operators;
                QCOMPARE(frame.self, times->seconds[frame.source]);
            }
        QCOMPARE(operators, (times->seconds.size() + 1) / 2);

        FlamePanel panel;
        panel.resize(900, 400);
        panel.show();
        QSignalSpy picked(&panel, &FlamePanel::oprPicked);
        auto scene = std::make_shared<FlameScene>();
        scene->tree = *flame;
        scene->facts = facts;
        panel.setScene(scene);
        const std::uint32_t frame = (*flame)->find_source(static_cast<std::uint32_t>((times->seconds.size() - 1) / 2 * 2));
        panel.view()->zoomTo(frame);
        QTest::mouseClick(panel.view(), Qt::LeftButton, {}, panel.view()->boxOf(frame).center().toPoint());
        QCOMPARE(picked.size(), 1);
        QTest::keyClicks(panel.searchEdit(), "zzz");
        QVERIFY(panel.view()->setSearch("zzz").frames == 0);
    }

private:
    void click(std::uint32_t frame) { QTest::mouseClick(view_.get(), Qt::LeftButton, {}, view_->boxOf(frame).center().toPoint()); }

    std::unique_ptr<FlameView> view_;
};

QTEST_MAIN(ProfileFlameTest)
#include "test_profile_flame.moc"
