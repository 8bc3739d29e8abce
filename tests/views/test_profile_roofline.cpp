#include <QFile>
#include <QImage>
#include <QPushButton>
#include <QLabel>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

#include "sample_model.h"
#include "views/profile/roofline_panel.h"
#include "views/profile/roofline_view.h"

using namespace megascope;

namespace {

MachinePeak peak() {
    MachinePeak p;
    p.cpu = "test machine";
    p.threads = 2;
    p.bandwidth = 10e9;
    p.float32 = 100e9;
    return p;
}

} // namespace

class ProfileRooflineTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const SampleModel sample = openSample();
        auto scene = std::make_shared<RooflineScene>();
        scene->facts = sample.facts;
        scene->source = "test";
        // The first convolutions take 1 ms, 2 ms, …; nothing else is timed.
        std::vector<double> seconds(sample.facts->graph->oprs().size(), OprTimes::none);
        double next = 1e-3;
        for (const Opr& opr : sample.facts->graph->oprs())
            if (opr.type == "Convolution" && next < 5.5e-3) {
                seconds[opr.id.index()] = next;
                next += 1e-3;
            }
        scene->roofline = make_roofline(*sample.facts->graph, sample.facts->info, sample.facts->costs, seconds);
        scene_ = scene;
        QCOMPARE(scene_->roofline.points.size(), 5U);
        QVERIFY(!scene_->roofline.without_time.empty());
    }
    void init() {
        view_ = std::make_unique<RooflineView>();
        view_->resize(900, 500);
        view_->setScene(scene_);
        view_->setPeak(peak());
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    }
    void cleanup() { view_.reset(); }

    void pointsStandAtTheirNumbers() {
        const auto& points = scene_->roofline.points;
        for (std::uint32_t i = 0; i < points.size(); ++i)
            for (std::uint32_t k = 0; k < points.size(); ++k) {
                const QPointF a = view_->placeOf(i);
                const QPointF b = view_->placeOf(k);
                if (points[i].intensity() < points[k].intensity() * 0.999) QVERIFY(a.x() < b.x());
                if (points[i].achieved() < points[k].achieved() * 0.999) QVERIFY(a.y() > b.y());
                QVERIFY(view_->rect().contains(a.toPoint()));
            }
    }

    void aClickPicksAndArrowsWalkByTime() {
        QSignalSpy picked(view_.get(), &RooflineView::pointPicked);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, view_->placeOf(0).toPoint());
        QCOMPARE(picked.size(), 1);
        view_->setHighlighted(OprId());
        QVERIFY(!view_->current());
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(*view_->current(), 4U); // 5 ms
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(*view_->current(), 3U);
        QTest::keyClick(view_.get(), Qt::Key_Left);
        QCOMPARE(*view_->current(), 4U);
        view_->setHighlighted(scene_->roofline.points[1].opr);
        QCOMPARE(*view_->current(), 1U);
    }

    void filteredPointsAreGone() {
        const QPoint place = view_->placeOf(4).toPoint();
        const auto top = view_->pointAt(place); // another mark may lie on it
        QVERIFY(top);
        std::vector<bool> shown(scene_->roofline.points.size(), true);
        shown[*top] = false;
        view_->setShown(shown);
        QVERIFY(view_->pointAt(place) != top);
        view_->setShown({});
        QCOMPARE(view_->pointAt(place), top);
    }

    void theTooltipTellsTheShare() {
        const RooflinePoint& point = scene_->roofline.points[0];
        const double allowed = std::min(100e9, point.intensity() * 10e9);
        const QString text = view_->describe(0);
        QVERIFY2(text.contains(QString::number(100 * point.achieved() / allowed, 'f', 1) + " %"), qPrintable(text));
        view_->setPeak(std::nullopt);
        QVERIFY(!view_->describe(0).contains("allows"));
    }

    void zoomAndFit() {
        const QPointF before = view_->placeOf(0);
        QWheelEvent wheel(QPointF(450, 250), view_->mapToGlobal(QPointF(450, 250)), {}, QPoint(0, 240), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(view_.get(), &wheel);
        QVERIFY(std::hypot(view_->placeOf(0).x() - 450, view_->placeOf(0).y() - 250) > std::hypot(before.x() - 450, before.y() - 250));
        QTest::keyClick(view_.get(), Qt::Key_F);
        QVERIFY(std::abs(view_->placeOf(0).x() - before.x()) < 1e-6);
    }

    void thePanelSaysWhatIsNotDrawnAndSavesPictures() {
        RooflinePanel panel;
        panel.resize(900, 500);
        panel.show();
        panel.setScene(scene_);
        QVERIFY(panel.notDrawn().contains("operators have no time"));
        QSignalSpy wanted(&panel, &RooflinePanel::measureRequested);
        QTest::mouseClick(panel.measureButton(), Qt::LeftButton);
        QCOMPARE(wanted.size(), 1);
        panel.setPeak(peak(), "today");
        const auto says = [&](const char* words) {
            const auto labels = panel.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) { return label->text().contains(QLatin1String(words)); });
        };
        QVERIFY(!says("too low"));
        MachinePeak busy = peak();
        busy.share = 0.5; // half of the processor was someone else's
        panel.setPeak(busy, "today");
        QVERIFY(says("too low"));
        panel.setPeak(peak(), "today");
        QTemporaryDir dir;
        QVERIFY(panel.savePicture(dir.filePath("r.png")));
        QCOMPARE(QImage(dir.filePath("r.png")).size(), panel.view()->size() * 2);
        QVERIFY(panel.savePicture(dir.filePath("r.svg")));
        QFile svg(dir.filePath("r.svg"));
        QVERIFY(svg.open(QIODevice::ReadOnly));
        const QByteArray text = svg.readAll();
        QVERIFY(text.contains("<svg") && text.contains("float32"));
        QVERIFY(!panel.savePicture(dir.filePath("nowhere/r.png")));
    }

private:
    std::shared_ptr<const RooflineScene> scene_;
    std::unique_ptr<RooflineView> view_;
};

QTEST_MAIN(ProfileRooflineTest)
#include "test_profile_roofline.moc"
