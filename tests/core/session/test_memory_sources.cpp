#include <QtTest>

#include <filesystem>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "session/memory_sources.h"

using namespace megascope;

namespace {

std::shared_ptr<const MappedFile> open(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) qFatal("%s", file.error().text().c_str());
    return *file;
}

} // namespace

/// MegEngine wrote both files for the same net: what its planner planned and what its profiler recorded.
class MemorySourcesTest : public QObject {
    Q_OBJECT
private slots:
    void staticInfo() {
        const auto info = read_static_memory(open(MEGASCOPE_TEST_DATA "/format/lar/StaticMemoryInfo.json")->bytes());
        QVERIFY(info.has_value());
        const MemoryMap map = memory_of_static_info(*info);
        QCOMPARE(map.area, info->peak_bytes());
        QCOMPARE(map.weight_bytes, info->weight_bytes());
        QCOMPARE(map.live, info->used_bytes());
        QCOMPARE(map.steps.size(), info->oprs.size());
        for (const MemoryBlock& block : map.blocks) QVERIFY(block.last < map.steps.size());
    }

    void recordedChunks_data() {
        QTest::addColumn<QString>("profile");
        QTest::addColumn<QString>("info");
        for (const char* net : {"lenet", "resnet18_w4", "mobilenetv2_tiny"}) {
            const QString dir = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/ref/nets/") + net + "/lar/";
            QTest::newRow(net) << dir + "profile.json" << dir + "staticmem/StaticMemoryInfo.json";
        }
    }
    void recordedChunks() {
        QFETCH(QString, profile);
        QFETCH(QString, info);
        if (!QFile::exists(profile) || !QFile::exists(info)) QSKIP("The reference material is not here.");
        const auto read = read_graph_profile(open(profile.toStdString())->bytes());
        const auto planned = read_static_memory(open(info.toStdString())->bytes());
        QVERIFY(read && planned);
        const auto map = memory_of_profile(**read);
        QVERIFY(map.has_value());
        QVERIFY(map->placed);
        QCOMPARE(map->area, planned->peak_bytes());
        QCOMPARE(map->steps.size(), planned->oprs.size());
    }

    /// By hand from the bundled profile: what MegEngine's planner gave as this net's peak is where the last chunk ends.
    void theBundledProfile() {
        const auto read = read_graph_profile(open(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json")->bytes());
        QVERIFY(read.has_value());
        const auto map = memory_of_profile(**read);
        QVERIFY(map.has_value());
        QCOMPARE(map->area, 17280U);
        // conv1's output (6×24×24) and its pooled form (6×12×12) at the pooling.
        QCOMPARE(map->peak, 13824U + 3456U);
        QCOMPARE(map->input_bytes, 3136U); // 1×1×28×28 float32
    }

    void aProfileWithoutChunksSaysSo() {
        GraphProfile empty;
        const auto map = memory_of_profile(empty);
        QVERIFY(!map);
        QVERIFY(map.error().message.find("no memory chunks") != std::string::npos);
    }

    void linkingBringsOperatorsToAGraph() {
        MemoryMap map;
        map.steps = {"a", "b"};
        map.step_oprs = {OprId(0U), OprId(1U)};
        map.blocks.resize(1);
        map.blocks[0].opr = OprId(1U);
        map.blocks[0].var = VarId(3U);
        const std::vector<OprId> graph = {OprId(), OprId(7U)};
        link_memory(map, graph);
        QVERIFY(!map.step_oprs[0].valid());
        QCOMPARE(map.step_oprs[1], OprId(7U));
        QCOMPARE(map.blocks[0].opr, OprId(7U));
        QVERIFY(!map.blocks[0].var.valid());
    }
};

QTEST_APPLESS_MAIN(MemorySourcesTest)
#include "test_memory_sources.moc"
