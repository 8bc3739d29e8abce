#include <QAction>
#include <QLineEdit>
#include <QPushButton>
#include <QMimeData>
#include <QSettings>
#include <QTableView>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/main_window.h"
#include "app/gui/run_record_page.h"
#include "format/reader.h"
#include "tensor/npy.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/profile/report_table_view.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

using namespace megascope;

namespace {

QString dataFile(const char* name) { return QStringLiteral(MEGASCOPE_TEST_DATA "/format/") + QLatin1String(name); }

} // namespace

/// What load_and_run left in files, opened in the window. Expected numbers are MegEngine's own, as its text dump prints them.
class RunRecordTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
    }
    void init() {
        QSettings().clear();
        window_ = std::make_unique<MainWindow>(make_local_runner());
        window_->show();
        page_ = window_->findChild<RunRecordPage*>();
    }
    void cleanup() { window_.reset(); }

    void theTabIsThereOnlyForARecord() {
        QVERIFY(!tabShown());
        window_->open(dataFile("lar/io_dump.txt"));
        QTRY_VERIFY(page_->record());
        QVERIFY(tabShown());
        QVERIFY(page_->isVisible());
        QAction* close = nullptr;
        for (QAction* action : window_->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(QKeySequence::Close)) close = action;
        QVERIFY(close && close->isEnabled());
        close->trigger();
        QVERIFY(!tabShown());
        QVERIFY(!page_->record());
    }

    void aTextDumpShowsWhatItPrinted() {
        window_->open(dataFile("lar/io_dump.txt"));
        QTRY_VERIFY(page_->record());
        QVERIFY(!window_->errorBar()->isVisible());
        QCOMPARE(page_->table()->model()->rowCount(), 64);
        QVERIFY2(page_->caption().contains("64 values"), qPrintable(page_->caption()));
        QCOMPARE(cell(0, "name"), QString("data"));
        QCOMPARE(cell(0, "min"), QString("-2"));
        QCOMPARE(cell(0, "mean"), QString("-0.00652"));
        // A row that is clicked says what its operator read.
        page_->table()->filterEdit()->setFocus();
        QTest::keyClicks(page_->table()->filterEdit(), "fc.ADD");
        QVERIFY(page_->table()->model()->rowCount() < 64);
        click(0);
        QVERIFY2(page_->details().contains("[-0.6313, -1.15, -0.4473, -1.611, -4.518, ...]"), qPrintable(page_->details()));
        QVERIFY2(page_->details().contains("input 0: var1  [0.1565, 0.09704"), qPrintable(page_->details()));
    }

    void aBinaryDumpShowsTheValuesOfItsFolder() {
        window_->open(dataFile("lar/000012"));
        QTRY_VERIFY(page_->record());
        QCOMPARE(page_->table()->model()->rowCount(), 3); // the text dump and the memory info beside them are none
        // The opened one is selected; the text dump of the same run prints -0.79, 0.582, -0.0073 for it.
        const int row = page_->table()->table()->currentIndex().row();
        QVERIFY(cell(row, "name").startsWith("fuse():MUL"));
        QCOMPARE(cell(row, "dtype"), QString("float32"));
        QVERIFY(std::abs(cell(row, "min").toDouble() + 0.79) < 0.005);
        QVERIFY(std::abs(cell(row, "max").toDouble() - 0.582) < 0.0005);
        QVERIFY(std::abs(cell(row, "mean").toDouble() + 0.0073) < 0.00005);
        QVERIFY(page_->value()->isVisible());
        QVERIFY(page_->value()->tensor().shape() == Shape({16, 8, 3, 3}));
        for (int other = 0; other < 3; ++other)
            if (cell(other, "name") == "fc.ADD") click(other);
        QVERIFY(page_->value()->tensor().shape() == Shape({2, 10}));
    }

    void aFolderOfDumpsOpensByADrop() {
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(dataFile("lar"))});
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(window_.get(), &enter);
        QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(window_.get(), &drop);
        QTRY_VERIFY(page_->record());
        QCOMPARE(page_->table()->model()->rowCount(), 3);
    }

    void aFolderWithoutDumpsIsNamed() {
        const QTemporaryDir empty;
        window_->open(empty.path());
        QTRY_VERIFY(window_->errorBar()->isVisible());
        QVERIFY2(window_->errorBar()->sentence().contains("holds no binary IO dumps"), qPrintable(window_->errorBar()->sentence()));
    }

    void aRowSelectsTheVarOfTheOpenModel() {
        window_->open(dataFile("smallcnn.v1_allnames.mge"));
        QTRY_VERIFY(window_->documents()->model());
        QTRY_VERIFY(window_->settled());
        window_->open(dataFile("lar/run0-var50"));
        QTRY_VERIFY(page_->record());
        QVERIFY(window_->documents()->model()); // it stays
        for (int row = 0; row < 3; ++row)
            if (cell(row, "name") != "fc.ADD") click(row);
        window_->selection()->clear();
        for (int row = 0; row < 3; ++row)
            if (cell(row, "name") == "fc.ADD") click(row);
        const Pick pick = window_->selection()->current();
        QVERIFY(pick.var.valid());
        // The dump names this output out_0; its operator kept the name that the run knows.
        QCOMPARE(window_->documents()->model()->facts->graph->producer(pick.var).name, std::string("fc.ADD"));
    }

    // MegEngine's own values of a run, beside ours with the same input: none is off. With another input the first operator is named.
    void aRecordIsComparedWithARun_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("compared");
        QTest::newRow("text") << "lar/io_dump.txt" << 40;
        QTest::newRow("binary") << "lar/run0-var50" << 1;
    }
    void aRecordIsComparedWithARun() {
        QFETCH(QString, name);
        QFETCH(int, compared);
        const auto asserted = MappedFile::open(dataFile("smallcnn.test.mge").toStdString());
        QVERIFY(asserted);
        const auto model = read_model(*asserted);
        QVERIFY(model);
        QTemporaryDir dir;
        QCOMPARE((*model)->testcases[0].inputs[0].name, std::string("data"));
        QVERIFY(write_npy(dir.filePath("data.npy").toStdString(), (*model)->testcases[0].inputs[0].value));

        window_->open(dataFile("smallcnn.v1_allnames.mge"));
        QTRY_VERIFY(window_->documents()->model());
        window_->open(dataFile(qPrintable(name)));
        QTRY_VERIFY(page_->record());
        QTRY_VERIFY(window_->settled());
        auto* editor = window_->findChild<TestcasePanel*>()->editor();
        editor->setSource("data", dir.filePath("data.npy"));
        auto* button = page_->findChild<QPushButton*>("compareRecord");
        QVERIFY(button->isEnabled());
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(page_->comparison(), 30000);
        QVERIFY2(page_->comparison()->compared >= static_cast<std::size_t>(compared), qPrintable(page_->caption()));
        QVERIFY2(!page_->comparison()->first, qPrintable(page_->caption()));
        QVERIFY2(page_->caption().contains("none is off"), qPrintable(page_->caption()));

        editor->setSource("data", "#zeros");
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(page_->comparison()->first, 30000);
        QVERIFY(*page_->comparison()->errors[*page_->comparison()->first] > page_->comparison()->tolerance);
        // It is selected, and nothing that runs before it and was compared is off.
        const GraphFacts& facts = *window_->documents()->model()->facts;
        const Pick pick = window_->selection()->current();
        QVERIFY(pick.var.valid());
        const auto step = facts.steps[facts.graph->var(pick.var).producer.index()];
        QVERIFY(step);
        const auto vars = varsOfRecord(*page_->record(), *facts.graph);
        for (std::size_t row = 0; row < vars.size(); ++row) {
            const auto& error = page_->comparison()->errors[row];
            if (!error || *error <= page_->comparison()->tolerance) continue;
            QVERIFY(facts.steps[facts.graph->var(vars[row]).producer.index()].value_or(0) >= *step);
        }
    }

    void aFastRunCacheShowsItsAlgorithms() {
        window_->open(dataFile("packed/fastrun_cache.bin"));
        QTRY_VERIFY(page_->record());
        QCOMPARE(page_->table()->model()->rowCount(), 31);
        QVERIFY2(page_->caption().contains("7 operations"), qPrintable(page_->caption()));
        QTest::keyClicks(page_->table()->filterEdit(), "MaxW2S2SSE");
        QCOMPARE(page_->table()->model()->rowCount(), 1);
        QCOMPARE(cell(0, "layouts"), QString("2,16,16,16;Float32|2,16,8,8;Float32|"));
        QCOMPARE(cell(0, "reproducible"), QString("yes"));
        click(0);
        QVERIFY(page_->details().contains("PoolingForward"));
    }

    void cutFilesAreRefusedInASentence_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("size");
        QTest::newRow("binary dump") << "lar/000012" << 60;
        QTest::newRow("fast-run cache") << "packed/fastrun_cache.bin" << 200;
    }
    void cutFilesAreRefusedInASentence() {
        QFETCH(QString, name);
        QFETCH(int, size);
        QFile whole(dataFile(qPrintable(name)));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QTemporaryDir dir;
        QFile cut(dir.filePath("cut"));
        QVERIFY(cut.open(QIODevice::WriteOnly));
        cut.write(whole.read(size));
        cut.close();
        window_->open(cut.fileName());
        QTRY_VERIFY(window_->errorBar()->isVisible());
        QVERIFY2(window_->errorBar()->sentence().startsWith("cut: The "), qPrintable(window_->errorBar()->sentence()));
        QVERIFY(!tabShown());
    }

private:
    bool tabShown() const {
        const auto* tabs = window_->findChild<QTabWidget*>("views");
        return tabs->isTabVisible(tabs->indexOf(page_));
    }
    QString cell(int row, const char* column) const {
        const auto& columns = page_->table()->model()->table().columns;
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (columns[i].id == column) return page_->table()->model()->index(row, static_cast<int>(i)).data().toString();
        return {};
    }
    void click(int row) {
        QTableView* table = page_->table()->table();
        const QModelIndex index = table->model()->index(row, 1);
        table->scrollTo(index);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
    }

    OwnSettings settings_;
    std::unique_ptr<MainWindow> window_;
    RunRecordPage* page_ = nullptr;
};

QTEST_MAIN(RunRecordTest)
#include "test_run_record.moc"
