#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "format/writer.h"
#include "graph_compare.h"
#include "optimize/compat.h"
#include "optimize/optimize.h"
#include "restored_modes.h"

using namespace megascope;
using namespace megascope::test;

// Graphs that MegEngine dumped without optimization, optimized here, against its own optimized dumps of the same trace: the same
// operators in the same order with the same inputs, params and constants (to the bit), and the same bytes when they are written.
class OptimizeReferenceTest : public QObject {
    Q_OBJECT

    static std::filesystem::path reference() { return std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref"; }

    static void compare(const std::filesystem::path& source, const std::filesystem::path& wanted, std::uint64_t bits, bool relu6, bool same_bytes) {
        const auto from = read_dump(source);
        const auto to = read_dump(wanted);
        QVERIFY2(from && to, source.c_str());
        const auto graph = relu6 ? with_relu6(*from->main().graph) : from->main().graph;
        OptimizeReport report;
        auto ours = optimize_for_inference(graph, OptimizeOptions::from_bits(bits), {}, &report);
        QVERIFY2(ours, ours ? "" : ours.error().text().c_str());
        QVERIFY(!report.passes.empty());
        QCOMPARE(report.passes.back().oprs_after, (*ours)->oprs().size());
        ours = to_compatible(*ours, CompatTarget::v2, report.next_id);
        QVERIFY2(ours, ours ? "" : ours.error().text().c_str());
        const std::string difference = first_difference(**ours, *to->main().graph, same_bytes ? 0 : 1e-6);
        QVERIFY2(difference.empty(), difference.c_str());
        if (!same_bytes) return;
        const std::string name = first_other_name(**ours, *to->main().graph);
        QVERIFY2(name.empty(), name.c_str());
        const auto written = encode_graph(*ours, WriteOptions::like_input(to->main()));
        QVERIFY(written);
        const auto file = MappedFile::open(wanted);
        QVERIFY(file);
        QVERIFY(std::ranges::equal(written->joined(), (*file)->bytes().subspan(to->main().offset, to->main().size)));
    }

private slots:
    void smallCopies_data() {
        QTest::addColumn<QString>("net");
        QTest::addColumn<QString>("variant");
        QTest::addColumn<quint64>("bits");
        QTest::newRow("smallcnn default") << "smallcnn" << "default" << quint64{64};
        QTest::newRow("smallcnn ioc16") << "smallcnn" << "ioc16" << quint64{66};
        QTest::newRow("smallcnn io16xc32") << "smallcnn" << "io16xc32" << quint64{65};
        QTest::newRow("qnet default") << "qnet" << "default" << quint64{64};
    }
    void smallCopies() {
        QFETCH(QString, net);
        QFETCH(QString, variant);
        QFETCH(quint64, bits);
        const std::string stem = std::string(MEGASCOPE_TEST_DATA) + "/optimize/" + net.toStdString() + "_";
        compare(stem + "noopt.mge", stem + variant.toStdString() + ".mge", bits, false, true);
    }

    void nets_data() {
        QTest::addColumn<QString>("net");
        QTest::addColumn<QString>("variant");
        QTest::addColumn<quint64>("bits");
        QTest::addColumn<bool>("relu6");   ///< was RELU6 replaced by the converters after the optimization?
        const auto add = [](const char* net, bool relu6 = false, bool half = true) {
            const auto row = [&](const char* variant, quint64 bits) {
                QTest::addRow("%s %s", net, variant) << net << variant << bits << relu6;
            };
            row("default", 64);
            if (!half) return;
            row("ioc16", 66);
            row("io16xc32", 65);
        };
        add("nets/lenet");
        add("nets/mobilenetv2_tiny", true);
        add("nets/resnet18_w4");
        add("nets/smallcnn");
        add("nets/transformer_tiny");
        add("nets/vgg_tiny");
        add("quant/qnet_minmax_c16", false, false);
        add("quant/qnet_minmax_c32", false, false);
    }
    void nets() {
        QFETCH(QString, net);
        QFETCH(QString, variant);
        QFETCH(quint64, bits);
        QFETCH(bool, relu6);
        const auto folder = reference() / net.toStdString();
        if (!std::filesystem::is_directory(folder)) QSKIP("The reference data is not here.");
        // The converters' names hide what RELU6 was called, and a bias that MegEngine sums over channels in vectors differs in the
        // last bit.
        compare(folder / "noopt.mge", folder / (variant.toStdString() + ".mge"), bits, relu6, !relu6);
    }

    // Float16 on a quantized graph: MegEngine's dump fails, and so does ours, with the operator named.
    void halfFloatRefusesQuantizedNets() {
        const auto from = read_dump(std::filesystem::path(MEGASCOPE_TEST_DATA) / "optimize" / "qnet_noopt.mge");
        QVERIFY(from);
        const auto ours = optimize_for_inference(from->main().graph, OptimizeOptions::from_bits(66), {});
        QVERIFY(!ours);
        QCOMPARE(ours.error().code, ErrorCode::invalid_argument);
        QVERIFY(!ours.error().where.empty());
    }

    void stopsWhenCancelled() {
        const auto from = read_dump(std::filesystem::path(MEGASCOPE_TEST_DATA) / "optimize" / "smallcnn_noopt.mge");
        QVERIFY(from);
        const CancelToken cancel;
        cancel.cancel();
        const auto ours = optimize_for_inference(from->main().graph, {}, cancel);
        QVERIFY(!ours);
        QCOMPARE(ours.error().code, ErrorCode::cancelled);
    }
};

QTEST_APPLESS_MAIN(OptimizeReferenceTest)
#include "test_optimize_reference.moc"
