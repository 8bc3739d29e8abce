#include <QtTest>

#include <cmath>
#include <filesystem>

#include "exec/backend.h"
#include "graph_compare.h"
#include "optimize/compat.h"
#include "optimize/optimize.h"
#include "optimize/sequence.h"
#include "tensor/npy.h"

using namespace megascope;
using namespace megascope::test;

// The outputs of nets before and after the rewriting, computed by the reference backend, and MegEngine's own.
class OptimizeValuesTest : public QObject {
    Q_OBJECT

    static Expected<std::vector<Tensor>> outputs(const std::shared_ptr<const Graph>& graph, const Tensor& input) {
        MGS_ASSIGN(auto program, find_backend("reference")->compile(graph, {}, {}));
        const std::vector<Tensor> inputs{input};
        MGS_ASSIGN(auto result, program->run(inputs, nullptr, {}));
        return result.outputs;
    }

    /// Largest difference relative to the largest value; negative when the tensors cannot be compared.
    static double difference(const Tensor& a, const Tensor& b) {
        if (a.shape() != b.shape() || a.dtype().id != b.dtype().id) return -1;
        double largest = 1e-30;
        double worst = 0;
        for (std::size_t i = 0; i < a.elements(); ++i) {
            largest = std::max(largest, std::abs(real_at(b.ref(), i)));
            worst = std::max(worst, std::abs(real_at(a.ref(), i) - real_at(b.ref(), i)));
        }
        return worst / largest;
    }

    static std::filesystem::path copy(const char* name) { return std::filesystem::path(MEGASCOPE_TEST_DATA) / "optimize" / name; }

private slots:
    // After every single pass of the sequence the graph computes the same.
    void everyPassKeepsTheOutput_data() {
        QTest::addColumn<quint64>("bits");
        QTest::addColumn<double>("tolerance");
        QTest::newRow("default") << quint64{64} << 1e-5;
        QTest::newRow("io16xc32") << quint64{65} << 0.02;
        QTest::newRow("fuse") << quint64{68} << 1e-5;
    }
    void everyPassKeepsTheOutput() {
        QFETCH(quint64, bits);
        QFETCH(double, tolerance);
        const auto dump = read_dump(copy("smallcnn_noopt.mge"));
        const auto input = read_npy(copy("smallcnn_data.npy"));
        const auto expected = read_npy(copy("smallcnn_out0.npy"));
        QVERIFY(dump && input && expected);
        Workspace workspace(*dump->main().graph);
        std::size_t passes_that_changed = 0;
        for (const PassStep& step : pass_sequence(OptimizeOptions::from_bits(bits))) {
            passes_that_changed += step.apply(workspace) ? 1 : 0;
            const auto result = outputs(workspace.finish(), input->tensor);
            QVERIFY2(result, step.name.data());
            const double off = difference(result->front(), expected->tensor);
            QVERIFY2(off >= 0 && off <= tolerance, (std::string(step.name) + ": " + std::to_string(off)).c_str());
        }
        QVERIFY(passes_that_changed >= 5);
    }

    void nets_data() {
        QTest::addColumn<QString>("net");
        QTest::addColumn<quint64>("bits");
        QTest::addColumn<double>("tolerance");
        for (const char* net : {"nets/lenet", "nets/mobilenetv2_tiny", "nets/smallcnn", "nets/transformer_tiny", "nets/vgg_tiny"}) {
            QTest::addRow("%s default", net) << net << quint64{64} << 1e-4;
            QTest::addRow("%s io16xc32", net) << net << quint64{65} << 0.03;
        }
        QTest::newRow("qnet_minmax_c16 default") << "quant/qnet_minmax_c16" << quint64{64} << 1e-4;
    }
    void nets() {
        QFETCH(QString, net);
        QFETCH(quint64, bits);
        QFETCH(double, tolerance);
        const auto folder = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / net.toStdString();
        const auto input = read_npy(folder / "data.npy");
        const auto expected = read_npy(folder / "out0.npy");
        if (!input || !expected) QSKIP("The reference data is not here.");
        const auto dump = read_dump(folder / "noopt.mge");
        QVERIFY(dump);
        const auto before = outputs(dump->main().graph, input->tensor);
        QVERIFY2(before, before ? "" : before.error().text().c_str());
        auto graph = optimize_for_inference(dump->main().graph, OptimizeOptions::from_bits(bits), {});
        QVERIFY2(graph, graph ? "" : graph.error().text().c_str());
        const auto after = outputs(*graph, input->tensor);
        QVERIFY2(after, after ? "" : after.error().text().c_str());
        const double changed = difference(after->front(), before->front());
        QVERIFY2(changed >= 0 && changed <= tolerance, std::to_string(changed).c_str());
        const double off = difference(after->front(), expected->tensor);
        QVERIFY2(off >= 0 && off <= tolerance, std::to_string(off).c_str());
        if (bits != 64) return;
        // What older readers need computes the same as well.
        graph = to_compatible(*graph, CompatTarget::v1);
        QVERIFY2(graph, graph ? "" : graph.error().text().c_str());
        const auto compatible = outputs(*graph, input->tensor);
        QVERIFY2(compatible, compatible ? "" : compatible.error().text().c_str());
        const double converted = difference(compatible->front(), after->front());
        QVERIFY2(converted >= 0 && converted <= tolerance, std::to_string(converted).c_str());
    }

    // Dumps of real networks, optimized once more: they stay runnable graphs with the same outputs in the same order.
    void bigDumpsStayWhole() {
        const auto root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "big";
        if (!std::filesystem::is_directory(root)) QSKIP("The reference data is not here.");
        int dumps = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().filename() != "plain.mge") continue;
            const auto dump = read_dump(entry.path());
            if (!dump) continue;
            const Graph& before = *dump->main().graph;
            const auto after = optimize_for_inference(dump->main().graph, {}, {});
            QVERIFY2(after, (entry.path().string() + (after ? "" : ": " + after.error().text())).c_str());
            QCOMPARE((*after)->outputs().size(), before.outputs().size());
            const GraphInfo info = infer_graph(before);
            const GraphInfo now = infer_graph(**after);
            for (std::size_t i = 0; i < before.outputs().size(); ++i) {
                const VarDesc& wanted = info.var(before.outputs()[i].var);
                const VarDesc& got = now.var((*after)->outputs()[i].var);
                QVERIFY2(!wanted.dtype || got.dtype == wanted.dtype, entry.path().c_str());
                QVERIFY2(!wanted.shape || got.shape == wanted.shape, entry.path().c_str());
            }
            ++dumps;
        }
        qInfo("%d dumps", dumps);
        QVERIFY(dumps > 100);
    }
};

QTEST_APPLESS_MAIN(OptimizeValuesTest)
#include "test_optimize_values.moc"
