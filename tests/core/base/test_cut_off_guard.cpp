#include <QtTest>

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>

#include "base/cut_off_guard.h"
#include "base/file_stamp.h"
#include "base/mapped_file.h"

using namespace megascope;

class CutOffGuardTest : public QObject {
    Q_OBJECT
private slots:
    void aFileThatIsCutOffReadsAsZeros() {
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "weights";
        constexpr std::size_t size = std::size_t{1} << 20;
        std::ofstream(path, std::ios::binary) << std::string(size, 'x');
        const auto file = MappedFile::open(path);
        QVERIFY(file.has_value());
        const auto bytes = (*file)->bytes();
        QCOMPARE(static_cast<char>(bytes[0]), 'x');
        guard_against_cut_off_files();
        QVERIFY(!pages_were_cut_off());
        std::filesystem::resize_file(path, 10);
        QCOMPARE(static_cast<int>(bytes[size - 1]), 0); // without the guard this process ends here
        QCOMPARE(static_cast<int>(bytes[size / 2]), 0);
        QVERIFY(pages_were_cut_off());
        QCOMPARE(static_cast<char>(bytes[5]), 'x'); // what the file still has
    }

    void aStampTellsAFileThatWasWrittenAgain() {
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "model";
        QVERIFY(!file_stamp(path));
        QVERIFY(!file_stamp(dir.path().toStdString()));
        std::ofstream(path) << "one";
        const auto first = file_stamp(path);
        QVERIFY(first);
        QCOMPARE(first->size, std::uint64_t{3});
        QVERIFY(file_stamp(path) == first);
        std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::milliseconds(1));
        QVERIFY(file_stamp(path) != first); // the same size
    }
};

QTEST_APPLESS_MAIN(CutOffGuardTest)
#include "test_cut_off_guard.moc"
