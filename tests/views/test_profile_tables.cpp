#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "profile/timeline_rows.h"
#include "views/profile/analysis_page.h"
#include "views/profile/profile_compare_view.h"
#include "views/profile/report_table_view.h"
#include "views/profile/timeline_panel.h"

using namespace megascope;

namespace {

std::shared_ptr<const GraphProfile> lenet(const char* name) {
    const auto file = MappedFile::open(std::string(MEGASCOPE_TEST_DATA "/profile/") + name);
    if (!file) return nullptr;
    const auto profile = read_graph_profile((*file)->bytes());
    return profile ? *profile : nullptr;
}

std::shared_ptr<const TimelineScene> scene() {
    auto t = std::make_shared<Timeline>();
    std::vector<TimelineSlice> slices = {{0, 100, t->strings.intern("conv"), 1, false},
                                         {200, 240, t->strings.intern("pool"), 2, false},
                                         {300, 360, t->strings.intern("conv"), 3, false},
                                         {500, 600, t->strings.intern("conv"), 4, false}};
    t->rows.emplace_back();
    t->rows.back().title = "thread";
    t->rows.back().group = "process";
    fill_row(t->rows.back(), slices);
    t->begin = 0;
    t->end = 600;
    return makeTimelineScene(t);
}

} // namespace

class ProfileTablesTest : public QObject {
    Q_OBJECT
private slots:
    void modelSortsByValueAndFilters() {
        ReportTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        ReportTable table;
        table.columns = {{"name", "Name", false}, {"time", "Time", true}};
        table.rows = {{ReportCell("a"), ReportCell(9e-6, "9 µs")}, {ReportCell("b"), ReportCell()}, {ReportCell("c"), ReportCell(10e-6, "10 µs")}};
        model.setTable(table, {7, 8, 9});
        model.sort(1, Qt::DescendingOrder);
        QCOMPARE(model.index(0, 0).data().toString(), QString("c")); // by number, not by text
        QCOMPARE(model.index(2, 0).data().toString(), QString("b")); // missing last
        model.sort(1, Qt::AscendingOrder);
        QCOMPARE(model.index(0, 0).data().toString(), QString("a"));
        QCOMPARE(model.index(2, 0).data().toString(), QString("b"));
        QCOMPARE(model.rowOfKey(9), 1);
        model.setFilter("A");
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.rowOfKey(9), -1);
        QCOMPARE(model.index(0, 1).data(ReportTableModel::ExactRole).toString(), QString("9e-06"));
    }

    void rowsAreCopiedAsTextAndCsv() {
        ReportTableView view;
        ReportTable table;
        table.columns = {{"name", "Name", false}, {"seconds", "Time", true}};
        table.rows = {{ReportCell("a,b"), ReportCell(0.5, "500 ms")}};
        view.setTable(table);
        QCOMPARE(view.copyText(false), QString("Name\tTime\na,b\t500 ms\n"));
        QCOMPARE(view.copyText(true), QString("name,seconds\n\"a,b\",0.5\n"));
    }

    // The page gives the numbers of profile_analyze for the same question.
    void analysisAsksWhatTheCommandLineAsks() {
        const auto profile = lenet("lenet_lar_profile.json");
        QVERIFY(profile);
        AnalysisPage page;
        page.resize(1100, 500);
        page.show();
        QVERIFY(page.findChild<QLabel*>("analysisSummary")->text().contains("profile_analyze"));
        page.setProfile(profile, "lenet", {});
        QCOMPARE(page.table()->model()->rowCount(), int(analyze(*profile, {})->size()));
        page.findChild<QLineEdit*>("analysisTypes")->setText("ConvolutionForward PoolingForward");
        AnalysisQuery query;
        query.types = {"ConvolutionForward", "PoolingForward"};
        QCOMPARE(page.table()->model()->rowCount(), int(analyze(*profile, query)->size()));
        QCOMPARE(page.table()->model()->rowCount(), 4); // LeNet: two of each
        page.findChild<QSpinBox*>("analysisTop")->setValue(3);
        QCOMPARE(page.table()->model()->rowCount(), 3);
        page.findChild<QSpinBox*>("analysisTop")->setValue(0);
        page.findChild<QComboBox*>("analysisAggregate")->setCurrentIndex(1); // sum, by type
        QCOMPARE(page.table()->model()->rowCount(), 2);
        query.aggregate = AnalysisQuery::Aggregate::sum;
        query.group_by = AnalysisQuery::GroupBy::type;
        const auto rows = analyze(*profile, query);
        QCOMPARE(std::get<double>(page.table()->model()->table().rows[0][2].value), rows->front().time);
        page.findChild<QLineEdit*>("analysisName")->setText("conv(");
        QVERIFY(page.findChild<QLabel*>("analysisProblem")->isVisible());
        QVERIFY(page.findChild<QLabel*>("analysisProblem")->text().contains("regular expression"));
        page.findChild<QLineEdit*>("analysisName")->setText("no such operator");
        QVERIFY(page.findChild<QLabel*>("analysisProblem")->text().contains("No operator"));
        page.findChild<QLineEdit*>("analysisName")->clear();
        page.findChild<QLineEdit*>("analysisMinTime")->setText("soon");
        QVERIFY(page.findChild<QLabel*>("analysisProblem")->text().contains("'soon'"));
    }

    void aRowSelectsItsOperator() {
        const auto profile = lenet("lenet_lar_profile.json");
        AnalysisPage page;
        std::vector<OprId> oprOf(profile->oprs.size());
        for (std::size_t i = 0; i < oprOf.size(); ++i) oprOf[i] = OprId(i + 100);
        page.setProfile(profile, "lenet", oprOf);
        QSignalSpy picked(&page, &AnalysisPage::oprPicked);
        page.table()->table()->selectRow(0);
        QCOMPARE(picked.size(), 1);
        const OprId opr = picked[0][0].value<OprId>();
        page.table()->table()->clearSelection();
        page.setSelected(opr);
        QCOMPARE(page.table()->table()->selectionModel()->selectedRows().size(), 1);
        QCOMPARE(picked.size(), 1); // shown, not picked
    }

    // Times of one side are doubled: everything is slower, both timelines move together.
    void comparisonShowsChangesAndLinksTimelines() {
        const std::shared_ptr<const GraphProfile> a[] = {lenet("lenet_lar_profile.json")};
        const auto file = MappedFile::open(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
        const auto again = read_graph_profile((*file)->bytes());
        auto& copy = const_cast<GraphProfile&>(**again); // this test is its only owner
        for (ProfileRecord& record : copy.device) record.span = {record.span.start * 2, record.span.kern * 2, record.span.end * 2};
        const std::shared_ptr<const GraphProfile> b[] = {*again};
        auto made = makeProfileCompareScene(compare_side("before", a), compare_side("after", b), {});
        QVERIFY2(made, made ? "" : made.error().text().c_str());
        std::vector<OprId> oprs;
        for (std::size_t i = 0; i < (*made)->b.items.size(); ++i) oprs.emplace_back(i);
        (*made)->oprOfA = (*made)->oprOfB = oprs;
        ProfileCompareView view;
        view.resize(1000, 700);
        view.setScene(*made);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QVERIFY(view.findChild<QLabel*>("compareSummary")->text().contains("+100 %"));
        QCOMPARE(view.table()->model()->rowCount(), int((*made)->by[0].rows.size()));
        view.setBy(CompareBy::type);
        QCOMPARE(view.table()->model()->rowCount(), int((*made)->by[1].rows.size()));
        view.setBy(CompareBy::opr);

        view.timelineBefore()->setAxis(view.timelineBefore()->scene()->timeline->begin + 5, view.timelineBefore()->scene()->timeline->begin + 25);
        QCOMPARE(view.timelineAfter()->axis().begin - view.timelineAfter()->scene()->timeline->begin, 5.0);
        QCOMPARE(view.timelineAfter()->axis().span(), 20.0);
        QTest::keyClick(view.timelineAfter(), Qt::Key_W);
        QCOMPARE(view.timelineBefore()->axis().span(), view.timelineAfter()->axis().span());

        QSignalSpy picked(&view, &ProfileCompareView::oprPicked);
        view.table()->table()->selectRow(0);
        QCOMPARE(picked.size(), 1);
        QSignalSpy colours(&view, &ProfileCompareView::coloursChanged);
        view.findChild<QAbstractButton*>("colourByChange")->click();
        QCOMPARE(colours.size(), 1);
        QVERIFY(!view.coloursGraph());
    }

    void changesFallIntoClasses_data() {
        QTest::addColumn<double>("before");
        QTest::addColumn<double>("after");
        QTest::addColumn<int>("verdict");
        QTest::addColumn<int>("expected");
        const int few = int(CompareVerdict::too_few);
        QTest::newRow("much faster") << 1.0 << 0.5 << few << 0;
        QTest::newRow("same") << 1.0 << 1.01 << few << 3;
        QTest::newRow("a little slower") << 1.0 << 1.05 << few << 4;
        QTest::newRow("much slower") << 1.0 << 3.0 << few << 6;
        QTest::newRow("noise") << 1.0 << 3.0 << int(CompareVerdict::not_distinguishable) << 3;
        QTest::newRow("from nothing") << 0.0 << 1.0 << few << 3;
    }
    void changesFallIntoClasses() {
        QFETCH(double, before);
        QFETCH(double, after);
        QFETCH(int, verdict);
        QFETCH(int, expected);
        CompareRow row;
        row.time_a = before;
        row.time_b = after;
        row.verdict = CompareVerdict(verdict);
        QCOMPARE(int(changeClass(row)), expected);
        QCOMPARE(changeClasses()[3].position, 0.0);
    }

    void searchStepsThroughWhatItFinds() {
        TimelinePanel panel;
        panel.resize(900, 400);
        panel.setScene(scene());
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QSignalSpy clicked(panel.view(), &TimelineView::sliceClicked);
        QTest::keyClicks(panel.searchEdit(), "conv");
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return);
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return);
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return);
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return); // round to the first
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return, Qt::ShiftModifier); // and back to the last
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return, Qt::ShiftModifier);
        QList<uint> sources;
        for (const auto& arguments : clicked) sources << arguments[1].toUInt();
        QCOMPARE(sources, (QList<uint>{1, 3, 4, 1, 4, 3}));
        // What is outside of the view is brought into it.
        panel.view()->setAxis(0, 50);
        QTest::keyClick(panel.searchEdit(), Qt::Key_Return);
        QVERIFY(panel.view()->axis().begin > 400);
        QTest::keyClick(panel.searchEdit(), Qt::Key_Escape);
        QVERIFY(!panel.view()->showNextFound());
    }

    void aRangeHasStatistics() {
        TimelinePanel panel;
        panel.resize(900, 400);
        panel.setScene(scene());
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QVERIFY(!panel.statistics()->isVisible());
        panel.view()->setAxis(0, 600);
        // A drag in the ruler from 150 to 330 µs: pool (40) and conv (60, cut at 330 to 30).
        const int left = 180, width = panel.view()->width() - left;
        const auto at = [&](double time) { return QPoint(left + int(time / 600 * width), 10); };
        QTest::mousePress(panel.view(), Qt::LeftButton, {}, at(150));
        QTest::mouseMove(panel.view(), at(200));
        QTest::mouseMove(panel.view(), at(330));
        QTest::mouseRelease(panel.view(), Qt::LeftButton, {}, at(330));
        QTRY_VERIFY(panel.statistics()->isVisible());
        const ReportTable& table = panel.statistics()->model()->table();
        QCOMPARE(table.rows.size(), 2U);
        QCOMPARE(std::get<std::string>(table.rows[0][0].value), std::string("pool"));
        QCOMPARE(std::get<double>(table.rows[0][1].value), 1.0);
        QVERIFY(std::abs(std::get<double>(table.rows[0][2].value) - 40e-6) < 1e-9);
        QVERIFY(std::abs(std::get<double>(table.rows[1][2].value) - 30e-6) < 2e-6); // a pixel is 0.8 µs
        QVERIFY(std::abs(std::get<double>(table.rows[1][5].value) - 60e-6) < 1e-9);
        QTest::keyClick(panel.view(), Qt::Key_Escape);
        QVERIFY(!panel.statistics()->isVisible());
    }
};

QTEST_MAIN(ProfileTablesTest)
#include "test_profile_tables.moc"
