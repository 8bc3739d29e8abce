// Three networks written with the recording API, compared with what MegEngine itself recorded and computed for the same weights
// where the reference material is there.

#include <QtTest>

#include "format/reader.h"
#include "nets.h"
#include "trace/trace.h"

using namespace megascope;
using namespace megascope::test;

namespace {

Expected<std::shared_ptr<const Model>> open_model(const std::filesystem::path& path) {
    MGS_ASSIGN(auto file, MappedFile::open(path));
    return read_model(std::move(file));
}

} // namespace

class TestTraceNets : public QObject {
    Q_OBJECT
private slots:
    void replay_gives_the_same();
    void same_operators_as_megengine_data();
    void same_operators_as_megengine();
    void same_values_as_megengine_data() { same_operators_as_megengine_data(); }
    void same_values_as_megengine();
    void same_names_as_megengine();
};

void TestTraceNets::replay_gives_the_same() {
    for (const Net& net : nets) {
        Weights weights;
        const EagerTensor data = random_input(net);
        const Tensor plain = net.forward(weights, data).value();
        for (const bool symbolic : {false, true}) {
            Trace trace([&](const EagerTensor& x) { return net.forward(weights, x); }, {.symbolic = symbolic, .capture_as_const = true});
            for (int i = 0; i < 3; ++i) QVERIFY(difference(plain, trace(data).tensor().value()) < 1e-6);
        }
    }
}

void TestTraceNets::same_operators_as_megengine_data() {
    QTest::addColumn<int>("number");
    for (int i = 0; i < 3; ++i) QTest::addRow("%s", nets[i].name) << i;
}

void TestTraceNets::same_operators_as_megengine() {
    QFETCH(int, number);
    const Net& net = nets[number];
    const auto genuine = open_model(reference(std::string(net.name) + "/noopt.mge"));
    if (!genuine) QSKIP("needs the reference material (ref/nets)");
    Weights weights(reference(std::string(net.name) + "/state_dict.npz"));
    Trace trace([&](const EagerTensor& x) { return net.forward(weights, x); }, {.symbolic = true, .capture_as_const = true});
    static_cast<void>(trace(random_input(net)));
    QVERIFY(weights.ok());
    const auto ours = trace.to_graph({"data"});
    QVERIFY2(ours.has_value(), ours ? "" : ours.error().text().c_str());
    const QStringList have = operator_list(**ours), want = operator_list(*(*genuine)->main().graph);
    for (qsizetype i = 0; i < std::min(have.size(), want.size()); ++i) QCOMPARE(have[i], want[i]);
    QCOMPARE(have.size(), want.size());
}

void TestTraceNets::same_values_as_megengine() {
    QFETCH(int, number);
    const Net& net = nets[number];
    const auto data = read_npy(reference(std::string(net.name) + "/data.npy"));
    const auto out = read_npy(reference(std::string(net.name) + "/out0.npy"));
    if (!data || !out) QSKIP("needs the reference material (ref/nets)");
    Weights weights(reference(std::string(net.name) + "/state_dict.npz"));
    const EagerTensor y = net.forward(weights, EagerTensor(data->tensor.aligned()));
    QVERIFY(weights.ok());
    QVERIFY2(difference(out->tensor, y.value()) < 2e-5, qPrintable(QString::number(difference(out->tensor, y.value()))));
}

void TestTraceNets::same_names_as_megengine() {
    // Operators keep no names in this dump, vars do: every one that MegEngine's trace named.
    for (const Net& net : nets) {
        const auto genuine = open_model(reference(std::string(net.name) + "/noopt.mge"));
        if (!genuine) QSKIP("needs the reference material (ref/nets)");
        Weights weights(reference(std::string(net.name) + "/state_dict.npz"));
        Trace trace([&](const EagerTensor& x) { return net.forward(weights, x); }, {.symbolic = true, .capture_as_const = true});
        static_cast<void>(trace(random_input(net)));
        const auto graph = trace.to_graph({"data"});
        QVERIFY(graph.has_value());
        const auto names = [](const Graph& g) {
            QStringList list;
            for (const Var& var : g.vars()) {
                const QString name = QString::fromStdString(var.name);
                // Default names show ids of the recording process.
                if (!name.contains('(') && !name.startsWith("const")) list << name;
            }
            list.sort();
            return list.join('\n');
        };
        QCOMPARE(names(**graph), names(*(*genuine)->main().graph));
    }
}

QTEST_GUILESS_MAIN(TestTraceNets)
#include "test_trace_nets.moc"
