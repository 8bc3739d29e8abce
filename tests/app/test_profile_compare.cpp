#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/main_window.h"
#include "app/gui/profile_compare_controller.h"
#include "app/gui/profile_report_controller.h"
#include "views/common/error_bar.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/profile/report_table_view.h"
#include "views/profile/timeline_panel.h"
#include "views/table/table_page.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"

using namespace megascope;

namespace {
const QString lenetLar = QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
const QString lenetGet = QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_get_profile.json");
} // namespace

/// Profiles in the window: compared, listed, reported, and joined with the one selection.
class ProfileCompareWindowTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
    }
    void init() { QSettings().clear(); }

    void aSecondProfileIsComparedWithTheOpenOne() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(lenetGet);
        QTRY_VERIFY(window.documents()->profile());
        QTRY_VERIFY(window.settled());
        window.profileComparison()->compareWith(lenetLar);
        QTRY_VERIFY(window.profileComparison()->view()->scene());
        QTRY_VERIFY(window.settled());
        ProfileCompareView* view = window.profileComparison()->view();
        QVERIFY(view->isVisible());
        QCOMPARE(view->scene()->by[0].matched, 13U); // as the command line says
        QVERIFY(window.profileComparison()->coloursGraph());
        // A row selects its operator everywhere, and a selection its row.
        const auto& rows = view->scene()->by[0].rows;
        const auto pool = std::ranges::find_if(rows, [](const CompareRow& row) { return row.type == "PoolingForward" && row.a && row.b; });
        QVERIFY(pool != rows.end());
        view->table()->table()->selectRow(int(pool - rows.begin()));
        const OprId opr = window.selection()->current().opr;
        QVERIFY(opr.valid());
        QCOMPARE(window.graphView()->selectedOpr(), opr);
        QCOMPARE(window.documents()->profile()->facts->graph->opr(opr).type, std::string("PoolingForward"));
        window.selection()->clear();
        window.selection()->select(Pick::of(opr));
        QCOMPARE(view->table()->table()->selectionModel()->selectedRows().value(0).row(), int(pool - rows.begin()));
        // A trace is of another kind.
        QTemporaryDir dir;
        QFile trace(dir.filePath("trace.json"));
        QVERIFY(trace.open(QIODevice::WriteOnly));
        trace.write("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"name\":\"a\"}]");
        trace.close();
        window.profileComparison()->compareWith(trace.fileName());
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY2(window.errorBar()->sentence().contains("is a trace"), qPrintable(window.errorBar()->sentence()));
    }

    void aProfileAloneIsJoinedWithTheSelection() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(lenetLar);
        QTRY_VERIFY(window.documents()->profile());
        QTRY_VERIFY(window.settled());
        QCOMPARE(window.timelinePanel()->caption(), QString("lenet_lar_profile.json"));
        // The status bar tells what is open.
        QString status;
        for (const QLabel* label : window.statusBar()->findChildren<QLabel*>()) status += label->text();
        QVERIFY2(status.contains("lenet_lar_profile.json") && status.contains("profile"), qPrintable(status));
        // A slice selects the operator; a row of the analysis as well; nothing offers to compute what a profile has not.
        AnalysisPage* analysis = window.profileReports()->analysis();
        QVERIFY(analysis->profile());
        analysis->table()->table()->selectRow(0);
        const OprId opr = window.selection()->current().opr;
        QVERIFY(opr.valid());
        const auto* button = window.findChild<QPushButton*>("compute");
        QVERIFY(button && !button->isVisible());
        TimelineView* timeline = window.timelinePanel()->view();
        window.selection()->clear();
        emit timeline->sliceClicked(0, window.documents()->profile()->ofOpr[opr.index()].value());
        QCOMPARE(window.selection()->current().opr, opr);
    }

    // Three events of 10 µs, 100 µs apart, from 5000 on: only the middle one touches 90 … 150.
    void aPartOfATraceIsOpened() {
        MainWindow window(make_local_runner());
        window.show();
        QTemporaryDir dir;
        QFile trace(dir.filePath("trace.json"));
        QVERIFY(trace.open(QIODevice::WriteOnly));
        trace.write("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5000,\"dur\":10,\"name\":\"a\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5100,\"dur\":10,\"name\":\"b\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5200,\"dur\":10,\"name\":\"c\"}]");
        trace.close();
        TraceReadOptions range;
        range.from = 90;
        range.to = 150;
        range.from_begin = true;
        window.documents()->openTracePart(trace.fileName(), range);
        QTRY_VERIFY(window.documents()->profile());
        const Timeline& timeline = *window.documents()->profile()->scene->timeline;
        QCOMPARE(timeline.slices(), 1U);
        QCOMPARE(timeline.begin, 5100.0);
        QVERIFY(window.tablePage("problems")->model()->rowCount() >= 1); // what was left out is told
        QTRY_VERIFY(window.settled());
    }

    void reportsAreWritten() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(lenetLar);
        QTRY_VERIFY(window.documents()->profile());
        QTRY_VERIFY(window.settled());
        QTemporaryDir dir;
        auto* reports = window.profileReports();
        QVERIFY(reports->has(ProfileReportController::What::profile));
        QVERIFY(!reports->has(ProfileReportController::What::run));
        const auto written = [&](ProfileReportController::What what, const QString& name) {
            reports->write(what, dir.filePath(name));
            if (!QTest::qWaitFor([&] { return QFile::exists(dir.filePath(name)); })) return QByteArray();
            QFile file(dir.filePath(name));
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        QVERIFY(written(ProfileReportController::What::profile, "p.html").contains("<!DOCTYPE html>"));
        QVERIFY(written(ProfileReportController::What::profile, "p.csv").startsWith("id,name,type,time,"));
        window.profileComparison()->compareWith(lenetGet);
        QTRY_VERIFY(reports->has(ProfileReportController::What::comparison));
        QTRY_VERIFY(window.settled());
        QVERIFY(written(ProfileReportController::What::comparison, "c.json").contains("\"verdict\""));
        reports->write(ProfileReportController::What::profile, dir.filePath("no/such/folder.html"));
        QTRY_VERIFY(window.errorBar()->isVisible());
    }

    void profiledRunsAreComparedAndNamed() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        auto* profile = window.findChild<QAction*>("profileAction");
        QVERIFY(profile);
        profile->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!window.timelinePanel()->caption().isEmpty(), 30000);
        QVERIFY2(window.timelinePanel()->caption().contains("of 10, the one of median length"), qPrintable(window.timelinePanel()->caption()));
        QTRY_VERIFY(window.settled());
        profile->trigger();
        QTRY_VERIFY(window.runs()->running());
        QTRY_VERIFY_WITH_TIMEOUT(!window.runs()->running() && window.settled(), 30000);
        window.profileComparison()->compareRuns();
        QTRY_VERIFY_WITH_TIMEOUT(window.profileComparison()->view()->scene(), 30000);
        const ProfileCompareScene& scene = *window.profileComparison()->view()->scene();
        QCOMPARE(scene.a.iterations, 10U);
        QCOMPARE(scene.by[0].removed + scene.by[0].added, 0U);
        // Ten against ten samples can tell: no row is left without a test.
        for (const CompareRow& row : scene.by[0].rows) QVERIFY(row.verdict != CompareVerdict::too_few);
        // What a kernel ran together with another operator says so.
        QTRY_VERIFY(window.settled());
        const auto report = window.tablePage("operators")->model();
        const int column = report->columnOf("time");
        QStringList fused;
        for (int row = 0; row < report->rowCount(); ++row)
            if (report->index(row, column).data().toString() == "fused") fused << report->index(row, column).data(Qt::ToolTipRole).toString();
        QVERIFY(!fused.isEmpty());
        QVERIFY2(fused.first().contains("fused into"), qPrintable(fused.first()));
        // After a plain run the timeline says that it is of an older one.
        window.runSelected();
        QTRY_VERIFY_WITH_TIMEOUT(window.timelinePanel()->caption().contains("earlier"), 30000);
        QTRY_VERIFY_WITH_TIMEOUT(window.settled(), 30000);
    }

private:
    OwnSettings settings_;
};

QTEST_MAIN(ProfileCompareWindowTest)
#include "test_profile_compare.moc"
