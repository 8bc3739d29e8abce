#include <QtTest>

#include <filesystem>

#include "format/reader.h"

using namespace megascope;

// Reads every dump of the reference data, as far as it is there.
class ReaderReferenceTest : public QObject {
    Q_OBJECT

    static std::filesystem::path reference() { return MEGASCOPE_REFERENCE_DATA; }

    static Expected<std::shared_ptr<const Model>> open(const std::filesystem::path& path) {
        auto file = MappedFile::open(path);
        if (!file) return forward(std::move(file).error());
        return read_model(*file);
    }

    static std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder, std::string_view suffix) {
        std::vector<std::filesystem::path> files;
        if (!std::filesystem::is_directory(folder)) return files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.path().filename().string().ends_with(suffix)) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        return files;
    }

private slots:
    void everyDumpOpens_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("ref") << "ref";
        QTest::newRow("big") << "big";
    }
    void everyDumpOpens() {
        QFETCH(QString, folder);
        const auto files = files_below(reference() / folder.toStdString(), ".mge");
        if (files.empty()) QSKIP("The reference data is not here.");
        for (const auto& path : files) {
            const auto model = open(path);
            QVERIFY2(model, qPrintable(QString::fromStdString(path.string() + ": " + (model ? "" : model.error().text()))));
            for (const std::string& warning : (*model)->warnings)
                QFAIL(qPrintable(QString::fromStdString(path.string() + ": " + warning)));
            const bool testcase_file = path.filename().string().ends_with("test.mge");
            QCOMPARE((*model)->has_testcase_header, testcase_file);
            for (const Testcase& testcase : (*model)->testcases)
                QCOMPARE(testcase.inputs.size(), (*model)->main().graph->inputs().size());
            for (const StoredGraph& graph : (*model)->graphs) {
                QVERIFY(!graph.graph->outputs().empty());
                QVERIFY(graph.hash_matches);
                for (const Opr& opr : graph.graph->oprs()) QVERIFY(opr.kind.valid());
            }
        }
        qInfo("%zu files", files.size());
    }

    // `x.mge.graph.json` is what MegEngine's own Network.load says about x.mge.
    void graphsAreWhatMegEngineSees() {
        const auto files = files_below(reference() / "ref", ".mge.graph.json");
        if (files.empty()) QSKIP("The reference data is not here.");
        for (const auto& path : files) {
            QFile json(QString::fromStdString(path.string()));
            QVERIFY(json.open(QIODevice::ReadOnly));
            const QJsonObject seen = QJsonDocument::fromJson(json.readAll()).object();
            const auto model = open(path.parent_path() / path.stem().stem());
            QVERIFY(model);
            const Graph& graph = *(*model)->main().graph;
            const QJsonArray oprs = seen["oprs"].toArray();
            qInfo("%s: %zu %d", path.c_str(), graph.oprs().size(), int(oprs.size()));
        }
    }
};

QTEST_APPLESS_MAIN(ReaderReferenceTest)
#include "test_reader_reference.moc"
