#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"

using namespace megascope;

namespace {
/// JSON with single quotes, to keep the texts readable.
std::string json(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}
std::span<const std::byte> bytes_of(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
} // namespace

class GraphProfileTest : public QObject {
    Q_OBJECT
private slots:
    // Counts and sums of a genuine GPU profile, as its description gives them.
    void readsAGenuineGpuProfile() {
        const QString path = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/real/resnet50_b10_gpu_profile.json");
        if (!QFile::exists(path)) QSKIP("The larger reference material is not here.");
        const auto file = MappedFile::open(path.toStdString());
        QVERIFY(file);
        QVERIFY(looks_like_graph_profile((*file)->bytes()));
        const auto profile = read_graph_profile((*file)->bytes());
        QVERIFY2(profile, profile ? "" : profile.error().text().c_str());
        const GraphProfile& p = **profile;
        QCOMPARE(p.oprs.size(), 240U);
        QCOMPARE(p.vars.size(), 299U);
        QCOMPARE(p.chunks.size(), 104U);
        QCOMPARE(p.sequence.size(), 234U);
        const ProfileSummary sum = summarize(p);
        QCOMPARE(qRound64(sum.device_span * 1e6), 22797);
        QCOMPARE(qRound64(sum.kernel_time * 1e6), 22051);
        QCOMPARE(qRound64(sum.computation / 1e6), 81954);
        QCOMPARE(sum.without_computation, 107U);
        QCOMPARE(sum.without_mem_plan, 195U);
        QCOMPARE(sum.without_device_record, 6U);
        QCOMPARE(p.text(p.host.front().where), std::string_view("interpreter"));
    }

    void readsKeysInAnyOrder() {
        const auto profile = read_graph_profile(bytes_of(
            json("{'profiler': {'host': {}, 'device': {'2': {'cpu0:0': {'end': 0.5, 'start': 0.125, 'kern': 0.25}}}, 'opr_footprint': {'2': {'memory': 12, 'computation': null, 'out_shapes': [[3]], 'in_shapes': [], 'param': {'mode': 'ADD'}}}}, 'graph_exec': {'comp_seq': ['2'], 'var': {'3': {'id': '3', 'name': 'x', 'mem_plan': null}}, 'mem_chunk': {}, 'operator': {'2': {'name': 'a', 'type': 'Elemwise', 'input': [], 'output': ['3'], 'extra': {'priority': -7}}}}}")));
        QVERIFY2(profile, profile ? "" : profile.error().text().c_str());
        const GraphProfile& p = **profile;
        QCOMPARE(p.oprs.size(), 1U);
        QCOMPARE(p.oprs[0].priority, -7);
        QCOMPARE(p.vars[0].producer, ProfileOprId(0U));
        QCOMPARE(p.device[0].span.kernel_time(), 0.25);
        QCOMPARE(p.footprints[0]->memory, 12U);
        QVERIFY(!p.footprints[0]->computation);
        QCOMPARE(p.footprints[0]->param, json("{'mode': 'ADD'}"));
        QVERIFY(p.warnings.empty());
    }

    void danglingIdsBecomeWarnings() {
        const auto profile = read_graph_profile(
            bytes_of(json("{'graph_exec': {'operator': {'1': {'input': ['9'], 'output': []}}, 'var': {}, 'mem_chunk': {}, 'comp_seq': ['1', '5']}, 'profiler': {}}")));
        QVERIFY(profile);
        QCOMPARE((*profile)->warnings.size(), 2U);
        QCOMPARE((*profile)->sequence.size(), 1U);
    }

    void infinitiesComeAsStrings() {
        const auto profile = read_graph_profile(bytes_of(
            json("{'graph_exec': {'operator': {'1': {}}}, 'profiler': {'host': {'1': {'': {'start': 0, 'kern': -1, 'end': 'inf'}}}}}")));
        QVERIFY(profile);
        QVERIFY(std::isinf((*profile)->host[0].span.end));
    }

    void brokenInputGetsASentenceWithAPlace_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<bool>("hasOffset");
        QTest::newRow("empty") << QByteArray() << false;
        QTest::newRow("no JSON") << QByteArray("hello") << false;
        QTest::newRow("cut") << QByteArray::fromStdString(json("{'graph_exec': {'operator': {'1': {'name': 'a")) << false;
        QTest::newRow("wrong structure") << QByteArray::fromStdString(json("{'graph_exec': 5}")) << true;
        QTest::newRow("another JSON") << QByteArray::fromStdString(json("{'a': 1}")) << false;
        QTest::newRow("id is no number") << QByteArray::fromStdString(json("{'graph_exec': {'operator': {'x': {}}}}")) << true;
    }
    void brokenInputGetsASentenceWithAPlace() {
        QFETCH(QByteArray, text);
        QFETCH(bool, hasOffset);
        const auto profile = read_graph_profile(bytes_of({text.constData(), static_cast<std::size_t>(text.size())}));
        QVERIFY(!profile);
        QVERIFY(profile.error().message.ends_with('.'));
        if (hasOffset) QVERIFY(profile.error().offset.has_value());
    }
};

QTEST_APPLESS_MAIN(GraphProfileTest)
#include "test_graph_profile.moc"
