#include <QAction>
#include <QCheckBox>
#include <QContextMenuEvent>
#include <QDropEvent>
#include <QFile>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest>

#include "tensor/npy.h"
#include "tests/views/sample_model.h"
#include "trace/assertion_edit.h"
#include "views/testcase/run_controller.h"
#include "views/testcase/testcase_panel.h"

using namespace megascope;

namespace {

/// Stands for a run process that dies the first time.
class DyingRunner : public Runner {
public:
    Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) override {
        if (++runs == 1) return fail_in(ErrorCode::worker_died, "The run process ended by signal 11.", "maxpool");
        return local_->run(request, progress, cancel);
    }
    int runs = 0;

private:
    std::unique_ptr<Runner> local_ = make_local_runner();
};

/// The panel with all that belongs to it.
struct Editing {
    JobRunner jobs;
    TestcaseDocument document{&jobs, std::make_shared<SharedRunner>(make_local_runner())};
    TestcasePanel panel{&document};
    QStringList errors;

    explicit Editing(const SampleModel& sample) {
        QObject::connect(&document, &TestcaseDocument::failed, &panel, [this](const Error& error) { errors << QString::fromStdString(error.text()); });
        panel.resize(360, 600);
        panel.show();
        panel.setModel(sample.model, sample.facts->graph);
    }
    template <class T>
    [[nodiscard]] T* child(const char* name) const {
        return panel.findChild<T*>(QString::fromLatin1(name));
    }
    void type(const char* spec) const {
        auto* edit = child<QLineEdit>("testcaseSpec");
        edit->setFocus();
        QTest::keyClicks(edit, QString::fromLatin1(spec));
        QTest::keyClick(edit, Qt::Key_Return);
    }
};

} // namespace

class TestcaseEditingTest : public QObject {
    Q_OBJECT

    SampleModel sample_ = openSample("resnet18_w4.test.mge");
    QTemporaryDir temporary_;

private slots:
    void aTypedTestcaseIsAddedWithItsExpectedValues() {
        Editing e(sample_);
        QCOMPARE(e.document.testcases().size(), std::size_t(1));
        QVERIFY(!e.child<QLabel>("testcasesModified")->isVisible());
        e.type("#rand(0,1)");
        QTRY_COMPARE(e.document.testcases().size(), std::size_t(2));
        const EditedTestcase& made = e.document.testcases()[1];
        QVERIFY(QString::fromStdString(made.source).contains("seed 1"));
        QCOMPARE(made.expected.size(), std::size_t(1));
        QCOMPARE(e.panel.selectedTestcases(), std::vector<std::uint32_t>{1}); // the new one is looked at
        QTRY_VERIFY(e.child<QLabel>("testcasesModified")->isVisible());
        QVERIFY(e.document.modified());
        // Another call draws other numbers.
        e.type("#rand(0,1)");
        QTRY_COMPARE(e.document.testcases().size(), std::size_t(3));
        QVERIFY(!std::ranges::equal(e.document.testcases()[1].inputs[0].value.bytes(), e.document.testcases()[2].inputs[0].value.bytes()));
        QVERIFY(e.errors.isEmpty());
    }

    // The whole way by keyboard: the list's context menu, its submenu with the graph's inputs, the dialog that asks for the value.
    void anInputChangesThroughTheContextMenu() {
        Editing e(sample_);
        auto* list = e.child<QListView>("testcases");
        list->setFocus();
        list->setCurrentIndex(list->model()->index(0, 0));
        const auto bytes = [&] {
            const auto span = e.document.testcases()[0].inputs[0].value.bytes();
            return std::vector<std::byte>(span.begin(), span.end());
        };
        const auto before = bytes();
        QStringList names, asked;
        const auto open = [&](const QString& typed, Qt::Key end) {
            // The menu and the dialog run event loops of their own; a timer goes on inside them.
            QTimer driver;
            int step = 0;
            QObject::connect(&driver, &QTimer::timeout, &e.panel, [&] {
                auto* popup = qobject_cast<QMenu*>(QApplication::activePopupWidget());
                if (step == 0 && popup) {
                    QTest::keyClick(popup, Qt::Key_Down); // "Change input" comes first
                    QTest::keyClick(popup, Qt::Key_Right);
                    step = 1;
                } else if (step == 1 && popup && popup->title() == QLatin1String("Change &input")) {
                    names.clear();
                    for (const QAction* action : popup->actions()) names << action->text();
                    step = 2;
                    // The dialog runs within the key press, and a timer does not come again while its own call goes on.
                    QTimer::singleShot(0, popup, [popup] { QTest::keyClick(popup, Qt::Key_Return); });
                } else if (auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget()); step == 2 && dialog) {
                    asked << dialog->labelText();
                    step = 3;
                    dialog->setTextValue(typed);
                    QTest::keyClick(dialog, end);
                }
            });
            driver.start(20);
            QContextMenuEvent menu(QContextMenuEvent::Keyboard, list->visualRect(list->currentIndex()).center(), list->viewport()->mapToGlobal(QPoint(4, 4)));
            QApplication::sendEvent(list->viewport(), &menu);
            QCOMPARE(step, 3);
        };
        open(QStringLiteral("#rand(5,6)"), Qt::Key_Return);
        QCOMPARE(names, QStringList{QStringLiteral("data…")});
        QVERIFY(asked.front().contains("data"));
        QTRY_VERIFY(bytes() != before);
        const auto changed = bytes();
        const float first = *reinterpret_cast<const float*>(changed.data());
        QVERIFY(first >= 5 && first <= 6);
        QVERIFY(QString::fromStdString(e.document.testcases()[0].source).contains("rand(5,6)"));
        // Left with Escape, nothing changes; several testcases have no one input to change.
        open(QStringLiteral("#rand(7,8)"), Qt::Key_Escape);
        QTest::qWait(50);
        QVERIFY(bytes() == changed);
        e.document.duplicate(0);
        list->selectAll();
        bool enabled = true;
        QTimer::singleShot(20, &e.panel, [&] {
            auto* popup = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (!popup) return;
            enabled = popup->actions().front()->menu()->isEnabled();
            popup->close();
        });
        QContextMenuEvent menu(QContextMenuEvent::Keyboard, QPoint(4, 4), list->viewport()->mapToGlobal(QPoint(4, 4)));
        QApplication::sendEvent(list->viewport(), &menu);
        QVERIFY(!enabled);
        QVERIFY(e.errors.isEmpty());
    }

    void keysUndoAndRedo() {
        Editing e(sample_);
        e.document.duplicate(0);
        QCOMPARE(e.panel.model()->testcases(), 2);
        e.panel.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&e.panel));
        e.panel.list()->setFocus();
        QTest::keyClick(e.panel.list(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(e.panel.model()->testcases(), 1);
        QVERIFY(!e.document.modified());
        e.child<QAction>("redoTestcase")->trigger();
        QCOMPARE(e.panel.model()->testcases(), 2);
        QCOMPARE(e.panel.selectedTestcases(), std::vector<std::uint32_t>{1});
        QVERIFY(e.child<QAction>("removeTestcase")->isEnabled());
        QVERIFY(e.panel.list()->hasFocus());
        QTest::keyClick(e.panel.list(), Qt::Key_Delete);
        QCOMPARE(e.panel.model()->testcases(), 1);
        QVERIFY(e.child<QAction>("undoTestcase")->toolTip().contains("remove 1 testcase"));
    }

    void namesAreTypedInPlace() {
        Editing e(sample_);
        QVERIFY(e.panel.model()->setData(e.panel.model()->index(0), "night", Qt::EditRole));
        QCOMPARE(e.document.testcases()[0].name, std::string("night"));
        QCOMPARE(e.panel.model()->index(0).data().toString(), QString("#0 night"));
        QVERIFY(!e.panel.model()->setData(e.panel.model()->index(1), "own", Qt::EditRole));
    }

    void assertionsAreSet() {
        Editing e(sample_);
        auto* maxerr = e.child<QLineEdit>("maxerr");
        maxerr->setFocus();
        maxerr->selectAll();
        QTest::keyClicks(maxerr, "0.25");
        QTest::keyClick(maxerr, Qt::Key_Return);
        QCOMPARE(e.document.list().now().maxerr, 0.25);
        QTest::mouseClick(e.child<QCheckBox>("verbose"), Qt::LeftButton, {}, QPoint(8, e.child<QCheckBox>("verbose")->height() / 2));
        QVERIFY(!e.document.list().now().verbose);
        e.document.undo();
        e.document.undo();
        QVERIFY(e.child<QCheckBox>("verbose")->isChecked());
        QVERIFY(maxerr->text() != "0.25");
    }

    // A kernel that dies while it computes what a new testcase expects is a sentence, and the next try works.
    void aDeadRunProcessCostsNoEdits() {
        auto runner = std::make_unique<DyingRunner>();
        DyingRunner* dying = runner.get();
        JobRunner jobs;
        TestcaseDocument document(&jobs, std::make_shared<SharedRunner>(std::move(runner)));
        QStringList errors;
        connect(&document, &TestcaseDocument::failed, this, [&](const Error& error) { errors << QString::fromStdString(error.text()); });
        document.setModel(sample_.model);
        document.duplicate(0);
        document.addSpecs({"#rand(0,1)"});
        QTRY_COMPARE(errors.size(), 1);
        QVERIFY2(errors.front().contains("signal 11") && errors.front().contains("maxpool"), qPrintable(errors.front()));
        QCOMPARE(document.testcases().size(), std::size_t(2));
        document.addSpecs({"#rand(0,1)"});
        QTRY_COMPARE(document.testcases().size(), std::size_t(3));
        QCOMPARE(document.testcases().back().expected.size(), std::size_t(1));
        QCOMPARE(dying->runs, 2);
        document.setModel(nullptr);
    }

    void droppedFilesBecomeTestcases() {
        Editing e(sample_);
        const QString path = temporary_.filePath("picture.npy");
        QVERIFY(write_npy(path.toStdString(), e.document.testcases()[0].inputs[0].value));
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enter(QPoint(20, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&e.panel, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(20, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&e.panel, &drop);
        QTRY_COMPARE(e.document.testcases().size(), std::size_t(2));
        QVERIFY(std::ranges::equal(e.document.testcases()[1].inputs[0].value.bytes(), e.document.testcases()[0].inputs[0].value.bytes()));
        // A model that is dropped is for the window to open.
        data.setUrls({QUrl::fromLocalFile(temporary_.filePath("x.mge"))});
        QDragEnterEvent other(QPoint(20, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(&e.panel, &other);
        QVERIFY(!other.isAccepted());
    }

    void badTestcasesSayWhy() {
        Editing e(sample_);
        e.type("nowhere.npy");
        QTRY_COMPARE(e.errors.size(), 1);
        QVERIFY2(e.errors.front().contains("nowhere.npy"), qPrintable(e.errors.front()));
        QCOMPARE(e.document.testcases().size(), std::size_t(1));
        e.document.save(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        QTRY_COMPARE(e.errors.size(), 2);
        QVERIFY2(e.errors.back().contains("another file than the open one"), qPrintable(e.errors.back()));
    }

    void savedTestcasesAreReadAgain() {
        Editing e(sample_);
        e.type("#rand(0,1)");
        QTRY_COMPARE(e.document.testcases().size(), std::size_t(2));
        e.document.setInput(0, QString::fromStdString(e.document.testcases()[0].inputs[0].name), "#rand(-1,0)");
        QTRY_VERIFY(e.document.testcases()[0].source.find("#rand(-1,0)") != std::string::npos);
        QCOMPARE(e.document.testcases()[0].expected.size(), std::size_t(1));
        QSignalSpy saved(&e.document, &TestcaseDocument::saved);
        const QString path = temporary_.filePath("saved.mge");
        e.document.save(path);
        QTRY_COMPARE(saved.size(), 1);
        QVERIFY(!e.document.modified());
        const auto file = MappedFile::open(path.toStdString());
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        QCOMPARE((*model)->testcases.size(), std::size_t(2));
        QVERIFY((*model)->warnings.empty());
    }

    void editedTestcasesRunAndAreJudged() {
        Editing e(sample_);
        e.type("#rand(0,1)");
        QTRY_COMPARE(e.document.testcases().size(), std::size_t(2));
        RunController runs(&e.jobs, make_local_runner());
        RunRequest request;
        request.model = samplePath("resnet18_w4.test.mge");
        const TestcaseEdits& edits = e.document.list().now();
        const auto given = [&](const EditedTestcase& testcase, std::uint32_t number, double maxerr) {
            RunController::Given one{number, {}, {}, maxerr};
            for (const auto* values : {&testcase.inputs, &testcase.expected})
                for (const TestcaseInput& value : *values) one.inputs.push_back({value.name, value.value});
            return one;
        };
        std::shared_ptr<const RunReport> report;
        connect(&runs, &RunController::finished, this, [&](const std::shared_ptr<const RunReport>& r) { report = r; });
        runs.startGiven(request, {given(edits.testcases[0], 0, 1e-3), given(edits.testcases[1], 1, 0)}, sample_.facts->graph);
        QTRY_VERIFY_WITH_TIMEOUT(report, 30000);
        QCOMPARE(report->testcases.size(), std::size_t(2));
        QCOMPARE(report->testcases[1].testcase, 1U);
        QCOMPARE(report->testcases[0].verdicts.size(), std::size_t(1));
        QVERIFY(report->testcases[0].passed());
        QCOMPARE(report->testcases[1].verdicts.front().tolerance, 0.0); // the list's own, not the graph's
    }

    void withoutAssertionsInTheGraphOutputsAreComparedOutside() {
        JobRunner jobs;
        RunController runs(&jobs, make_local_runner());
        const std::string path = MEGASCOPE_TEST_DATA "/format/smallcnn.v2_allnames.mge";
        const auto file = MappedFile::open(path);
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        RunController::Given given;
        given.number = 3;
        TensorBuffer input(DTypeId::float32, Shape{2, 3, 32, 32});
        std::ranges::fill(input.bytes(), std::byte{0});
        given.inputs = {{"data", std::move(input).freeze()}};
        TensorBuffer wrong(DTypeId::float32, Shape{2, 10});
        std::ranges::fill(wrong.bytes(), std::byte{0});
        const Graph& graph = *(*model)->main().graph;
        const std::string output = graph.display_name(graph.outputs().front().var);
        given.expected = {{output + ":expect", std::move(wrong).freeze()}};
        std::shared_ptr<const RunReport> report;
        connect(&runs, &RunController::finished, this, [&](const std::shared_ptr<const RunReport>& r) { report = r; });
        RunRequest request;
        request.model = path;
        runs.startGiven(request, {given}, (*model)->main().graph);
        QTRY_VERIFY_WITH_TIMEOUT(report, 30000);
        QCOMPARE(report->testcases.front().verdicts.size(), std::size_t(1));
        QVERIFY(!report->testcases.front().passed()); // the outputs are not zero
        QCOMPARE(report->testcases.front().verdicts.front().name, output);
    }
};

QTEST_MAIN(TestcaseEditingTest)
#include "test_testcase_editing.moc"
