// Traced functions in files: three networks dumped in both formats, opened again, their testcases run; names; what cannot be dumped.

#include <QTemporaryDir>
#include <QtTest>

#include <map>

#include "compare/verdict.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "nets.h"
#include "trace/functional/random.h"
#include "trace/trace.h"

using namespace megascope;
using namespace megascope::test;

namespace {

Expected<std::shared_ptr<const Model>> open_model(const std::filesystem::path& path) {
    MGS_ASSIGN(auto file, MappedFile::open(path));
    return read_model(std::move(file));
}

/// Runs a testcase on the reference backend and gives the value that its only AssertEqual asserts beside the expected one.
Expected<std::pair<Tensor, Tensor>> run_testcase(const Model& model, std::size_t number) {
    const std::shared_ptr<const Graph>& graph = model.main().graph;
    std::vector<Tensor> inputs;
    for (const OprId id : graph->inputs())
        for (const TestcaseInput& input : model.testcases[number].inputs)
            if (input.name == graph->opr(id).tensors.front().name) inputs.push_back(input.value);
    const Opr& assertion = graph->producer(graph->outputs().front().var);
    if (assertion.type != "AssertEqual") return fail(ErrorCode::corrupt, "no assertion");
    struct Keep : RunObserver {
        std::map<VarId, Tensor> values;
        void value(VarId var, const Tensor& tensor) override { values[var] = tensor; }
    } keep;
    CompileOptions options;
    options.keep = {assertion.inputs[0], assertion.inputs[1]};
    MGS_ASSIGN(auto program, find_backend("reference")->compile(graph, options, {}));
    MGS_TRY(program->run(inputs, &keep, {}));
    return std::pair(keep.values[assertion.inputs[0]], keep.values[assertion.inputs[1]]);
}

} // namespace

class TestTraceDump : public QObject {
    Q_OBJECT
private slots:
    void dump_open_run_data();
    void dump_open_run();
    void optimized_as_megengine_data();
    void optimized_as_megengine();
    void two_arguments_and_a_file();
    void captured_tensors_are_immutable();
    void gradients();
    void parts_and_testcases();
    void integers_of_16_bits();
    void appended();
    void refused();
};

void TestTraceDump::dump_open_run_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("optimize");
    for (int i = 0; i < 3; ++i)
        for (const char* format : {"FBS", "FBS_V2"})
            for (const bool optimize : {false, true})
                QTest::addRow("%s %s %s", nets[i].name, format, optimize ? "optimized" : "plain") << i << format << optimize;
}

void TestTraceDump::dump_open_run() {
    QFETCH(int, number);
    QFETCH(QString, format);
    QFETCH(bool, optimize);
    const Net& net = nets[number];
    Weights weights;
    Trace trace([&](const EagerTensor& x) { return net.forward(weights, x); }, {.symbolic = true, .capture_as_const = true});
    const EagerTensor data = random_input(net);
    const Tensor first = trace(data).tensor().value();
    const Tensor replayed = trace(data).tensor().value();
    QVERIFY(difference(first, replayed) < 1e-6);

    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("net.mge").toStdString();
    DumpOptions options;
    options.arg_names = {"data"};
    options.output_names = {"out"};
    options.dump_format = format.toStdString();
    options.optimize_for_inference = optimize;
    options.keep_opr_name = true;
    options.keep_var_name = 2;
    options.testcases = {{.label = "one", .values = {{.name = "data", .value = data.value()}}}};
    options.maxerr = 1e-3;
    const auto info = trace.dump(path, options);
    QVERIFY2(info.has_value(), info ? "" : info.error().text().c_str());
    QCOMPARE(info->testcases, std::size_t(1));

    const auto model = open_model(path);
    QVERIFY2(model.has_value(), model ? "" : model.error().text().c_str());
    QVERIFY2((*model)->warnings.empty(), (*model)->warnings.empty() ? "" : (*model)->warnings.front().c_str());
    QCOMPARE((*model)->main().container, format == "FBS" ? Container::fbs_mgbc : Container::fbs_v2);
    QCOMPARE((*model)->testcases.size(), std::size_t(1));
    const auto run = run_testcase(**model, 0);
    QVERIFY2(run.has_value(), run ? "" : run.error().text().c_str());
    QVERIFY(difference(run->first, first) < 1e-5); // what was written is what the function computed
    const AssertVerdict verdict = assert_equal(run->first, run->second, 1e-3);
    QVERIFY2(verdict.passed, qPrintable(QString("error %1").arg(verdict.max_error)));
}

namespace {

EagerTensor floats(std::vector<float> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return EagerTensor::floats({n}, values);
}

std::vector<std::vector<double>> run_graph(const std::shared_ptr<const Graph>& graph, const std::map<std::string, Tensor>& values) {
    std::vector<Tensor> inputs;
    for (const OprId id : graph->inputs()) inputs.push_back(values.at(graph->opr(id).tensors.front().name));
    const auto program = find_backend("reference")->compile(graph, {}, {});
    const auto run = program ? (*program)->run(inputs, nullptr, {}) : forward(program.error());
    std::vector<std::vector<double>> results;
    if (run)
        for (const Tensor& output : run->outputs) results.push_back(to_real(output.ref()));
    return results;
}

/// Dumps into a new file of the folder and opens it.
std::shared_ptr<const Model> dumped(const Trace& trace, const DumpOptions& options, DumpInfo* info = nullptr) {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("f.mge").toStdString();
    const auto written = trace.dump(path, options);
    if (!written) {
        qWarning("%s", written.error().text().c_str());
        return nullptr;
    }
    if (info) *info = *written;
    const auto model = open_model(path);
    return model ? *model : nullptr;
}

} // namespace

void TestTraceDump::optimized_as_megengine_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<QString>("file");
    for (int i = 0; i < 3; ++i)
        for (const char* file : {"default", "fuse", "v1_allnames"})
            if (std::string(nets[i].name) != "transformer_tiny" || std::string(file) != "fuse") // nothing to fuse, so there is no such file
                QTest::addRow("%s %s", nets[i].name, file) << i << file;
}

void TestTraceDump::optimized_as_megengine() {
    // The whole way: recorded here and dumped with MegEngine's options gives the operators that MegEngine wrote.
    QFETCH(int, number);
    QFETCH(QString, file);
    const Net& net = nets[number];
    const auto genuine = open_model(reference(std::string(net.name) + "/" + file.toStdString() + ".mge"));
    if (!genuine) QSKIP("needs the reference material (ref/nets)");
    Weights weights(reference(std::string(net.name) + "/state_dict.npz"));
    Trace trace([&](const EagerTensor& x) { return net.forward(weights, x); }, {.symbolic = true, .capture_as_const = true});
    static_cast<void>(trace(random_input(net)));
    DumpOptions options;
    options.arg_names = {"data"};
    options.optimize.fuse_conv_bias_nonlinearity = file == "fuse";
    if (file.startsWith("v1")) options.dump_format = "FBS";
    const auto ours = dumped(trace, options);
    QVERIFY(ours != nullptr);
    const QStringList have = operator_list(*ours->main().graph), want = operator_list(*(*genuine)->main().graph);
    for (qsizetype i = 0; i < std::min(have.size(), want.size()); ++i) QCOMPARE(have[i], want[i]);
    QCOMPARE(have.size(), want.size());
}

void TestTraceDump::two_arguments_and_a_file() {
    Trace f([](const EagerTensor& a, const EagerTensor& b) { return a + b; }, {.symbolic = true, .capture_as_const = true});
    const EagerTensor a = EagerTensor::ints({1}, {2}), b = EagerTensor::ints({1}, {4});
    for (int i = 0; i < 3; ++i) QCOMPARE(f(a, b).tensor().item(), 6.0);
    for (const char* format : {"FBS", "FBS_V2"}) {
        DumpInfo info;
        const auto model = dumped(f, {.dump_format = format}, &info);
        QVERIFY(model != nullptr);
        QCOMPARE(info.nr_opr, std::size_t(3));
        QCOMPARE(info.inputs, (std::vector<std::string>{"arg_0", "arg_1"}));
        QCOMPARE(info.outputs, std::vector<std::string>{"ADD"});
        QCOMPARE(run_graph(model->main().graph, {{"arg_0", a.value()}, {"arg_1", b.value()}}), (std::vector<std::vector<double>>{{6.0}}));
    }
}

void TestTraceDump::captured_tensors_are_immutable() {
    const EagerTensor p = floats({2});
    Trace f([&](const EagerTensor& x) { return x * p; }, {.symbolic = true, .capture_as_const = true});
    f(floats({3}));
    const auto model = dumped(f, {.optimize_for_inference = false});
    QVERIFY(model != nullptr);
    const Graph& graph = *model->main().graph;
    QStringList sources;
    for (const VarId input : graph.producer(graph.outputs()[0].var).inputs) sources << QString::fromStdString(graph.producer(input).type);
    QCOMPARE(sources, (QStringList{"Host2DeviceCopy", "ImmutableTensor"}));
    QCOMPARE(run_graph(model->main().graph, {{"arg_0", floats({3}).value()}}), (std::vector<std::vector<double>>{{6.0}}));
}

void TestTraceDump::gradients() {
    // y = x0 · x1 and its gradient for x0, written out.
    Trace f([](const EagerTensor& x0, const EagerTensor& x1) { return std::vector{x0 * x1, F::full({3}, 1) * x1}; },
            {.symbolic = true, .capture_as_const = true});
    const EagerTensor x0 = floats({1, 2, 3}), x1 = floats({4, 5, 6});
    const TraceValue y = f(x0, x1);
    QCOMPARE(y[1].to_real(), x1.to_real());
    const auto model = dumped(f, {.arg_names = {"a", "b"}, .output_names = {"y", "dx0"}, .optimize_for_inference = false});
    QVERIFY(model != nullptr);
    const auto results = run_graph(model->main().graph, {{"a", x0.value()}, {"b", x1.value()}});
    QCOMPARE(results, (std::vector<std::vector<double>>{y[0].to_real(), y[1].to_real()}));
}

void TestTraceDump::parts_and_testcases() {
    Trace f([](const EagerTensor& x) { return F::split(x, 3, 1); }, {.symbolic = true, .capture_as_const = true});
    f(EagerTensor::floats({1, 12, 4}, std::vector<float>(48, 1)));
    DumpOptions options;
    options.arg_names = {"data"};
    options.input_data = std::vector<std::string>{"data:#rand(0, 255)", "data:#rand(-1, 1)"};
    DumpInfo info;
    const auto model = dumped(f, options, &info);
    QVERIFY(model != nullptr);
    QCOMPARE(info.testcases, std::size_t(2));
    QCOMPARE(model->testcases.size(), std::size_t(2));
    QCOMPARE(model->main().graph->outputs().size(), std::size_t(3));
    for (std::size_t i = 0; i < 2; ++i) {
        const auto run = run_testcase(*model, i);
        QVERIFY2(run.has_value(), run ? "" : run.error().text().c_str());
        QVERIFY(assert_equal(run->first, run->second, 1e-6).passed);
    }
}

void TestTraceDump::integers_of_16_bits() {
    const DType u16 = DTypeId::uint16;
    Trace f([&](const EagerTensor& x) { return x * F::scalar(2, u16); }, {.symbolic = true, .capture_as_const = true});
    const EagerTensor x(Tensor::copy_of<std::uint16_t>(u16, {3}, std::vector<std::uint16_t>{1, 300, 20000}));
    QCOMPARE(f(x).tensor().to_real(), (std::vector<double>{2, 600, 40000}));
    const auto model = dumped(f, {.arg_names = {"data"}});
    QVERIFY(model != nullptr);
    QCOMPARE(run_graph(model->main().graph, {{"data", x.value()}}), (std::vector<std::vector<double>>{{2, 600, 40000}}));
}

void TestTraceDump::appended() {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("two.mge").toStdString();
    Trace f([](const EagerTensor& x) { return x * 3; }, {.capture_as_const = true}), g([](const EagerTensor& x) { return x - 1; }, {.capture_as_const = true});
    f(floats({1}));
    g(floats({1}));
    QVERIFY(f.dump(path).has_value());
    QVERIFY(g.dump(path, {.append = true}).has_value());
    const auto model = open_model(path);
    QVERIFY(model.has_value());
    QCOMPARE((*model)->graphs.size(), std::size_t(2));
    QCOMPARE(run_graph((*model)->graphs[1].graph, {{"arg_0", floats({5}).value()}}), (std::vector<std::vector<double>>{{4.0}}));
}

void TestTraceDump::refused() {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("none.mge").toStdString();
    Trace uncaptured([](const EagerTensor& x) { return -x; });
    uncaptured(floats({1}));
    QVERIFY(!uncaptured.dump(path).has_value());
    Trace f([](const EagerTensor& x) { return -x; }, {.capture_as_const = true});
    f(floats({1}));
    QVERIFY(!f.dump(path, {.arg_names = {"a", "b"}}).has_value());
    QVERIFY(!f.dump(path, {.dump_format = "FBS_V3"}).has_value());
    QVERIFY(!f.dump(path, {.input_data = std::vector<std::string>()}).has_value());
    QVERIFY(!std::filesystem::exists(path));
}

QTEST_GUILESS_MAIN(TestTraceDump)
#include "test_trace_dump.moc"
