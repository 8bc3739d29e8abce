#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QtTest>

#include <cmath>
#include <limits>

#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/common/job_runner.h"
#include "views/inspector/inspector.h"
#include "views/table/opr_table_model.h"
#include "views/table/table_page.h"
#include "views/tensor/tensor_grid_model.h"
#include "views/tensor/tensor_image.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/run_controller.h"
#include "views/testcase/testcase_panel.h"

using namespace megascope;

namespace {

Tensor counting(const Shape& shape) {
    std::vector<float> values(shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return Tensor::copy_of<float>(DTypeId::float32, shape, values);
}

/// A runner that gives what it is told, or waits to be cancelled.
class FakeRunner : public Runner {
public:
    Expected<RunReport> answer = RunReport{};
    bool waits = false;
    std::atomic<int> runs{0};

    Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) override {
        ++runs;
        progress({0, 0, 1, 4, OprId(0u)});
        while (waits) {
            if (cancel.cancelled()) return CancelToken::error();
            QThread::msleep(1);
        }
        if (!answer) return forward(answer.error());
        RunReport report = *answer;
        report.backend = request.backend;
        return report;
    }
};

} // namespace

class WidgetsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        qRegisterMetaType<Pick>();
        sample_ = openSample();
    }

    void clickingARowSelectsTheOperator() {
        Selection selection;
        OprTableModel model;
        TablePage page("operators", &model, &selection, nullptr);
        model.setFacts(sample_.facts);
        page.resize(900, 300);
        page.show();
        QVERIFY(QTest::qWaitForWindowExposed(&page));
        QVERIFY(selection.current().empty()); // showing and focusing choose nothing
        const QRect row = page.view()->visualRect(model.index(2, OprTableModel::Name));
        QTest::mouseClick(page.view()->viewport(), Qt::LeftButton, {}, row.center());
        QVERIFY(selection.current() == model.index(2, 0).data(TableModel::PickRole).value<Pick>());
        QTest::keyClick(page.view(), Qt::Key_Down);
        QVERIFY(selection.current() == model.index(3, 0).data(TableModel::PickRole).value<Pick>());
    }

    void aSelectionMadeElsewhereIsShown() {
        Selection selection;
        OprTableModel model;
        TablePage page("operators", &model, &selection, nullptr);
        model.setFacts(sample_.facts);
        const OprId conv = firstOfType(*sample_.facts->graph, "Convolution");
        selection.select(Pick::of(conv));
        QCOMPARE(page.view()->currentIndex().data(TableModel::PickRole).value<Pick>().opr, conv);
        selection.clear();
        QVERIFY(!page.view()->selectionModel()->hasSelection());
    }

    void typingFiltersTheTable() {
        Selection selection;
        OprTableModel model;
        TablePage page("operators", &model, &selection, nullptr);
        model.setFacts(sample_.facts);
        const int all = model.rowCount();
        QTest::keyClicks(page.filterEdit(), "type:pooling");
        QTRY_VERIFY(model.rowCount() < all);
        QVERIFY(model.rowCount() >= 1);
        QTest::keyClick(page.filterEdit(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(page.filterEdit(), Qt::Key_Delete);
        QTRY_COMPARE(model.rowCount(), all);
    }

    void clickingAHeaderSorts() {
        Selection selection;
        OprTableModel model;
        TablePage page("operators", &model, &selection, nullptr);
        model.setFacts(sample_.facts);
        page.resize(1400, 300);
        page.show();
        QVERIFY(QTest::qWaitForWindowExposed(&page));
        QHeaderView* header = page.view()->horizontalHeader();
        const QPoint at(header->sectionViewportPosition(OprTableModel::Type) + 10, header->height() / 2);
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, at);
        const QString first = model.index(0, OprTableModel::Type).data().toString();
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, at);
        const QString last = model.index(0, OprTableModel::Type).data().toString();
        QVERIFY(first != last);
    }

    void rowsCopyAsTextAndCsv() {
        Selection selection;
        OprTableModel model;
        TablePage page("operators", &model, &selection, nullptr);
        model.setFacts(sample_.facts);
        page.view()->selectRow(model.rowOf(Pick::of(firstOfType(*sample_.facts->graph, "Pooling"))));
        const QStringList text = page.copyText(false).split('\n', Qt::SkipEmptyParts);
        QCOMPARE(text.size(), 2); // header and row
        QVERIFY(text[0].contains("Type\tName"));
        QVERIFY(text[1].contains("\tfloat32\t"));
        const QString csv = page.copyText(true);
        QVERIFY(csv.startsWith("#,Type,Name"));
        // "1×4×16×16" of the output with its name, quoted because it is several words with commas or not: never split by a comma.
        QCOMPARE(csv.split('\n')[0].count(','), text[0].count('\t'));
        QTest::keyClick(page.view(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), page.copyText(false));
    }

    void errorBarSaysOneSentenceAndCopiesIt() {
        QWidget parent;
        ErrorBar bar(&parent);
        parent.show();
        QVERIFY(!bar.isVisible());
        bar.showError({ErrorCode::corrupt, "The table is longer than the file.", 4096, "x.mge"});
        QVERIFY(bar.isVisible());
        QCOMPARE(bar.findChild<QLabel*>("sentence")->text(), QString("x.mge: The table is longer than the file."));
        QTest::mouseClick(bar.findChild<QPushButton*>("copy"), Qt::LeftButton);
        QVERIFY(QGuiApplication::clipboard()->text().contains("The table is longer than the file."));
        QVERIFY(!bar.findChild<QPushButton*>("action")->isVisible());
        QSignalSpy action(&bar, &ErrorBar::actionRequested);
        bar.showMessage(ErrorBar::Severity::error, "The worker died.", {}, "Run again");
        QTest::mouseClick(bar.findChild<QPushButton*>("action"), Qt::LeftButton);
        QCOMPARE(action.size(), 1);
    }

    void gridShowsSlicesOfATensor() {
        TensorGridModel grid;
        const QAbstractItemModelTester tester(&grid, QAbstractItemModelTester::FailureReportingMode::QtTest);
        grid.setTensor(counting(Shape{2, 3, 4, 5}));
        QCOMPARE(grid.rowCount(), 4);
        QCOMPARE(grid.columnCount(), 5);
        QCOMPARE(grid.sliceAxes(), std::size_t(2));
        QCOMPARE(grid.index(1, 2).data().toString(), QString("7"));
        grid.setSlice({1, 2});
        // ((1·3 + 2)·4 + 1)·5 + 2
        QCOMPARE(grid.index(1, 2).data().toString(), QString("107"));
        QVERIFY(grid.index(1, 2).data(Qt::ToolTipRole).toString().startsWith("[1, 2, 1, 2]"));
        QCOMPARE(grid.sliceOfElement(107)[0], 1);
        QCOMPARE(grid.sliceOfElement(107)[1], 2);
        QCOMPARE(grid.indexOfElement(107), grid.index(1, 2));
    }

    void oneAxisIsWrapped() {
        TensorGridModel grid;
        const QAbstractItemModelTester tester(&grid, QAbstractItemModelTester::FailureReportingMode::QtTest);
        grid.setTensor(counting(Shape{23}));
        QCOMPARE(grid.columnCount(), TensorGridModel::wrapColumns);
        QCOMPARE(grid.rowCount(), 3);
        QCOMPARE(grid.index(2, 2).data().toString(), QString("22"));
        QVERIFY(!grid.index(2, 3).data().isValid());
        QCOMPARE(grid.headerData(2, Qt::Vertical, Qt::DisplayRole).toString(), QString("20"));
        grid.setTensor({});
        QCOMPARE(grid.rowCount(), 0);
    }

    void quantizedNumbersShowBothWays() {
        const std::array<std::int8_t, 4> stored = {-3, 0, 5, 127};
        TensorGridModel grid;
        grid.setTensor(Tensor::copy_of<std::int8_t>(DType(DTypeId::qint8, 0.5F), Shape{2, 2}, stored));
        QCOMPARE(grid.index(0, 0).data().toString(), QString("-1.5"));
        grid.setStored(true);
        QCOMPARE(grid.index(0, 0).data().toString(), QString("-3"));
        QCOMPARE(grid.index(1, 1).data().toString(), QString("127"));
    }

    void picturesArePlannedByShape() {
        QCOMPARE(planImage(Shape{1, 3, 64, 64})->kind, ImagePlan::Kind::colour);
        QCOMPARE(planImage(Shape{64, 64, 3})->kind, ImagePlan::Kind::colour);
        QVERIFY(planImage(Shape{64, 64, 3})->channelsLast);
        QCOMPARE(planImage(Shape{1, 1, 28, 28})->kind, ImagePlan::Kind::grey);
        QCOMPARE(planImage(Shape{1, 64, 7, 7})->kind, ImagePlan::Kind::map);
        QVERIFY(!planImage(Shape{100}));
        QVERIFY(!planImage(Shape{1, 2}));
    }

    void colourPicturesAreBgr() {
        // One blue, one red pixel of a 3×1×4 picture, repeated.
        const std::array<std::uint8_t, 24> bgr = {255, 0, 255, 0, 255, 0, 255, 0, /**/ 0, 0, 0, 0, 0, 0, 0, 0, /**/ 0, 255, 0, 255, 0, 255, 0, 255};
        const Tensor tensor = Tensor::copy_of<std::uint8_t>(DTypeId::uint8, Shape{3, 2, 4}, bgr);
        const auto image = renderImage(tensor, *planImage(tensor.shape()), {}, {});
        QVERIFY(image);
        QCOMPARE(QColor(image->image.pixel(0, 0)), QColor(0, 0, 255));
        QCOMPARE(QColor(image->image.pixel(1, 0)), QColor(255, 0, 0));
    }

    void valueViewerCountsStatistics() {
        JobRunner jobs;
        TensorView view(&jobs);
        const std::array<float, 6> values = {1, 2, 3, 0, std::numeric_limits<float>::quiet_NaN(), -6};
        view.setTensor(Tensor::copy_of<float>(DTypeId::float32, Shape{2, 3}, values), "x");
        QTRY_VERIFY(view.statisticsText().contains("min -6"));
        QVERIFY(view.statisticsText().contains("max 3"));
        QVERIFY(view.statisticsText().contains("mean 0"));
        QVERIFY(view.statisticsText().contains("1 NaN"));
        QVERIFY(view.statisticsText().contains("16.7 % zeros"));
        view.clear();
        QCOMPARE(view.statisticsText(), QString());
    }

    void valueViewerFollowsItsSliceBoxes() {
        JobRunner jobs;
        TensorView view(&jobs);
        view.resize(500, 400);
        view.setTensor(counting(Shape{4, 3, 5}), "x");
        auto boxes = view.findChildren<QSpinBox*>();
        QCOMPARE(boxes.size(), 1);
        QCOMPARE(boxes[0]->maximum(), 3);
        view.show();
        QTest::keyClick(boxes[0], Qt::Key_Up);
        QCOMPARE(view.model()->index(0, 0).data().toString(), QString("15"));
        view.showElement(47);
        QCOMPARE(view.model()->slice()[0], 3);
    }

    void inspectorAsksForTheValueOfWhatIsSelected() {
        JobRunner jobs;
        Selection selection;
        Inspector inspector(&selection, &jobs);
        inspector.setFacts(sample_.facts);
        inspector.resize(320, 600);
        inspector.show();
        QSignalSpy wanted(&inspector, &Inspector::valueWanted);
        QSignalSpy compute(&inspector, &Inspector::computeRequested);
        const OprId pool = firstOfType(*sample_.facts->graph, "Pooling");
        selection.select(Pick::of(pool));
        QCOMPARE(inspector.title(), QString("Pooling"));
        QCOMPARE(wanted.size(), 1);
        auto* button = inspector.findChild<QPushButton*>("compute");
        QVERIFY(button->isVisible());
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(compute.size(), 1);
        inspector.setValue(sample_.facts->graph->opr(pool).outputs.front(), counting(Shape{1, 4, 16, 16}), "test");
        QVERIFY(!button->isVisible());
        selection.clear();
        QCOMPARE(inspector.title(), QString());
    }

    void runsReportProgressAndFinish() {
        JobRunner jobs;
        auto runner = std::make_unique<FakeRunner>();
        RunController runs(&jobs, std::move(runner));
        QSignalSpy started(&runs, &RunController::started);
        std::shared_ptr<const RunReport> report;
        connect(&runs, &RunController::finished, this, [&](const std::shared_ptr<const RunReport>& r) { report = r; });
        RunRequest request;
        request.backend = "reference";
        runs.start(request, sample_.facts->graph);
        QCOMPARE(started.size(), 1);
        QVERIFY(runs.running());
        QTRY_VERIFY(report);
        QCOMPARE(report->backend, std::string("reference"));
        QVERIFY(!runs.running());
    }

    void stoppingARunAnswersCancelled() {
        JobRunner jobs;
        auto runner = std::make_unique<FakeRunner>();
        runner->waits = true;
        RunController runs(&jobs, std::move(runner));
        std::optional<ErrorCode> code;
        connect(&runs, &RunController::failed, this, [&](const Error& error) { code = error.code; });
        runs.start({}, sample_.facts->graph);
        QTest::qWait(20);
        runs.stop();
        QCOMPARE(code, std::optional(ErrorCode::cancelled));
        QVERIFY(!runs.running());
    }

    void aNewerRunSupersedesTheOlder() {
        JobRunner jobs;
        auto owned = std::make_unique<FakeRunner>();
        FakeRunner* runner = owned.get();
        RunController runs(&jobs, std::move(owned));
        int finished = 0;
        int failed = 0;
        connect(&runs, &RunController::finished, this, [&] { ++finished; });
        connect(&runs, &RunController::failed, this, [&] { ++failed; });
        runs.start({}, sample_.facts->graph);
        runs.start({}, sample_.facts->graph);
        QTRY_COMPARE(finished, 1);
        QTest::qWait(30);
        QCOMPARE(finished, 1);
        QCOMPARE(failed, 0);
        QVERIFY(runner->runs.load() >= 1);
    }

    // Three iterations of two steps: the one of median length counts, as in a saved profile; not the mean, which one slow iteration
    // would drag along.
    void timesAreThoseOfTheMedianIteration() {
        RunReport report;
        report.backend = "cpu";
        report.threads = 2;
        TestcaseRun run;
        run.steps = {{{OprId(0u), 0, 0.000, 0.001, 0.004}, {OprId(1u), 1, 0.004, 0.004, 0.005}},
                     {{OprId(0u), 0, 0.000, 0.000, 0.005}, {OprId(1u), 1, 0.005, 0.005, 0.007}},
                     {{OprId(0u), 0, 0.000, 0.000, 0.090}, {OprId(1u), 1, 0.090, 0.090, 0.100}}};
        run.seconds = {0.005, 0.007, 0.100};
        report.testcases = {run};
        const auto times = timesOfRun(report, 3);
        QVERIFY(std::abs(times->of(OprId(0u)) - 0.005) < 1e-12);
        QVERIFY(std::abs(times->of(OprId(1u)) - 0.002) < 1e-12);
        QVERIFY(std::isnan(times->of(OprId(2u))));
        QVERIFY(std::abs(times->total - 0.007) < 1e-12);
        // Of two testcases the mean: 5 and 1 ms, 2 and 4 ms. A testcase that failed has no times.
        TestcaseRun second;
        second.steps = {{{OprId(0u), 0, 0.000, 0.000, 0.001}, {OprId(1u), 1, 0.001, 0.001, 0.005}}};
        second.seconds = {0.005};
        TestcaseRun failed;
        failed.error = Error{ErrorCode::run_failed, "It failed."};
        report.testcases = {run, second, failed};
        const auto both = timesOfRun(report, 3);
        QVERIFY(std::abs(both->of(OprId(0u)) - 0.003) < 1e-12);
        QVERIFY(std::abs(both->of(OprId(1u)) - 0.003) < 1e-12);
        report.testcases = {run};
        QCOMPARE(times->source, std::string("run on cpu, 2 threads"));
        QVERIFY(!timesOfRun(RunReport{}, 3));
    }

    void typedInputsBecomeTensors() {
        GraphInput input;
        input.name = "data";
        input.dtype = DTypeId::float32;
        input.shape = Shape{1, 3, 8, 8};
        const auto random = makeInputs({{input, "#rand(2,3)"}}, {});
        QVERIFY(random);
        QCOMPARE((*random)[0].name, std::string("data"));
        QVERIFY(((*random)[0].value.shape() == Shape{1, 3, 8, 8}));
        for (const float v : (*random)[0].value.ref().as<float>()) QVERIFY(v >= 2 && v <= 3);
        const auto zeros = makeInputs({{input, "#zeros"}}, {});
        QVERIFY(zeros);
        QCOMPARE((*zeros)[0].value.ref().as<float>()[5], 0.0F);
        const auto missing = makeInputs({{input, ""}}, {});
        QVERIFY(!missing);
        QCOMPARE(missing.error().where, std::string("data"));
        const auto file = makeInputs({{input, "/nowhere/x.npy"}}, {});
        QVERIFY(!file);
        input.shape.reset();
        QVERIFY(!makeInputs({{input, "#zeros"}}, {}));
    }

    void panelRunsWhatIsSelected() {
        JobRunner jobs;
        TestcaseDocument document(&jobs, std::make_shared<SharedRunner>(make_local_runner()));
        TestcasePanel panel(&document);
        panel.resize(240, 400);
        panel.show();
        panel.setModel(sample_.model, sample_.facts->graph);
        QCOMPARE(panel.selectedTestcases(), std::vector<std::uint32_t>{0});
        QVERIFY(!panel.ownInputs());
        QVERIFY(!panel.editor()->isVisible());
        QSignalSpy run(&panel, &TestcasePanel::runRequested);
        auto* button = panel.findChild<QPushButton*>("run");
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(run.size(), 1);
        const QRect own = panel.list()->visualRect(panel.model()->index(panel.model()->ownRow()));
        QTest::mouseClick(panel.list()->viewport(), Qt::LeftButton, {}, own.center());
        QVERIFY(panel.ownInputs());
        QVERIFY(panel.editor()->isVisible());
        QCOMPARE(panel.editor()->sources().size(), std::size_t(1)); // the expectation is not asked for
        QSignalSpy stop(&panel, &TestcasePanel::stopRequested);
        panel.setRunning(true);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(stop.size(), 1);
    }

private:
    SampleModel sample_;
};

QTEST_MAIN(WidgetsTest)
#include "test_widgets.moc"
