#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "profile/graph_profile_writer.h"

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
        QCOMPARE(p.oprs[0].order->priority, -7);
        QCOMPARE(p.vars[0].producer, ProfileOprId(0U));
        QCOMPARE(p.device[0].span.kernel_time(), 0.25);
        QCOMPARE(p.footprints[0]->memory, 12U);
        QVERIFY(!p.footprints[0]->computation);
        QCOMPARE(p.footprints[0]->param, json("{'mode': 'ADD'}"));
        QVERIFY(p.warnings.empty());
    }

    // What the writer writes, the reader reads back unchanged; and the text has the structure of a genuine profile.
    void writesWhatItReads() {
        const QString path = QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
        const auto file = MappedFile::open(path.toStdString());
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        const auto genuine = read_graph_profile((*file)->bytes());
        QVERIFY2(genuine, genuine ? "" : genuine.error().text().c_str());
        const std::string text = write_graph_profile(**genuine);
        const auto again = read_graph_profile(bytes_of(text));
        QVERIFY2(again, again ? "" : again.error().text().c_str());
        const GraphProfile& a = **genuine;
        const GraphProfile& b = **again;
        QVERIFY(b.warnings.empty());
        QCOMPARE(b.oprs.size(), a.oprs.size());
        for (std::size_t i = 0; i < a.oprs.size(); ++i) {
            QCOMPARE(b.text(b.oprs[i].name), a.text(a.oprs[i].name));
            QCOMPARE(b.text(b.oprs[i].type), a.text(a.oprs[i].type));
            QVERIFY(b.oprs[i].inputs == a.oprs[i].inputs);
            QVERIFY(b.oprs[i].outputs == a.oprs[i].outputs);
            QCOMPARE(b.oprs[i].order.has_value(), a.oprs[i].order.has_value());
        }
        QCOMPARE(b.sequence.size(), a.sequence.size());
        QCOMPARE(b.device.size(), a.device.size());
        for (std::size_t i = 0; i < a.device.size(); ++i) {
            // Objects have no order: find the record of the same operator.
            const auto same = std::find_if(b.device.begin(), b.device.end(), [&](const auto& r) { return r.opr == a.device[i].opr; });
            QVERIFY(same != b.device.end());
            QCOMPARE(same->span.start, a.device[i].span.start);
            QCOMPARE(same->span.kern, a.device[i].span.kern);
            QCOMPARE(same->span.end, a.device[i].span.end);
        }
        QCOMPARE(summarize(b).computation, summarize(a).computation);
        for (std::size_t i = 0; i < a.vars.size(); ++i) {
            QVERIFY(b.vars[i].shape == a.vars[i].shape);
            QCOMPARE(b.vars[i].mem_plan.has_value(), a.vars[i].mem_plan.has_value());
            QVERIFY(b.vars[i].shape_infer == a.vars[i].shape_infer);
        }

        // Key for key: every object of the written text has the keys that MegEngine's object of that place has.
        QJsonParseError error;
        const auto ours = QJsonDocument::fromJson(QByteArray::fromStdString(text), &error).object();
        QCOMPARE(error.error, QJsonParseError::NoError);
        QFile original(path);
        QVERIFY(original.open(QIODevice::ReadOnly));
        const auto theirs = QJsonDocument::fromJson(original.readAll()).object();
        compareKeys(ours, theirs, "");
    }

private:
    /// Recursively. Address keys depend on the process that was profiled, `gopt::cvprop` on MegEngine's own optimizer.
    static void compareKeys(const QJsonObject& ours, const QJsonObject& theirs, const QString& where) {
        static const QStringList ignored = {"prev_dev_ptr_end", "gopt::cvprop"};
        for (const QString& key : theirs.keys()) {
            if (ignored.contains(key)) continue;
            QVERIFY2(ours.contains(key), qPrintable(where + "/" + key));
            if (theirs[key].isObject() && ours[key].isObject()) compareKeys(ours[key].toObject(), theirs[key].toObject(), where + "/" + key);
        }
        for (const QString& key : ours.keys()) QVERIFY2(theirs.contains(key), qPrintable("only ours: " + where + "/" + key));
    }

private slots:
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
        QTest::newRow("cut") << QByteArray::fromStdString(json("{'graph_exec': {'operator': {'1': {'name': 'a")) << true;
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
