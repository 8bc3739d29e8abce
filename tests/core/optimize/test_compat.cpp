#include <QtTest>

#include <filesystem>

#include "graph_compare.h"
#include "optimize/compat.h"

using namespace megascope;
using namespace megascope::test;

// A dump without changes to the graph, converted here, against MegEngine's converted dump of the same trace: the same operators
// with the same constants. v1 dumps have more converters.
class CompatTest : public QObject {
    Q_OBJECT

private slots:
    void smallCopies_data() {
        QTest::addColumn<QString>("stem");
        QTest::newRow("HSIGMOID") << "activation_hsigmoid";
        QTest::newRow("LOGSIGMOID") << "activation_logsigmoid";
        QTest::newRow("PRELU") << "activation_prelu_s";
        QTest::newRow("Where") << "where_f32";
    }
    void smallCopies() {
        QFETCH(QString, stem);
        const std::string path = std::string(MEGASCOPE_TEST_DATA) + "/optimize/" + stem.toStdString();
        const auto from = read_dump(path + "_nochange.mge");
        const auto to = read_dump(path + ".mge");
        QVERIFY(from && to);
        const auto ours = to_compatible(from->main().graph);
        QVERIFY2(ours, ours ? "" : ours.error().text().c_str());
        const std::string difference = first_difference(**ours, *to->main().graph, 0);
        QVERIFY2(difference.empty(), difference.c_str());
        QCOMPARE((*ours)->var((*ours)->outputs()[0].var).name, to->main().graph->var(to->main().graph->outputs()[0].var).name);
    }

    void everyOperatorCase_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("v1");
        QTest::addColumn<int>("least");
        QTest::newRow("v2") << "model.mge" << false << 600;
        QTest::newRow("v1") << "model.fbs1.mge" << true << 340;
    }
    void everyOperatorCase() {
        QFETCH(QString, file);
        QFETCH(bool, v1);
        QFETCH(int, least);
        const auto root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / "ops";
        if (!std::filesystem::is_directory(root)) QSKIP("The reference data is not here.");
        int cases = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().filename() != "model.nochange.mge") continue;
            const auto wanted = entry.path().parent_path() / file.toStdString();
            if (!std::filesystem::exists(wanted)) continue;
            const auto from = read_dump(entry.path());
            const auto to = read_dump(wanted);
            QVERIFY2(from && to, wanted.c_str());
            const auto ours = to_compatible(from->main().graph, v1 ? CompatTarget::v1 : CompatTarget::v2);
            QVERIFY2(ours, (wanted.string() + (ours ? "" : ": " + ours.error().text())).c_str());
            const std::string difference = first_difference(**ours, *to->main().graph, 0);
            QVERIFY2(difference.empty(), (wanted.string() + ": " + difference).c_str());
            ++cases;
        }
        qInfo("%d cases agree", cases);
        QVERIFY(cases >= least);
    }

    // What MegEngine itself cannot dump without no_change_graph.
    void refusesWhatMegEngineRefuses_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("SQUARE of int32") << "elemwise/int32_SQUARE";
        QTest::newRow("SQUARE of int8") << "elemwise/int8_SQUARE";
        QTest::newRow("affine GroupNorm") << "groupnorm/g3_aff1";
        QTest::newRow("affine InstanceNorm") << "instancenorm/aff1";
    }
    void refusesWhatMegEngineRefuses() {
        QFETCH(QString, folder);
        const auto path = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / "ops" / folder.toStdString() / "model.nochange.mge";
        if (!std::filesystem::exists(path)) QSKIP("The reference data is not here.");
        const auto from = read_dump(path);
        QVERIFY(from);
        const auto ours = to_compatible(from->main().graph);
        QVERIFY(!ours);
        QCOMPARE(ours.error().code, ErrorCode::unsupported);
        QVERIFY(!ours.error().where.empty());
    }
};

QTEST_APPLESS_MAIN(CompatTest)
#include "test_compat.moc"
