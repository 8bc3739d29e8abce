#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/views/sample_model.h"
#include "trace/assertion_edit.h"
#include "views/dump/dump_dialog.h"
#include "views/dump/dump_form.h"

using namespace megascope;

class DumpDialogTest : public QObject {
    Q_OBJECT

    SampleModel sample_ = openSample("resnet18_w4.test.mge");
    QTemporaryDir temporary_;
    std::unique_ptr<JobRunner> jobs_;
    std::unique_ptr<TestcaseList> list_;
    std::unique_ptr<DumpDialog> dialog_;

    template <class T>
    [[nodiscard]] T* child(const char* name) const {
        return dialog_->findChild<T*>(QString::fromLatin1(name));
    }
    void settle() const { QTRY_VERIFY_WITH_TIMEOUT(dialog_->settled(), 30000); }

private slots:
    void init() {
        jobs_ = std::make_unique<JobRunner>();
        list_ = std::make_unique<TestcaseList>(sample_.model);
        dialog_ = std::make_unique<DumpDialog>(jobs_.get());
        dialog_->show();
        dialog_->setSource(sample_.model, 0, &list_->now(), QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        settle();
    }
    void cleanup() {
        dialog_.reset();
        jobs_.reset();
    }

    void startsWithTheDefaultsOfTraceDump() {
        const DumpOptions options = dialog_->form()->options();
        const DumpOptions defaults;
        QVERIFY(options.optimize_for_inference);
        QCOMPARE(options.optimize, defaults.optimize);
        QCOMPARE(options.keep_var_name, 1);
        QVERIFY(!options.dump_format);
        QCOMPARE(options.testcases.size(), std::size_t(1)); // the file's testcase is taken over, with its tolerance
        QCOMPARE(options.maxerr, list_->now().maxerr);
        QVERIFY(dialog_->preview());
        QVERIFY(child<QPushButton>("dumpButton")->isEnabled());
        QVERIFY(dialog_->command().startsWith("megascope-cli dump "));
    }

    void everyChangeIsPreviewed() {
        child<QGroupBox>("optimize")->setChecked(false);
        QVERIFY(!child<QPushButton>("dumpButton")->isEnabled()); // what is shown is not yet true
        settle();
        const auto plain = dialog_->preview();
        QVERIFY(plain);
        QCOMPARE(plain->info.testcases, std::size_t(1));
        QVERIFY(plain->report.passes.empty());
        child<QCheckBox>("keepOprName")->setChecked(true);
        settle();
        QVERIFY(dialog_->preview()->info.file_bytes > plain->info.file_bytes);
        child<QCheckBox>("takeOver")->setChecked(false);
        settle();
        QCOMPARE(dialog_->preview()->info.testcases, std::size_t(0));
        QCOMPARE(dialog_->preview()->info.inputs.size(), std::size_t(1));
        QVERIFY(dialog_->command().contains("--no-optimize-for-inference"));
        QVERIFY(dialog_->command().contains("--keep-opr-name"));
        QVERIFY(dialog_->command().contains("--no-testcases"));
        QVERIFY(child<QTableWidget>("dumpTypes")->rowCount() > 3);
    }

    void mistakesStandBesideTheirField() {
        child<QGroupBox>("optimize")->setChecked(false);
        child<QPlainTextEdit>("inputData")->setPlainText("nowhere.npy");
        settle();
        QVERIFY(!dialog_->preview());
        auto* problem = child<QLabel>("problem2");
        QVERIFY(problem->isVisible());
        QVERIFY2(problem->text().contains("nowhere.npy"), qPrintable(problem->text()));
        QVERIFY(!child<QPushButton>("dumpButton")->isEnabled());
        child<QPlainTextEdit>("inputData")->setPlainText("#rand(0,1)");
        settle();
        QVERIFY(dialog_->preview());
        QVERIFY(!problem->isVisible());
        QCOMPARE(dialog_->preview()->info.testcases, std::size_t(2));
    }

    void theFileIsWritten() {
        child<QGroupBox>("optimize")->setChecked(false);
        child<QComboBox>("dumpFormat")->setCurrentIndex(1);
        child<QLineEdit>("userInfo")->setText("[1, 2]");
        const QString path = temporary_.filePath("out.mge");
        dialog_->setOutput(path);
        settle();
        QSignalSpy dumped(dialog_.get(), &DumpDialog::dumped);
        QTest::mouseClick(child<QPushButton>("dumpButton"), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(dumped.size(), 1, 30000);
        QVERIFY(child<QPushButton>("dumpOpen")->isVisible());
        const auto file = MappedFile::open(path.toStdString());
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        QCOMPARE((*model)->main().container, Container::fbs_mgbc);
        QCOMPARE((*model)->testcases.size(), std::size_t(1));
        QVERIFY(has_assertions(*(*model)->main().graph));
        QCOMPARE((*model)->main().metadata.user_info, pickle_of_typed("[1, 2]"));
    }

    void theOpenFileIsNotWrittenOver() {
        child<QGroupBox>("optimize")->setChecked(false);
        dialog_->setOutput(QString::fromStdString(samplePath("resnet18_w4.test.mge")));
        settle();
        QSignalSpy dumped(dialog_.get(), &DumpDialog::dumped);
        QTest::mouseClick(child<QPushButton>("dumpButton"), Qt::LeftButton);
        settle();
        QCOMPARE(dumped.size(), 0);
    }

    void theCommandIsCopied() {
        QTest::mouseClick(child<QPushButton>("copyCommand"), Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(), dialog_->command());
    }

    void optimizationIsCompared() {
        QSignalSpy compare(dialog_.get(), &DumpDialog::compareRequested);
        QVERIFY(dialog_->preview()->before != dialog_->preview()->after);
        QTest::mouseClick(child<QPushButton>("dumpCompare"), Qt::LeftButton);
        QCOMPARE(compare.size(), 1);
    }
};

QTEST_MAIN(DumpDialogTest)
#include "test_dump_dialog.moc"
