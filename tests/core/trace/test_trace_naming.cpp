// What operators, inputs, outputs and constants of a recorded graph are called, and which graphs cannot be made.

#include <QtTest>

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/nn.h"
#include "trace/functional/shape.h"
#include "trace/functional/vision.h"
#include "trace/name_scope.h"
#include "trace/trace.h"

using namespace megascope;
namespace F = megascope::functional;

namespace {

EagerTensor ones(Shape shape, const std::string& name = {}) {
    return EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, shape, std::vector<float>(shape.elements(), 1)), name);
}

using Names = std::vector<std::string>;

std::shared_ptr<const Graph> graph_of(const std::function<TraceValue(const EagerTensor&)>& function, const EagerTensor& x, const Names& args = {},
                                      const Names& outputs = {}, bool symbolic = true) {
    Trace trace([&](const EagerTensor& t) { return function(t); }, {.symbolic = symbolic, .capture_as_const = true});
    trace(x);
    const auto graph = trace.to_graph(args, outputs);
    if (!graph) qWarning("%s", graph.error().text().c_str());
    return graph ? *graph : nullptr;
}

/// Names of the operators that are neither inputs nor constants.
QStringList oprs(const Graph& graph) {
    QStringList list;
    for (const Opr& opr : graph.oprs())
        if (opr.type != "ImmutableTensor" && opr.type != "Host2DeviceCopy") list << QString::fromStdString(opr.name);
    return list;
}
QString output(const Graph& graph, std::size_t i = 0) { return QString::fromStdString(graph.var(graph.outputs()[i].var).name); }
QString input(const Graph& graph) { return QString::fromStdString(graph.opr(graph.inputs()[0]).name); }

} // namespace

class TestTraceNaming : public QObject {
    Q_OBJECT
private slots:
    void operators_and_scopes();
    void duplicates_are_numbered();
    void operators_without_a_name_of_their_own();
    void several_outputs();
    void inputs();
    void outputs();
    void constants_and_parameters();
    void user_names();
    void unused_inputs_are_left_out();
    void an_output_that_is_an_input();
    void what_cannot_be_dumped();
    void wrong_numbers_of_names();
    void comp_nodes();
};

void TestTraceNaming::operators_and_scopes() {
    for (const bool symbolic : {false, true}) {
        const auto plain = graph_of([](const EagerTensor& x) { return x + x; }, ones({2, 3}), {"x"}, {}, symbolic);
        QCOMPARE(oprs(*plain), QStringList{"ADD"});
        QCOMPARE(output(*plain), QString("ADD"));
        const auto scoped = graph_of(
            [](const EagerTensor& x) {
                const NameScope net("simple");
                const NameScope layer("linear");
                return F::linear(x, ones({3, 3}), ones({3}));
            },
            ones({2, 3}), {"x"}, {}, symbolic);
        QCOMPARE(oprs(*scoped), (QStringList{"simple.linear.MatrixMul", "simple.linear.ADD"}));
        QCOMPARE(output(*scoped), QString("simple.linear.ADD"));
    }
    QCOMPARE(NameScope::current(), std::string());
}

void TestTraceNaming::duplicates_are_numbered() {
    const auto chain = graph_of([](const EagerTensor& x) { return F::relu(F::exp(F::relu(x))); }, ones({1}));
    QCOMPARE(oprs(*chain), (QStringList{"RELU[0]", "EXP", "RELU[1]"}));
    QCOMPARE(output(*chain), QString("RELU[1]"));
    // Numbers count from the outputs, inputs before their readers, not in the order of recording.
    const auto tree = graph_of(
        [](const EagerTensor& x) {
            const EagerTensor late = F::exp(x + 1);
            const EagerTensor early = F::exp(x + 2);
            return F::concat({early, late});
        },
        ones({1}));
    QCOMPARE(oprs(*tree), (QStringList{"ADD[0]", "EXP[0]", "ADD[1]", "EXP[1]", "Concat"}));
    // Equal operators are one, as MegEngine's graph keeps them.
    const auto shared = graph_of([](const EagerTensor& x) { return F::exp(x) + F::exp(x) * 3; }, ones({1}));
    QCOMPARE(oprs(*shared).filter("EXP").size(), 1);
}

void TestTraceNaming::operators_without_a_name_of_their_own() {
    const auto graph = graph_of(
        [](const EagerTensor& x) {
            OprDesc pad("Padding");
            pad.set("front_offset_dim3", std::int64_t{1});
            return apply1(OprDesc("LRN"), {apply1(pad, {x})});
        },
        ones({1, 1, 2, 2}), {"x0"});
    QVERIFY2(oprs(*graph)[0].startsWith("padding(x0)["), qPrintable(oprs(*graph)[0]));
    QVERIFY2(oprs(*graph)[1].startsWith("lrn(padding["), qPrintable(oprs(*graph)[1]));
    const auto stacked = graph_of([](const EagerTensor& x) { return F::stack({x, x * 2}); }, ones({2}), {"x0"});
    QCOMPARE(oprs(*stacked).back(), QString("Stack"));
    QVERIFY(oprs(*stacked)[0].startsWith("axis_add_rm(x0)["));
}

void TestTraceNaming::several_outputs() {
    const auto split = graph_of([](const EagerTensor& x) { return F::split(x, 2); }, ones({4}));
    QCOMPARE(output(*split, 0), QString("Split:o0"));
    QCOMPARE(output(*split, 1), QString("Split:o1"));
    const auto nms = graph_of([](const EagerTensor& x) { return apply_opr(OprDesc("NMSKeep").set("max_output", std::int64_t{2}), {x}); }, ones({1, 2, 4}));
    QCOMPARE(output(*nms, 0), QString("NMSKeep:indices"));
    QCOMPARE(output(*nms, 1), QString("NMSKeep:sizes"));
    // The two hidden outputs of the inference form count.
    const auto bn = graph_of(
        [](const EagerTensor& x) {
            const EagerTensor s = ones({1, 2, 1, 1});
            return F::batch_norm(x, s, s, s, s);
        },
        ones({1, 2, 3, 3}));
    QCOMPARE(output(*bn), QString("BatchNorm:o5"));
    const auto twice = graph_of([](const EagerTensor& x) { return F::split(F::concat({F::split(x, 2)[1], x}), 2)[0]; }, ones({4}));
    QCOMPARE(output(*twice), QString("Split[1]:o0"));
}

void TestTraceNaming::inputs() {
    const auto twice = [](const EagerTensor& x) { return x * 2; };
    QCOMPARE(input(*graph_of(twice, ones({2}))), QString("arg_0"));
    QCOMPARE(input(*graph_of(twice, ones({2}, "data"))), QString("data"));
    QCOMPARE(input(*graph_of(twice, ones({2}, "data"), {"given"})), QString("given"));
    QCOMPARE(input(*graph_of(twice, ones({2}, "data"), {""})), QString("data"));
    const auto graph = graph_of(twice, ones({2, 3}));
    const StoredTensor& stored = graph->opr(graph->inputs()[0]).tensors.front();
    QCOMPARE(stored.shape, std::optional(Shape{2, 3}));
    QCOMPARE(stored.dtype, std::optional(DType(DTypeId::float32)));
    QCOMPARE(stored.comp_node->locator, std::string("xpux:0"));
}

void TestTraceNaming::outputs() {
    const auto both = [](const EagerTensor& x) { return std::vector{x * 2, x + 1}; };
    const auto named = graph_of(both, ones({2}), {}, {"first", ""});
    QCOMPARE(output(*named, 0), QString("first"));
    QCOMPARE(output(*named, 1), QString("ADD"));
    const auto mapping = graph_of([](const EagerTensor& x) { return TraceValue::Mapping{{"b", x * 2}, {"a", x + 1}}; }, ones({2}));
    QCOMPARE(output(*mapping, 0), QString("a"));
    QCOMPARE(output(*mapping, 1), QString("b"));
}

void TestTraceNaming::constants_and_parameters() {
    // (A factor of 1 would be simplified away.)
    const EagerTensor k = EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{2}), "simple.k");
    const EagerTensor w = ones({2, 2}, "w");
    const auto graph = graph_of([&](const EagerTensor& x) { return F::matmul(x * k, w) + 0.5 + ones({2, 2}); }, ones({2, 2}), {"x"});
    QStringList constants;
    for (const Opr& opr : graph->oprs())
        if (opr.type == "ImmutableTensor") constants << QString::fromStdString(opr.name);
    constants.sort();
    QCOMPARE(constants.size(), 4);
    QVERIFY(constants[0].startsWith("const<0.5>["));
    QVERIFY(constants[1].startsWith("const{2,2}["));
    QCOMPARE(constants[2], QString("simple.k"));
    QCOMPARE(constants[3], QString("w"));
    // MegEngine's own test: in `2 * x` the input is node 0, the constant node 2.
    const auto two = graph_of([](const EagerTensor& x) { return 2.0 * x; }, ones({2, 3}), {"x"});
    QVERIFY(std::ranges::any_of(two->oprs(), [](const Opr& opr) { return opr.name == "const<2>[2]"; }));
}

void TestTraceNaming::user_names() {
    const auto graph = graph_of(
        [](const EagerTensor& x) {
            EagerTensor y = x + x;
            y.set_name("o_x");
            return y * 3;
        },
        ones({2}), {"x"});
    QCOMPARE(oprs(*graph), (QStringList{"ADD", "MUL"})); // the operator keeps its name, its var gets the given one
    QVERIFY(std::ranges::any_of(graph->vars(), [](const Var& var) { return var.name == "o_x"; }));
    // Outside of a trace a name is the tensor's own.
    EagerTensor t = ones({1});
    t.set_name("mine");
    QCOMPARE(t.name(), std::string("mine"));
}

void TestTraceNaming::unused_inputs_are_left_out() {
    Trace f([](const EagerTensor& a, const EagerTensor& b) { static_cast<void>(b * 2); return a * 2; }, {.capture_as_const = true});
    f(ones({2}), ones({3}));
    const auto graph = f.to_graph({"a", "b"});
    QVERIFY(graph.has_value());
    QCOMPARE((*graph)->inputs().size(), std::size_t(1));
    QCOMPARE(oprs(**graph), QStringList{"MUL"});
}

void TestTraceNaming::an_output_that_is_an_input() {
    const auto graph = graph_of([](const EagerTensor& x) { return std::vector{x, x + 1}; }, ones({2}), {"x"});
    QCOMPARE(graph->outputs().size(), std::size_t(2));
    QCOMPARE(output(*graph, 0), QString("x"));
}

void TestTraceNaming::what_cannot_be_dumped() {
    const auto message = [](const Trace& trace, const Names& outputs = {}) {
        const auto graph = trace.to_graph({}, outputs);
        return graph ? QString() : QString::fromStdString(graph.error().message);
    };
    Trace uncaptured([](const EagerTensor& x) { return -x; });
    uncaptured(ones({1}));
    QCOMPARE(message(uncaptured), QString("you must specify capture_as_const=True at __init__ to use dump"));
    Trace uncalled([](const EagerTensor& x) { return -x; }, {.capture_as_const = true});
    QVERIFY(message(uncalled).contains("was not called yet"));
    Trace silent([](const EagerTensor& x) { static_cast<void>(x * x); }, {.capture_as_const = true});
    silent(ones({1}));
    QCOMPARE(message(silent), QString("the traced function without return values cannot be dumped, the traced function should return "
                                      "List[Tensor] or Dict[str, Tensor]"));
    Trace mapping([](const EagerTensor& x) { return TraceValue::Mapping{{"y", -x}}; }, {.capture_as_const = true});
    mapping(ones({1}));
    QVERIFY(message(mapping, {"z"}).contains("output_names must not be given"));
    Trace training([](const EagerTensor& x) {
        const EagerTensor s = ones({1, 1, 1, 1});
        return F::batch_norm_training(x, s, s).y;
    }, {.capture_as_const = true});
    training(ones({1, 1, 2, 2}));
    QCOMPARE(message(training), QString("can not dump BatchNorm in training mode, maybe you forget to do model.eval()?"));
}

void TestTraceNaming::wrong_numbers_of_names() {
    Trace f([](const EagerTensor& a, const EagerTensor& b) { return a + b; }, {.capture_as_const = true});
    f(ones({1}), ones({1}));
    QVERIFY(!f.to_graph({"a"}));
    QVERIFY(!f.to_graph({"a", "b", "c"}));
    QVERIFY(!f.to_graph({}, {"x", "y"}));
    QVERIFY(f.to_graph({"a", "b"}, {"x"}));
    QCOMPARE(f.to_graph({"a"}).error().code, ErrorCode::invalid_argument);
}

void TestTraceNaming::comp_nodes() {
    // The usual devices become "any device"; others stay.
    for (const auto& [device, dumped] : {std::pair("cpu0:0", "xpux:0"), std::pair("gpu1:0", "xpux:0"), std::pair("atlas0:0", "atlas0:0")}) {
        const EagerTensor x(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{1}), {}, device);
        const auto graph = graph_of([](const EagerTensor& t) { return -t; }, x);
        QCOMPARE(graph->opr(graph->inputs()[0]).tensors.front().comp_node->locator, std::string(dumped));
    }
}

QTEST_APPLESS_MAIN(TestTraceNaming)
#include "test_trace_naming.moc"
