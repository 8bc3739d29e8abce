#include <QAction>
#include <QDialog>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QtTest>

#include "app/gui/compare_controller.h"
#include "app/gui/find_anything.h"
#include "app/gui/main_window.h"
#include "app/gui/recent_files.h"
#include "app/gui/weights_controller.h"
#include "tensor/element.h"
#include "tensor/npz.h"
#include "views/common/error_bar.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/profile/timeline_panel.h"
#include "views/table/table_page.h"
#include "views/table/var_table_model.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"

using namespace megascope;

namespace {

/// Stands for a worker that died at an operator the first time, and works the second time.
class DyingRunner : public Runner {
public:
    Expected<RunReport> run(const RunRequest&, const RunProgressCallback&, const CancelToken&) override {
        if (++runs == 1) return fail_in(ErrorCode::worker_died, "The run process ended by signal 9.", "maxpool.Pooling");
        RunReport report;
        report.testcases.resize(1);
        return report;
    }
    int runs = 0;
};

} // namespace

class MainWindowTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
    }
    void init() { QSettings().clear(); }

    void opensAModelAndFillsEveryView() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        QVERIFY(window.windowTitle().startsWith("resnet18_w4.test.mge"));
        QVERIFY(window.tablePage("operators")->model()->rowCount() > 50);
        QVERIFY(window.graphView()->picture());
        QVERIFY(!window.errorBar()->isVisible());
        QVERIFY(window.selection()->current().empty());
        QCOMPARE(RecentFiles().paths().size(), 1);
    }

    void aBrokenFileSaysWhatItIs_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("empty") << QByteArray() << "empty";
        QTest::newRow("LFS pointer") << QByteArray("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n") << "LFS";
        QTest::newRow("text") << QByteArray("hello, this is not a model at all\n") << "text";
        QTest::newRow("noise") << QByteArray(400, '\x9d') << "";
    }
    void aBrokenFileSaysWhatItIs() {
        QFETCH(QByteArray, content);
        QFETCH(QString, sentence);
        QTemporaryDir dir;
        QFile file(dir.filePath("broken.mge"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
        file.close();
        MainWindow window(make_local_runner());
        window.show();
        window.open(file.fileName());
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY2(window.errorBar()->sentence().contains("broken.mge"), qPrintable(window.errorBar()->sentence()));
        QVERIFY2(window.errorBar()->sentence().contains(sentence, Qt::CaseInsensitive), qPrintable(window.errorBar()->sentence()));
        QVERIFY(!window.documents()->model());
    }

    void aTruncatedModelLeavesTheOpenOneInPlace() {
        QFile whole(sample_);
        QVERIFY(whole.open(QIODevice::ReadOnly));
        QTemporaryDir dir;
        QFile cut(dir.filePath("cut.mge"));
        QVERIFY(cut.open(QIODevice::WriteOnly));
        cut.write(whole.read(whole.size() / 2));
        cut.close();
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        window.open(cut.fileName());
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY(window.documents()->model()->path == sample_);
    }

    void aMissingFileIsNamed() {
        MainWindow window(make_local_runner());
        window.show();
        window.open("/nowhere/x.mge");
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY(window.errorBar()->sentence().contains("x.mge"));
    }

    void runningTheTestcasePasses() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        window.runSelected();
        QTRY_COMPARE_WITH_TIMEOUT(window.tablePage("results")->model()->rowCount(), 1, 60000);
        const TableModel* results = window.tablePage("results")->model();
        QCOMPARE(results->index(0, results->columnOf("verdict")).data().toString(), QString("passed"));
        const TableModel* oprs = window.tablePage("operators")->model();
        const int row = oprs->rowOf(Pick::of(firstOfType(*window.documents()->model()->facts->graph, "Convolution")));
        QVERIFY(!oprs->index(row, oprs->columnOf("time")).data().toString().isEmpty());
    }

    void profilingShowsTheTimelineAndFollowsTheSelection() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        QTest::keyClick(&window, Qt::Key_F6);
        auto* timeline = window.timelinePanel()->view();
        QTRY_VERIFY_WITH_TIMEOUT(timeline->scene(), 60000);
        QTRY_VERIFY(window.settled());
        // Clicking a slice selects its operator: every slice of a run belongs to the open graph.
        const TimelineRow& row = timeline->scene()->timeline->rows.front();
        QVERIFY(row.size() > 10);
        emit timeline->sliceClicked(0, row.source[5]);
        QVERIFY(window.selection()->current().opr.valid());
    }

    void computingAValueShowsIt() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        window.selection()->select(Pick::of(firstOfType(*window.documents()->model()->facts->graph, "Pooling")));
        auto* compute = window.findChild<QPushButton*>("compute");
        QTRY_VERIFY(compute->isVisible());
        QTest::mouseClick(compute, Qt::LeftButton);
        auto* value = window.findChild<Inspector*>()->findChild<TensorView*>();
        QTRY_VERIFY_WITH_TIMEOUT(value->tensor().has_value(), 60000);
        QVERIFY((value->tensor().shape() == Shape{1, 4, 16, 16}));
    }

    void aDeadWorkerIsNamedAndCanRunAgain() {
        auto runner = std::make_unique<DyingRunner>();
        DyingRunner* dying = runner.get();
        MainWindow window(std::move(runner));
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        window.runSelected();
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY(window.errorBar()->sentence().contains("maxpool.Pooling"));
        QVERIFY(window.errorBar()->sentence().contains("signal 9"));
        auto* again = window.errorBar()->findChild<QPushButton*>("action");
        QVERIFY(again->isVisible());
        // The operator that was running is selected.
        const Graph& graph = *window.documents()->model()->facts->graph;
        QCOMPARE(graph.type_text(window.selection()->current().opr), std::string("Pooling"));
        QTest::mouseClick(again, Qt::LeftButton);
        QTRY_COMPARE(dying->runs, 2);
        QTRY_VERIFY(window.settled());
        QVERIFY(!window.errorBar()->isVisible());
    }

    void tableAndGraphShareTheSelection() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        const Graph& graph = *window.documents()->model()->facts->graph;
        const OprId pool = firstOfType(graph, "Pooling");
        TablePage* page = window.tablePage("operators");
        page->view()->selectRow(page->model()->rowOf(Pick::of(pool)));
        QCOMPARE(window.graphView()->selectedOpr(), pool);
        const OprId conv = firstOfType(graph, "Convolution");
        emit window.graphView()->oprSelected(conv);
        QCOMPARE(page->view()->currentIndex().data(TableModel::PickRole).value<Pick>().opr, conv);
        QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
        QVERIFY(window.selection()->current() == Pick::of(pool));
    }

    void findAnythingFindsOperatorsAndCommands() {
        MainWindow window(make_local_runner());
        window.resize(1000, 700);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        QTest::keyClick(&window, Qt::Key_K, Qt::ControlModifier);
        auto* edit = window.findChild<QLineEdit*>("findEdit");
        QTRY_VERIFY(edit->isVisible());
        QTest::keyClicks(edit, "maxpool");
        QTest::keyClick(edit, Qt::Key_Return);
        const Graph& graph = *window.documents()->model()->facts->graph;
        QCOMPARE(graph.type_text(window.selection()->current().opr), std::string("Pooling"));
        QVERIFY(!edit->isVisible());
        auto* find = window.findChild<FindAnything*>("findAnything");
        const auto hits = find->search("profile");
        QVERIFY(!hits.empty());
        QVERIFY(hits.front().kind == FindAnything::Hit::Kind::command);
    }

    void droppedFilesOpen() {
        MainWindow window(make_local_runner());
        window.show();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(sample_)});
        // Qt delivers a drop only to the widget that a drag entered before.
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(window.documents()->model());
    }

    void severalDroppedModelsAreCompared() {
        MainWindow window(make_local_runner());
        window.show();
        window.openAll({sample_, QString::fromStdString(samplePath("mobilenetv2_tiny.test.mge"))});
        QTRY_VERIFY(window.documents()->model());
        QVERIFY(window.documents()->model()->path == sample_);
        QTRY_VERIFY_WITH_TIMEOUT(window.comparison()->active(), 30000);
    }

    // Own inputs are no testcase: neither their rows nor their values stand under a testcase's number.
    void ownInputsAreToldFromTestcases() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        auto* panel = window.findChild<TestcasePanel*>();
        const auto choose = [&](int row) { panel->list()->selectionModel()->setCurrentIndex(panel->model()->index(row), QItemSelectionModel::ClearAndSelect); };
        const VarId output = window.documents()->model()->facts->graph->opr(firstOfType(*window.documents()->model()->facts->graph, "Pooling")).outputs.front();
        auto* value = window.findChild<Inspector*>()->findChild<TensorView*>();
        choose(panel->model()->ownRow());
        QVERIFY(panel->ownInputs());
        auto* line = panel->findChild<QLineEdit*>("input-data");
        QLabel* label = nullptr;
        for (QLabel* any : panel->findChildren<QLabel*>())
            if (any->buddy() == line) label = any;
        QVERIFY(line && label);
        QTRY_VERIFY(label->isVisible() && label->width() > label->fontMetrics().horizontalAdvance("data"));
        QVERIFY2(label->text().startsWith("data ") && label->text().contains("float32"), qPrintable(label->text()));
        QVERIFY(line->mapTo(panel, QPoint(line->width(), 0)).x() <= panel->width()); // not cut off by the panel
        window.selection()->select(Pick::of(output));
        auto* compute = window.findChild<QPushButton*>("compute");
        QTRY_VERIFY(compute->isVisible());
        QTest::mouseClick(compute, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(value->tensor().has_value(), 60000);
        window.runSelected();
        TableModel* results = window.tablePage("results")->model();
        QTRY_COMPARE_WITH_TIMEOUT(results->rowCount(), 1, 60000);
        QCOMPARE(results->index(0, results->columnOf("testcase")).data().toString(), QString("own inputs"));
        QCOMPARE(results->index(0, results->columnOf("type")).data().toString(), QString("float32 1×10"));
        QTRY_VERIFY(!results->index(0, results->columnOf("mean")).data().toString().isEmpty());
        QTRY_VERIFY(window.settled());
        choose(0); // the testcase was not run
        QVERIFY(!value->tensor().has_value());
        QVERIFY(compute->isVisible());
        choose(panel->model()->ownRow());
        QVERIFY(value->tensor().has_value());
        panel->editor()->setSource("data", "#zeros"); // other inputs: what was computed is not theirs
        QVERIFY(!value->tensor().has_value());
    }

    void weightsAreCountedWhenLookedAtAndSaved() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        auto* weights = qobject_cast<WeightTableModel*>(window.tablePage("weights")->model());
        QVERIFY(!weights->hasStatistics()); // nothing is read that nobody looks at
        window.showTable("weights");
        QTRY_VERIFY(weights->hasStatistics());
        const int row = 0;
        const std::vector<double> values = to_real(weights->tensor(weights->sourceRow(row)).value()->aligned().ref());
        QCOMPARE(weights->index(row, WeightTableModel::Min).data(TableModel::ExactRole).toDouble(), std::ranges::min(values));
        QCOMPARE(weights->index(row, WeightTableModel::Max).data(TableModel::ExactRole).toDouble(), std::ranges::max(values));
        QCOMPARE(weights->index(row, WeightTableModel::NotFinite).data().toString(), QString("0"));
        QTemporaryDir dir;
        QSignalSpy written(window.weightTools(), &WeightsController::written);
        window.weightTools()->save({weights->sourceRow(row), weights->sourceRow(1)}, dir.filePath("two.npz"));
        QTRY_COMPARE(written.size(), 1);
        const auto entries = read_npz(dir.filePath("two.npz").toStdString());
        QVERIFY2(entries.has_value(), entries ? "" : entries.error().text().c_str());
        QCOMPARE(entries->size(), std::size_t(2));
        QCOMPARE(QString::fromStdString(entries->front().name), weights->nameOf(weights->sourceRow(row)));
        QCOMPARE(to_real(entries->front().array.tensor.ref()), values);
    }

    // A long name must not push fields out of the panel, and a small screen must hold the window.
    void theWindowFitsASmallScreen() {
        MainWindow window(make_local_runner());
        window.resize(900, 600);
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        QVERIFY2(window.width() <= 900, qPrintable(QString::number(window.width())));
        QVERIFY2(window.height() <= 600, qPrintable(QString::number(window.height())));
    }

    void findAnythingKnowsSubmenusAndGivesTheFocusBack() {
        MainWindow window(make_local_runner());
        window.resize(1000, 700);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        window.tablePage("operators")->view()->setFocus();
        QTest::keyClick(&window, Qt::Key_K, Qt::ControlModifier);
        auto* edit = window.findChild<QLineEdit*>("findEdit");
        QTRY_VERIFY(edit->hasFocus());
        const auto hits = window.findChild<FindAnything*>("findAnything")->search("theme dark");
        QVERIFY(!hits.empty());
        QVERIFY(hits.front().kind == FindAnything::Hit::Kind::command);
        QCOMPARE(hits.front().title, QString("Theme ▸ Dark"));
        for (const auto& hit : window.findChild<FindAnything*>("findAnything")->search("fit in view")) QVERIFY2(!hit.title.contains('\t'), qPrintable(hit.title));
        QTest::keyClick(edit, Qt::Key_Escape);
        QVERIFY(window.tablePage("operators")->view()->hasFocus());
    }

    void theKeyboardReachesEveryPart() {
        MainWindow window(make_local_runner());
        window.resize(1280, 800);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        QSet<QString> reached;
        for (int i = 0; i < 6; ++i) {
            QTest::keyClick(&window, Qt::Key_F6, Qt::ControlModifier);
            for (QWidget* w = QApplication::focusWidget(); w; w = w->parentWidget())
                if (qobject_cast<QDockWidget*>(w) || w == window.graphView()) reached << w->objectName();
        }
        for (const char* part : {"outlineDock", "testcaseDock", "tableDock"}) QVERIFY2(reached.contains(part), part);
        QVERIFY(reached.contains(window.graphView()->objectName()));
    }

    void helpOpensAtWhatHasTheFocus() {
        MainWindow window(make_local_runner());
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        window.findChild<TestcasePanel*>()->list()->setFocus();
        QTest::keyClick(&window, Qt::Key_F1);
        auto* help = window.findChild<QDialog*>("help");
        QVERIFY(help && help->isVisible());
        QCOMPARE(help->findChild<QListWidget*>("helpTopics")->currentItem()->text(), QString("Testcases"));
        QVERIFY(help->findChild<QTextBrowser*>("helpText")->toPlainText().contains("@list.txt"));
        QVERIFY(help->findChild<QListWidget*>("helpTopics")->count() > 10);
    }

    void closingReturnsToTheWelcome() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        window.documents()->close();
        QVERIFY(!window.documents()->model());
        QCOMPARE(window.tablePage("operators")->model()->rowCount(), 0);
        QCOMPARE(window.windowTitle(), QString("Megascope"));
        QVERIFY(window.findChild<QPushButton*>("sample")->isVisible());
    }

    void everyPerspectiveKeepsTheInspector() {
        MainWindow window(make_local_runner());
        window.show();
        for (const Perspective perspective : {Perspective::run, Perspective::profile, Perspective::inspect}) {
            window.setPerspective(perspective);
            QVERIFY(window.findChild<Inspector*>()->isVisibleTo(&window));
        }
    }

private:
    OwnSettings settings_;
    QString sample_;
};

QTEST_MAIN(MainWindowTest)
#include "test_main_window.moc"
