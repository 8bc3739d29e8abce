#include <QAction>
#include <QFile>
#include <QPushButton>
#include <QSettings>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/main_window.h"
#include "app/gui/save_controller.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/table/table_page.h"
#include "views/testcase/testcase_document.h"

using namespace megascope;

/// Someone dumps a model again while it is open.
class FileChangesTest : public QObject {
    Q_OBJECT

    QTemporaryDir settings_;
    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<MainWindow> window_;
    QString path_;

    static QByteArray content(const char* sample) {
        QFile file(QString::fromStdString(samplePath(sample)));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    /// As MegEngine does: the same file, cut off and filled again.
    void dumpAgain(const char* sample) {
        QFile file(path_);
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(content(sample));
    }
    /// As careful programs do: another file takes its name.
    void replace(const char* sample) {
        QFile file(path_ + ".new");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content(sample));
        file.close();
        QVERIFY(std::rename(qPrintable(path_ + ".new"), qPrintable(path_)) == 0);
    }
    [[nodiscard]] QPushButton* barButton() const { return window_->errorBar()->findChild<QPushButton*>("action"); }

private slots:
    void initTestCase() {
        QVERIFY(settings_.isValid());
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings_.path());
        QCoreApplication::setOrganizationName("MegascopeTest");
    }
    void init() {
        QSettings().clear();
        folder_ = std::make_unique<QTemporaryDir>();
        path_ = folder_->filePath("model.mge");
        dumpAgain("resnet18_w4.test.mge");
        window_ = std::make_unique<MainWindow>(make_local_runner());
        window_->show();
        window_->open(path_);
        QTRY_VERIFY(window_->documents()->model());
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30000);
    }
    void cleanup() { window_.reset(); }

    void aChangeIsSaidAndReloadShowsTheNewFile_data() {
        QTest::addColumn<bool>("inPlace");
        QTest::newRow("written over") << true;
        QTest::newRow("replaced") << false;
    }
    void aChangeIsSaidAndReloadShowsTheNewFile() {
        QFETCH(bool, inPlace);
        const std::size_t before = window_->documents()->model()->facts->graph->oprs().size();
        QTest::qWait(1000);
        QVERIFY(!window_->errorBar()->isVisible()); // nothing changed so far
        if (inPlace) dumpAgain("mobilenetv2_tiny.test.mge");
        else replace("mobilenetv2_tiny.test.mge");
        QTRY_VERIFY(window_->errorBar()->isVisible());
        QVERIFY2(window_->errorBar()->sentence().contains("model.mge changed on disk"), qPrintable(window_->errorBar()->sentence()));
        QVERIFY(barButton()->isVisible());
        QTest::mouseClick(barButton(), Qt::LeftButton);
        QTRY_VERIFY(window_->documents()->model()->facts->graph->oprs().size() != before);
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30000);
        QVERIFY(!window_->errorBar()->isVisible());
        window_->runAll();
        QTRY_COMPARE_WITH_TIMEOUT(window_->tablePage("results")->model()->rowCount(), 1, 60000);
    }

    void nothingRunsOrIsWrittenFromAFileThatChanged() {
        replace("mobilenetv2_tiny.test.mge");
        window_->runSelected(); // before the change was noticed
        QVERIFY(window_->errorBar()->isVisible());
        QVERIFY(window_->errorBar()->sentence().contains("changed on disk"));
        QTRY_VERIFY(window_->settled());
        QCOMPARE(window_->tablePage("results")->model()->rowCount(), 0);
        QSignalSpy saved(window_->saves(), &SaveController::saved);
        window_->saves()->save({folder_->filePath("copy.mge"), {}, false});
        window_->testcaseEdits()->addSpecs({"#rand(0,1)"});
        QTRY_VERIFY(window_->settled());
        QVERIFY(saved.isEmpty());
        QVERIFY(!QFile::exists(folder_->filePath("copy.mge")));
        QCOMPARE(window_->testcaseEdits()->testcases().size(), std::size_t(1)); // its expected values would be another model's
    }

    void reloadingKeepsViewAndSelection() {
        const Graph& graph = *window_->documents()->model()->facts->graph;
        window_->selection()->select(Pick::of(firstOfType(graph, "Pooling")));
        const std::string name = graph.display_name(window_->selection()->current().opr);
        window_->showView(MainWindow::View::file);
        const auto* before = window_->documents()->model().get();
        window_->findChild<QAction*>("reloadAction")->trigger();
        QTRY_VERIFY(window_->documents()->model().get() != before);
        QCOMPARE(window_->findChild<QTabWidget*>("views")->currentIndex(), static_cast<int>(MainWindow::View::file));
        QVERIFY(window_->selection()->current().opr.valid());
        QCOMPARE(window_->documents()->model()->facts->graph->display_name(window_->selection()->current().opr), name);
    }

    void aFileThatIsGoneStaysOpen() {
        QVERIFY(QFile::remove(path_));
        QTest::qWait(1000);
        QVERIFY(!window_->errorBar()->isVisible());
        QVERIFY(window_->documents()->model());
    }
};

QTEST_MAIN(FileChangesTest)
#include "test_file_changes.moc"
