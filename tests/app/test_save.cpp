#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/main_window.h"
#include "app/gui/save_controller.h"
#include "base/mapped_file.h"
#include "format/reader.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"

using namespace megascope;

namespace {

QByteArray content(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

std::shared_ptr<const Model> readModel(const QString& path) {
    auto file = MappedFile::open(path.toStdString());
    if (!file) return nullptr;
    auto model = read_model(*file);
    return model ? *model : nullptr;
}

QString dataFile(const char* name) { return QStringLiteral(MEGASCOPE_TEST_DATA "/format/") + QLatin1String(name); }

} // namespace

class SaveTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
    }
    void init() { QSettings().clear(); }

    // Ctrl+Shift+S, another name, Enter: the same bytes.
    void savingAsItIsCopiesTheFile() {
        QTemporaryDir dir;
        MainWindow window(make_local_runner());
        SaveOptionsDialog* dialog = ask(window, sample_);
        QVERIFY(dialog);
        auto* path = dialog->findChild<QLineEdit*>("path");
        path->setFocus();
        QTest::keyClick(path, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(path, dir.filePath("copy.mge"));
        QVERIFY(dialog->findChild<QPushButton*>("save")->text().contains("Save"));
        QSignalSpy saved(window.saves(), &SaveController::saved);
        QTest::keyClick(path, Qt::Key_Return);
        QTRY_COMPARE(saved.count(), 1);
        QCOMPARE(content(dir.filePath("copy.mge")), content(sample_));
        QVERIFY(window.documents()->model()->path == sample_);
        const auto dump = saved.first().first().value<std::shared_ptr<const SavedDump>>();
        QCOMPARE(dump->file_bytes, static_cast<std::uint64_t>(content(sample_).size()));
        QCOMPARE(dump->testcases, std::size_t{1});
    }

    void theOptionsDecideTheContainerAndTheNames() {
        QTemporaryDir dir;
        MainWindow window(make_local_runner());
        SaveOptionsDialog* dialog = ask(window, sample_);
        QVERIFY(dialog);
        dialog->findChild<QLineEdit*>("path")->setText(dir.filePath("old.mge"));
        auto* container = dialog->findChild<QComboBox*>("container");
        container->setCurrentIndex(container->findData(static_cast<int>(Container::fbs_mgbs)));
        auto* names = dialog->findChild<QComboBox*>("varName");
        names->setCurrentIndex(names->findData(1));
        QTest::mouseClick(dialog->findChild<QCheckBox*>("oprName"), Qt::LeftButton, {}, QPoint(8, 8));
        QTest::mouseClick(dialog->findChild<QCheckBox*>("testcases"), Qt::LeftButton, {}, QPoint(8, 8));
        QSignalSpy saved(window.saves(), &SaveController::saved);
        QTest::mouseClick(dialog->findChild<QPushButton*>("save"), Qt::LeftButton);
        QTRY_COMPARE(saved.count(), 1);
        const auto written = readModel(dir.filePath("old.mge"));
        QVERIFY(written);
        QVERIFY(written->main().container == Container::fbs_mgbs);
        QVERIFY(written->testcases.empty());
        QVERIFY(written->main().kept.opr_name);
        QCOMPARE(written->main().kept.var_name, 1);
        QCOMPARE(written->main().graph->oprs().size(), window.documents()->model()->model->main().graph->oprs().size());
    }

    // The window has the file mapped: its weights must stay what they were, and what it shows then is the new file.
    void replacingTheOpenFileIsSafe() {
        QTemporaryDir dir;
        const QString path = dir.filePath("open.mge");
        QVERIFY(QFile::copy(sample_, path));
        QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner);
        MainWindow window(make_local_runner());
        SaveOptionsDialog* dialog = ask(window, path);
        QVERIFY(dialog);
        QVERIFY(dialog->findChild<QLabel*>("note")->text().contains("replaced"));
        QVERIFY(dialog->findChild<QPushButton*>("save")->text().contains("Replace"));
        const auto before = window.documents()->model();
        const QByteArray bytes(reinterpret_cast<const char*>(before->model->file->bytes().data()), static_cast<qsizetype>(before->model->file->bytes().size()));
        auto* container = dialog->findChild<QComboBox*>("container");
        container->setCurrentIndex(container->findData(static_cast<int>(Container::fbs_mgbc)));
        QSignalSpy saved(window.saves(), &SaveController::saved);
        QTest::mouseClick(dialog->findChild<QPushButton*>("save"), Qt::LeftButton);
        QTRY_COMPARE(saved.count(), 1);
        QTRY_VERIFY(window.documents()->model() != before);
        QVERIFY(window.documents()->model()->model->main().container == Container::fbs_mgbc);
        QVERIFY(content(path) != bytes);
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(before->model->file->bytes().data()), static_cast<qsizetype>(before->model->file->bytes().size())), bytes);
        QTRY_VERIFY(window.settled());
    }

    void appendingAddsGraphs() {
        QTemporaryDir dir;
        const QString path = dir.filePath("two.mge");
        QVERIFY(QFile::copy(dataFile("subtensor.mge"), path));
        QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner);
        MainWindow window(make_local_runner());
        SaveOptionsDialog* dialog = ask(window, dataFile("smallcnn.v2_allnames.mge"));
        QVERIFY(dialog);
        auto* append = dialog->findChild<QCheckBox*>("append");
        dialog->findChild<QLineEdit*>("path")->setText(dir.filePath("not there.mge"));
        QVERIFY(!append->isEnabled());
        dialog->findChild<QLineEdit*>("path")->setText(path);
        QVERIFY(append->isEnabled());
        QTest::mouseClick(append, Qt::LeftButton, {}, QPoint(8, 8));
        QVERIFY(dialog->findChild<QPushButton*>("save")->text().contains("Append"));
        QSignalSpy saved(window.saves(), &SaveController::saved);
        QTest::mouseClick(dialog->findChild<QPushButton*>("save"), Qt::LeftButton);
        QTRY_COMPARE(saved.count(), 1);
        QCOMPARE(content(path), content(dataFile("subtensor.mge")) + content(dataFile("smallcnn.v2_allnames.mge")));
    }

    void aFolderThatIsNotThereIsSaidInTheBar() {
        MainWindow window(make_local_runner());
        SaveOptionsDialog* dialog = ask(window, sample_);
        QVERIFY(dialog);
        dialog->findChild<QLineEdit*>("path")->setText("/nowhere/at/all.mge");
        QTest::mouseClick(dialog->findChild<QPushButton*>("save"), Qt::LeftButton);
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY2(window.errorBar()->sentence().contains("/nowhere/at/all.mge"), qPrintable(window.errorBar()->sentence()));
    }

    void withoutAModelThereIsNothingToSave() {
        MainWindow window(make_local_runner());
        window.show();
        QVERIFY(!window.findChild<QAction*>("saveAsAction")->isEnabled());
    }

    // A file that was encrypted with a key of one's own is asked for in a bar, and opens with it.
    void anEncryptedFileAsksForItsKey() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(dataFile("packed/plain.rc4_key1_2"));
        auto* bar = window.findChild<QFrame*>("keyBar");
        QTRY_VERIFY(bar->isVisible());
        QVERIFY(!window.documents()->model());
        auto* key = bar->findChild<QLineEdit*>("key");
        QTest::keyClicks(key, "01xx");
        QTest::keyClick(key, Qt::Key_Return);
        QVERIFY(bar->isVisible());
        QVERIFY(!bar->findChild<QLabel*>("problem")->text().isEmpty());
        key->clear();
        QTest::keyClicks(key, "01000000000000000200000000000000");
        QTest::keyClick(key, Qt::Key_Return);
        QTRY_VERIFY(window.documents()->model());
        QVERIFY(!bar->isVisible());
        QVERIFY(!window.errorBar()->isVisible());
        QCOMPARE(window.documents()->model()->model->cipher, std::string("RC4_default"));
        // A run opens the file with the same key.
        window.runSelected();
        QTRY_VERIFY(!window.runs()->running());
        QVERIFY2(!window.errorBar()->isVisible() || !window.errorBar()->sentence().contains("encrypted"), qPrintable(window.errorBar()->sentence()));
    }

private:
    SaveOptionsDialog* ask(MainWindow& window, const QString& path) {
        window.show();
        window.open(path);
        if (!QTest::qWaitFor([&] { return window.documents()->model() && window.settled(); }, 20000)) return nullptr;
        window.activateWindow();
        if (!QTest::qWaitForWindowActive(&window)) return nullptr;
        QTest::keyClick(&window, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
        auto* dialog = window.findChild<SaveOptionsDialog*>();
        return dialog && QTest::qWaitForWindowActive(dialog) ? dialog : nullptr;
    }

    OwnSettings settings_;
    QString sample_;
};

QTEST_MAIN(SaveTest)
#include "test_save.moc"
