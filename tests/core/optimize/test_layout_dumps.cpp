#include <QtTest>

#include <filesystem>

#include "base/mapped_file.h"
#include "dump_match.h"
#include "exec/backend.h"
#include "graph/rewriter.h"
#include "optimize/compat.h"
#include "optimize/optimize.h"

using namespace megascope;

namespace {

const std::filesystem::path reference = MEGASCOPE_REFERENCE_DATA "/ref";

bool is_float16(const OptimizeOptions& options) { return options.f16_io_comp || options.f16_io_f32_comp; }

/// Runs a graph whose inputs take the values of a testcase; nothing when it cannot run.
std::optional<std::vector<Tensor>> run(const std::shared_ptr<const Graph>& graph, const std::vector<TestcaseInput>& values,
                                       std::string& error) {
    std::vector<Tensor> inputs;
    for (const OprId id : graph->inputs()) {
        const std::string& name = graph->opr(id).tensors.front().name;
        for (const TestcaseInput& value : values)
            if (value.name == name) inputs.push_back(value.value);
    }
    const std::shared_ptr<const Backend> backend = find_backend("reference");
    auto program = backend->compile(graph, {}, {});
    if (!program) return error = program.error().text(), std::nullopt;
    auto result = (*program)->run(inputs, nullptr, {});
    if (!result) return error = result.error().text(), std::nullopt;
    return std::move(result->outputs);
}

/// Dumps without optimizations hold MIN(MAX(x, 0), 6) where the traced graph had RELU6: converters run last. Undoes that, with
/// the names that the RELU6 operators have in another dump of the net, so that the passes see what MegEngine's passes saw.
std::shared_ptr<const Graph> without_converters(const Graph& graph, const Graph& named) {
    const auto constant = [](const Graph& g, VarId var) { return g.producer(var).type == "ImmutableTensor"; };
    const auto has_mode = [](const Opr& opr, const char* mode) {
        return opr.type == "Elemwise" && opr.param().enum_name("mode") == mode;
    };
    /// Position of the input of MIN that is no constant; nothing when it is not MIN(MAX(…, constant), constant).
    const auto relu6_input = [&](const Graph& g, const Opr& opr) -> std::optional<std::size_t> {
        if (!has_mode(opr, "MIN")) return std::nullopt;
        for (const std::size_t i : {0U, 1U}) {
            const Opr& maximum = g.producer(opr.inputs[i]);
            if (!has_mode(maximum, "MAX") || !constant(g, opr.inputs[1 - i])) continue;
            if (constant(g, maximum.inputs[0]) || constant(g, maximum.inputs[1])) return i;
        }
        return std::nullopt;
    };
    std::vector<std::string> names;
    for (const Opr& opr : named.oprs())
        if (relu6_input(named, opr)) names.push_back(named.var(opr.outputs[0]).name);
    GraphRewriter rewriter(graph);
    std::size_t count = 0;
    std::uint32_t converter_id = 0; // of the first constant that a converter made: the traced graph's ids end before it
    for (const Opr& opr : graph.oprs()) {
        const std::optional<std::size_t> input = relu6_input(graph, opr);
        if (!input) {
            if (!rewriter.copy(opr.id)) return nullptr;
            continue;
        }
        const Opr& maximum = graph.producer(opr.inputs[*input]);
        const std::string& six = graph.var(opr.inputs[1 - *input]).name;
        if (converter_id == 0) converter_id = static_cast<std::uint32_t>(std::stoul(six.substr(six.rfind('[') + 1)));
        const bool max_swapped = constant(graph, maximum.inputs[0]);
        Opr relu6 = opr;
        relu6.inputs = {rewriter.translated(maximum.inputs[max_swapped ? 1 : 0])};
        relu6.params.front().set("mode", std::int64_t{78});
        const auto id = rewriter.add(std::move(relu6), 1);
        if (!id || count == names.size()) return nullptr;
        Var& var = rewriter.var(rewriter.opr(*id).outputs[0]);
        var.name = names[count++];
        var.has_name = true;
        rewriter.translate(opr.outputs[0], var.id);
    }
    std::vector<GraphOutput> outputs(graph.outputs().begin(), graph.outputs().end());
    for (GraphOutput& output : outputs)
        if (converter_id) output.original_id = converter_id - 1;
    auto done = rewriter.finish(outputs);
    return done ? without_unused(**done).graph : nullptr;
}

double largest_difference(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return 1e30;
    double largest = 0;
    for (std::size_t i = 0; i < a.elements(); ++i)
        largest = std::max(largest, std::abs(real_at(a.ref(), i) - real_at(b.ref(), i)));
    return largest;
}

} // namespace

/// Every option that lays out or fuses convolutions, against MegEngine's dumps of the same nets.
class LayoutDumpsTest : public QObject {
    Q_OBJECT

    static void add_nets(const char* group, bool need_testcase) {
        for (const auto& net : std::filesystem::directory_iterator(reference / group)) {
            // A dump without optimizations, or, where there is none, the default dump.
            auto from = net.path() / "noopt.mge";
            if (!std::filesystem::exists(from)) from = net.path() / "default.mge";
            if (need_testcase && !std::filesystem::exists(net.path() / "default.test.mge")) continue;
            for (const auto& file : std::filesystem::directory_iterator(net)) {
                const std::string name = file.path().filename().string();
                const bool v1 = !need_testcase && (name == "v1_fuse.mge" || name == "v1_nchw88_fuse.mge");
                if ((name.starts_with("v1_") && !v1) || name.starts_with("v2_") || !name.ends_with(".mge") ||
                    name.ends_with(".test.mge") || name == "noopt.mge" || name == "default.mge")
                    continue;
                QTest::newRow((net.path().filename().string() + " " + file.path().stem().string()).c_str())
                    << QString::fromStdString(from.string()) << QString::fromStdString(file.path().string());
            }
        }
    }

private slots:
    void sameAsMegEngine_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        if (!std::filesystem::exists(reference / "nets")) QSKIP("The reference nets are not there.");
        add_nets("nets", false);
        add_nets("quant", false);
    }
    void sameAsMegEngine() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        const auto source = test::read_dump(from.toStdString()), dump = test::read_dump(to.toStdString());
        QVERIFY(source && dump);
        const auto options = OptimizeOptions::from_bits(dump->main().metadata.optimize_options);
        if (is_float16(options)) QSKIP("float16 is not a matter of layouts.");
        OptimizeReport report;
        const auto traced = without_converters(*source->main().graph, *dump->main().graph);
        QVERIFY(traced);
        auto ours = optimize_for_inference(traced, options, {}, &report);
        if (ours)
            ours = to_compatible(*ours, dump->main().container == Container::fbs_v2 ? CompatTarget::v2 : CompatTarget::v1,
                                 report.next_id);
        if (!ours) QFAIL(ours.error().text().c_str());
        std::string difference;
        const test::Likeness likeness = test::likeness(*ours, dump->main(), 1e-5, difference);
        const bool other_names = likeness == test::Likeness::ids || likeness == test::Likeness::names;
        const std::string name = other_names ? test::first_other_name(**ours, *dump->main().graph) : std::string();
        const auto id = [](const Graph& graph) { return std::to_string(graph.outputs()[0].original_id); };
        qInfo("%s%s%s (output ids %s | %s)", test::likeness_text(likeness), name.empty() ? "" : ": ", name.c_str(),
              id(**ours).c_str(), id(*dump->main().graph).c_str());
        const QString row = QTest::currentDataTag();
        if (options.layout == LayoutTransform::nchw88 && (row.startsWith("resnet18_w4") || row.startsWith("mobilenetv2_tiny"))) {
            // MegEngine pads a bias that is padded already; the dump that it writes cannot run.
            QVERIFY(likeness == test::Likeness::different);
            return;
        }
        if (likeness == test::Likeness::different) QFAIL(difference.c_str());
        // Their dumps without optimizations tell all that the passes had to go by (docs/optimize.md lists the others).
        for (const char* net : {"smallcnn ", "vgg_tiny ", "lenet ", "qnet_minmax_c16 ", "qnet_minmax_c32 ", "resnet18_w4 fuse"})
            if (row.startsWith(net)) QVERIFY(likeness == test::Likeness::bytes);
    }

    /// The same from the copies in tests/data, where every byte is expected.
    void sameBytes_data() {
        QTest::addColumn<QString>("net");
        QTest::addColumn<QString>("option");
        for (const char* option : {"fuse", "nchw44", "nchw88"}) QTest::addRow("smallcnn %s", option) << "smallcnn" << option;
        for (const char* option : {"fuse_z", "nchw4", "nchw32", "chwn4", "nchw44_dot", "hwcd4"})
            QTest::addRow("qnet %s", option) << "qnet" << option;
    }
    void sameBytes() {
        QFETCH(QString, net);
        QFETCH(QString, option);
        const QString folder = MEGASCOPE_TEST_DATA "/optimize/";
        const auto source = test::read_dump((folder + net + ".noopt.mge").toStdString());
        const auto dump = test::read_dump((folder + net + "." + option + ".mge").toStdString());
        QVERIFY(source && dump);
        const auto options = OptimizeOptions::from_bits(dump->main().metadata.optimize_options);
        const auto ours = optimize_for_inference(source->main().graph, options, {}, nullptr);
        if (!ours) QFAIL(ours.error().text().c_str());
        std::string difference;
        const test::Likeness likeness = test::likeness(*ours, dump->main(), 0, difference);
        if (likeness != test::Likeness::bytes) QFAIL((test::likeness_text(likeness) + (": " + difference)).c_str());
    }

    /// Where MegEngine's dump stops with a RuntimeError, Megascope stops with a sentence.
    void unsuitableGraphs_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<int>("layout");
        QTest::addColumn<QString>("sentence");
        const int nchw64 = static_cast<int>(LayoutTransform::nchw64), nhwcd4 = static_cast<int>(LayoutTransform::nhwcd4);
        const QString data = MEGASCOPE_TEST_DATA "/optimize/";
        QTest::newRow("grouped convolution, nchw64")
            << data + "qnet.noopt.mge" << nchw64 << "The NCHW64 layout only supports padding channels in dense convolutions.";
        QTest::newRow("adaptive pooling, hwcd4") << data + "smallcnn.noopt.mge" << nhwcd4 << "It has no form for NHWCD4 images";
        const QString nets = QString::fromStdString(reference.string()) + "/nets/";
        QTest::newRow("mobilenet, nchw64") << nets + "mobilenetv2_tiny/noopt.mge" << nchw64
                                           << "only supports padding channels in dense convolutions";
        QTest::newRow("stack, nchw64") << QString::fromStdString(reference.string()) + "/ops/conv_layouts/stack_none/model.mge"
                                       << nchw64 << "only supports padding channels in dense convolutions";
    }
    void unsuitableGraphs() {
        QFETCH(QString, path);
        QFETCH(int, layout);
        QFETCH(QString, sentence);
        if (!std::filesystem::exists(path.toStdString())) QSKIP("The reference data is not there.");
        const auto source = test::read_dump(path.toStdString());
        QVERIFY(source);
        OptimizeOptions options;
        options.layout = static_cast<LayoutTransform>(layout);
        const auto ours = optimize_for_inference(source->main().graph, options, {}, nullptr);
        QVERIFY(!ours);
        const QString message = QString::fromStdString(ours.error().text());
        QVERIFY2(message.contains(sentence), qPrintable(message));
        QVERIFY(ours.error().where.size() > 3); // the operator
    }

    /// Graphs with assertions: what a dump with testcases holds.
    void assertedGraphs_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        if (!std::filesystem::exists(reference / "nets")) QSKIP("The reference nets are not there.");
        for (const char* group : {"nets", "quant"})
            for (const auto& net : std::filesystem::directory_iterator(reference / group))
                for (const auto& file : std::filesystem::directory_iterator(net)) {
                    const std::string name = file.path().filename().string();
                    const auto from = net.path() / "noopt.test.mge";
                    if (!name.ends_with(".test.mge") || name == "noopt.test.mge" || name == "noassert.test.mge" ||
                        !std::filesystem::exists(from))
                        continue;
                    QTest::newRow((net.path().filename().string() + " " + name).c_str())
                        << QString::fromStdString(from.string()) << QString::fromStdString(file.path().string());
                }
    }
    void assertedGraphs() { sameAsMegEngine(); }

    void operatorCases_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        if (!std::filesystem::exists(reference / "ops")) QSKIP("The reference operator cases are not there.");
        const auto add = [](const std::filesystem::path& from, const std::filesystem::path& to) {
            if (std::filesystem::exists(from / "model.mge") && std::filesystem::exists(to / "model.mge"))
                QTest::newRow(to.filename().string().c_str()) << QString::fromStdString((from / "model.mge").string())
                                                              << QString::fromStdString((to / "model.mge").string());
        };
        for (const auto& entry : std::filesystem::directory_iterator(reference / "ops/conv_layouts"))
            add(reference / "ops/conv_layouts/stack_none", entry.path());
        for (const auto& entry : std::filesystem::directory_iterator(reference / "ops/quantized_conv"))
            if (const std::string name = entry.path().filename().string(); name.starts_with("k3_relu_enable"))
                add(reference / "ops/quantized_conv/k3_relu", entry.path());
        for (const auto& entry : std::filesystem::directory_iterator(reference / "ops/conv2d_fused"))
            add(reference / "ops/conv2d" / entry.path().filename(), entry.path());
    }
    void operatorCases() { sameAsMegEngine(); }

    /// Every operator case computes the same in every layout, or a sentence says why it cannot be laid out.
    void everyLayoutKeepsTheResults_data() {
        QTest::addColumn<QString>("group");
        if (!std::filesystem::exists(reference / "ops")) QSKIP("The reference operator cases are not there.");
        for (const char* group :
             {"adaptive_pooling", "conv2d", "conv_bias", "conv_transpose2d", "elemwise_multitype", "interpolate", "pooling",
              "quantized_conv", "reduce", "resize", "softmax", "warp_affine", "warp_perspective"})
            if (std::filesystem::exists(reference / "ops" / group)) QTest::newRow(group) << group;
    }
    void everyLayoutKeepsTheResults() {
        QFETCH(QString, group);
        std::size_t same = 0;
        for (const auto& entry : std::filesystem::directory_iterator(reference / "ops" / group.toStdString())) {
            const auto dump = test::read_dump(entry.path() / "model.test.mge");
            if (!dump || dump->testcases.empty()) continue;
            std::string error;
            const auto before = run(dump->main().graph, dump->testcases.front().inputs, error);
            if (!before) continue;
            for (int layout = 1; layout <= 8; ++layout) {
                OptimizeOptions options;
                options.layout = static_cast<LayoutTransform>(layout);
                options.fuse_preprocess = true;
                const std::string row = entry.path().filename().string() + " in layout " + std::to_string(layout) + ": ";
                const auto ours = optimize_for_inference(dump->main().graph, options, {}, nullptr);
                if (!ours) {
                    const QString sentence = QString::fromStdString(ours.error().message);
                    bool known = false;
                    for (const char* reason :
                         {"padding channels in dense convolutions", "Only convolutions in NCHW", "Only image operators in NCHW",
                          "Only pooling in NCHW", "Only tensors in NCHW4 become CHWN4", "a ConvBias with z"})
                        known |= sentence.contains(reason);
                    QVERIFY2(known, (row + ours.error().text()).c_str());
                    continue;
                }
                const auto after = run(*ours, dump->testcases.front().inputs, error);
                QVERIFY2(after, (row + error).c_str());
                QCOMPARE(after->size(), before->size());
                for (std::size_t i = 0; i < after->size(); ++i)
                    QVERIFY2(largest_difference(after->at(i), before->at(i)) <= 1e-3, (row + "other values").c_str());
                ++same;
            }
        }
        QVERIFY(same > 0);
    }

    void sameResults_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        if (!std::filesystem::exists(reference / "nets")) QSKIP("The reference nets are not there.");
        add_nets("nets", true);
        add_nets("quant", true);
    }
    void sameResults() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        const auto source = test::read_dump(from.toStdString()), dump = test::read_dump(to.toStdString());
        const auto cases = test::read_dump((std::filesystem::path(from.toStdString()).parent_path() / "default.test.mge").string());
        QVERIFY(source && dump && cases && !cases->testcases.empty());
        const auto options = OptimizeOptions::from_bits(dump->main().metadata.optimize_options);
        if (is_float16(options)) QSKIP("float16 is not a matter of layouts.");
        const auto ours = optimize_for_inference(source->main().graph, options, {}, nullptr);
        if (!ours) QFAIL(ours.error().text().c_str());
        std::string error;
        const auto before = run(source->main().graph, cases->testcases.front().inputs, error);
        const auto after = before ? run(*ours, cases->testcases.front().inputs, error) : std::nullopt;
        if (!after) QFAIL(error.c_str());
        QCOMPARE(after->size(), before->size());
        for (std::size_t i = 0; i < after->size(); ++i) QCOMPARE_LE(largest_difference(after->at(i), before->at(i)), 1e-3);
    }
};

QTEST_GUILESS_MAIN(LayoutDumpsTest)
#include "test_layout_dumps.moc"
