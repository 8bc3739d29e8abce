#include <QAction>
#include <QApplication>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTableView>
#include <QTimer>
#include <QtTest>

#include "app/gui/compare_controller.h"
#include "app/gui/dump_controller.h"
#include "app/gui/main_window.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/graph/graph_diff_view.h"
#include "views/table/table_page.h"

using namespace megascope;

/// Editing testcases and dumping from the window.
class WritingTest : public QObject {
    Q_OBJECT

    OwnSettings settings_;
    std::unique_ptr<MainWindow> window_;

    static void answer(QMessageBox::StandardButton button) {
        QTimer::singleShot(100, qApp, [button] {
            for (QWidget* widget : QApplication::topLevelWidgets())
                if (auto* box = qobject_cast<QMessageBox*>(widget); box && box->isVisible()) box->button(button)->click();
        });
    }

private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
    }
    void init() {
        QSettings().clear();
        window_ = std::make_unique<MainWindow>(make_local_runner());
        window_->show();
        window_->open(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        QTRY_VERIFY(window_->documents()->model());
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30000);
    }
    void cleanup() {
        window_->testcaseEdits()->setModel(nullptr); // nothing to ask about
        window_.reset();
    }

    void editedTestcasesRun() {
        window_->testcaseEdits()->addSpecs({"#rand(0,1)"});
        QTRY_COMPARE(window_->testcaseEdits()->testcases().size(), std::size_t(2));
        window_->runAll();
        auto* results = window_->tablePage("results")->model();
        QTRY_COMPARE_WITH_TIMEOUT(results->rowCount(), 2, 30000);
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30000);
        QVERIFY(!window_->errorBar()->isVisible());
        for (int row = 0; row < 2; ++row) {
            QStringList cells;
            for (int column = 0; column < results->columnCount(); ++column) cells << results->index(row, column).data().toString();
            QVERIFY2(cells.contains("passed"), qPrintable(cells.join(" | ")));
            QVERIFY2(cells.contains("float32 1×10"), qPrintable(cells.join(" | ")));
        }
    }

    void theDialogShowsWhatIsOpenAndComparesBothGraphs() {
        auto* action = window_->findChild<QAction*>("dumpAction");
        QVERIFY(action && action->isEnabled());
        action->trigger();
        DumpDialog* dialog = window_->dumps()->dialog();
        QVERIFY(dialog && dialog->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled() && dialog->preview(), 30000);
        QCOMPARE(dialog->preview()->info.testcases, std::size_t(1));
        QTest::mouseClick(dialog->findChild<QPushButton*>("dumpCompare"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(window_->comparison()->active(), 30000);
        QTRY_VERIFY_WITH_TIMEOUT(window_->comparison()->view()->differences(), 30000);
        QVERIFY(!window_->comparison()->view()->summary().isEmpty());
        dialog->close();
    }

    void editsAreNotLostUnasked() {
        window_->testcaseEdits()->duplicate(0);
        QVERIFY(window_->findChild<QAction*>("saveTestcasesAction")->isEnabled());
        answer(QMessageBox::Cancel);
        QVERIFY(!window_->close());
        answer(QMessageBox::Discard);
        QVERIFY(window_->close());
    }

    // Saving goes first, then the window closes by itself.
    void closingWaitsForTheTestcasesToBeSaved() {
        QTemporaryDir dir;
        const QString path = dir.filePath("edited.mge");
        window_->testcaseEdits()->duplicate(0);
        answer(QMessageBox::Save);
        QTimer::singleShot(500, qApp, [path] {
            for (QWidget* widget : QApplication::topLevelWidgets()) {
                auto* dialog = qobject_cast<QFileDialog*>(widget);
                if (!dialog || !dialog->isVisible()) continue;
                dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path);
                static_cast<QDialog*>(dialog)->accept();
            }
        });
        QVERIFY(!window_->close()); // not yet
        QTRY_VERIFY_WITH_TIMEOUT(!window_->isVisible(), 30000);
        QVERIFY(QFile::exists(path));
    }

    // A file without testcases: those that were added can all be run.
    void addedTestcasesCanAllBeRun() {
        window_->testcaseEdits()->setModel(nullptr);
        window_->open(QStringLiteral(MEGASCOPE_TEST_DATA "/format/smallcnn.v2_allnames.mge"));
        QTRY_VERIFY(window_->documents()->model()->path.endsWith("allnames.mge"));
        QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30000);
        QAction* runAll = nullptr;
        for (QAction* action : window_->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_F5)) runAll = action;
        QVERIFY(runAll && !runAll->isEnabled());
        window_->testcaseEdits()->addSpecs({"#rand(0,1)"});
        QTRY_VERIFY(runAll->isEnabled());
    }
};

QTEST_MAIN(WritingTest)
#include "test_writing.moc"
