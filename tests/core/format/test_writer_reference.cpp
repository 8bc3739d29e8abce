#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "format/reader.h"
#include "format/writer.h"

using namespace megascope;

// Reads every dump of the reference data and writes it again: the bytes must be the same. So must those of its testcases when
// they are made from their values alone.
class WriterReferenceTest : public QObject {
    Q_OBJECT

private slots:
    void everyDumpComesOutTheSame_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("ref") << "ref";
        QTest::newRow("big") << "big";
    }
    void everyDumpComesOutTheSame() {
        QFETCH(QString, folder);
        const auto root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / folder.toStdString();
        if (!std::filesystem::is_directory(root)) QSKIP("The reference data is not here.");
        std::size_t files = 0;
        std::size_t graphs = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().extension() != ".mge") continue;
            const auto file = MappedFile::open(entry.path());
            QVERIFY(file);
            const auto model = read_model(*file);
            QVERIFY2(model, entry.path().c_str());
            const auto written = encode_dump(DumpContent::like_input(**model));
            QVERIFY2(written, entry.path().c_str());
            QVERIFY2(std::ranges::equal(*written, (*file)->bytes()), entry.path().c_str());
            for (const Testcase& testcase : (*model)->testcases) {
                const auto graph = make_testcase_graph(*(*model)->main().graph, testcase.inputs);
                QVERIFY2(graph, entry.path().c_str());
                const auto made = encode_graph(*graph, testcase_options());
                QVERIFY(made);
                QVERIFY2(std::ranges::equal(made->joined(), (*file)->bytes().subspan(testcase.offset, testcase.size)), entry.path().c_str());
            }
            ++files;
            graphs += (*model)->graphs.size() + (*model)->testcases.size();
        }
        QVERIFY(files > 0);
        qInfo("%zu files with %zu graphs", files, graphs);
    }
};

QTEST_APPLESS_MAIN(WriterReferenceTest)
#include "test_writer_reference.moc"
