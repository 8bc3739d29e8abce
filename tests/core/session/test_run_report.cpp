#include <QtTest>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "session/profile_source.h"
#include "session/run_report.h"

using namespace megascope;

class RunReportTest : public QObject {
    Q_OBJECT
private slots:
    void aRunAsTables() {
        RunRequest request;
        request.model = MEGASCOPE_TEST_DATA "/run/lenet.test.mge";
        request.testcases = {0};
        request.iterations = 3;
        const auto file = MappedFile::open(request.model);
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        const auto run = make_local_runner()->run(request, {}, {});
        QVERIFY2(run, run ? "" : run.error().text().c_str());
        const Graph& graph = *(*model)->main().graph;
        const Report report = report_of_run(graph, *run, "lenet", {"A note about inputs."});
        QVERIFY(report.lines.front().find("1 of 1 testcases passed") != std::string::npos);
        QVERIFY(std::ranges::find(report.lines, "A note about inputs.") != report.lines.end());
        const auto table = [&](const char* title) { return std::ranges::find(report.tables, title, &ReportTable::title); };
        QCOMPARE(table("Testcases")->rows.size(), 1U);
        QCOMPARE(std::get<double>(table("Testcases")->rows[0][3].value), 3.0);
        QCOMPARE(table("Checked outputs")->rows.size(), run->testcases[0].verdicts.size());
        QCOMPARE(table("Operators")->rows.size(), run->plan.steps.size());
        // Every iteration is a profile of its own, with the times of that iteration.
        const auto profiles = profiles_of_run(graph, infer_graph(graph), run->testcases[0]);
        QCOMPARE(profiles.size(), 3U);
        QCOMPARE(profiles[2]->device.size(), run->testcases[0].steps[2].size());
        QCOMPARE(profiles[2]->device[0].span.end, run->testcases[0].steps[2][0].end);
    }

    void aFailedTestcaseIsInTheReport() {
        const auto file = MappedFile::open(MEGASCOPE_TEST_DATA "/run/lenet.test.mge");
        const auto model = read_model(*file);
        RunReport run;
        run.backend = "cpu";
        run.testcases.resize(1);
        run.testcases[0].error = Error{ErrorCode::run_failed, "It broke.", std::nullopt, "conv1"};
        const Report report = report_of_run(*(*model)->main().graph, run, "lenet");
        QVERIFY(report.html().find("conv1: It broke.") != std::string::npos);
        QVERIFY(report.lines.front().find("0 of 1") != std::string::npos);
    }

    void foldersAreIterations() {
        QTemporaryDir dir;
        for (const char* name : {"run10.json", "run2.json"})
            QVERIFY(QFile::copy(QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json"), dir.filePath(name)));
        const auto source = open_profile_source(dir.path().toStdString());
        QVERIFY2(source, source ? "" : source.error().text().c_str());
        QCOMPARE(source->profiles.size(), 2U);
        QVERIFY(!open_profile_source(MEGASCOPE_TEST_DATA "/run"));
    }

    void otherFilesAreNamed_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("dump") << "/run/lenet.test.mge" << "a MegEngine dump with testcases";
        QTest::newRow("array") << "/run/smallcnn.data.npy" << "a NumPy array";
        QTest::newRow("another JSON") << "/format/smallcnn.strip_info.json" << "a JSON text";
    }
    void otherFilesAreNamed() {
        QFETCH(QString, path);
        QFETCH(QString, sentence);
        const auto source = open_profile_source((QStringLiteral(MEGASCOPE_TEST_DATA) + path).toStdString());
        QVERIFY(!source);
        QVERIFY2(source.error().message.find(sentence.toStdString()) != std::string::npos, source.error().message.c_str());
        QVERIFY(source.error().message.find("profile") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(RunReportTest)
#include "test_run_report.moc"
