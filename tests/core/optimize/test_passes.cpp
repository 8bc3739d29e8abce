#include <QtTest>

#include <cmath>

#include "core/exec/graph_kit.h"
#include "exec/backend.h"
#include "optimize/compat.h"
#include "optimize/optimize.h"
#include "optimize/passes.h"
#include "optimize/sequence.h"
#include "small_stack.h"

using namespace megascope;
using namespace megascope::test;

namespace {

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::copy_of<float>(DTypeId::float32, shape, values); }

/// The operators in order, constants and inputs left out: "Convolution FUSE_ADD_RELU".
std::string operators(const Graph& graph) {
    std::string text;
    for (const Opr& opr : graph.oprs()) {
        if (opr.type == "ImmutableTensor" || opr.type == "Host2DeviceCopy") continue;
        text += (text.empty() ? "" : " ") + (opr.type == "Elemwise" ? opr.param().enum_name("mode") : opr.type);
    }
    return text;
}

std::string optimized(GraphKit& kit, std::uint64_t bits = 64) {
    const auto graph = optimize_for_inference(kit.finish(), OptimizeOptions::from_bits(bits), {});
    return graph ? operators(**graph) : graph.error().text();
}

/// After one pass.
std::string after(GraphKit& kit, std::size_t (*pass)(Workspace&)) {
    Workspace workspace(*kit.finish());
    pass(workspace);
    return operators(*workspace.finish());
}

Param type_param(DType dtype) {
    Param param = GraphKit::param("DType");
    param.set("dtype", dtype);
    return param;
}

Param reduce_param(const char* mode, std::int64_t axis) {
    Param param = GraphKit::with_enum("Reduce", "mode", mode);
    param.set("axis", axis);
    return param;
}

} // namespace

// Single passes on graphs that are small enough to say by hand what must come out.
class PassesTest : public QObject {
    Q_OBJECT

private slots:
    void constantsMeet() { // (x·2)·3 = x·6
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2, 3});
        kit.output(kit.elemwise("MUL", {kit.elemwise("MUL", {x, kit.number(2)}), kit.number(3)}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("MUL"));
        const Opr& constant = *std::ranges::find((*graph)->oprs(), std::string("ImmutableTensor"), &Opr::type);
        QCOMPARE(real_at(constant.tensors[0].value()->ref(), 0), 6.0);
    }

    void neutralElementsVanish() { // x + 0, x·1 and x^1 are x when they are built
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2});
        kit.output(x);
        Workspace workspace(*kit.finish());
        const VarId in = workspace.output(OprId(0U));
        const auto number = [&](double value) { return workspace.scalar(value, DTypeId::float32, in); };
        QCOMPARE(workspace.elemwise(ElemwiseMode::add, {in, number(0)}), in);
        QCOMPARE(workspace.elemwise(ElemwiseMode::mul, {number(1), in}), in);
        QCOMPARE(workspace.elemwise(ElemwiseMode::pow, {in, number(1)}), in);
        const VarId logarithm = workspace.elemwise(ElemwiseMode::log, {workspace.elemwise(ElemwiseMode::exp, {in})});
        QCOMPARE(logarithm, in);
        const VarId shifted = workspace.elemwise(ElemwiseMode::add, {in, number(1)});
        QCOMPARE(workspace.mode(workspace.elemwise(ElemwiseMode::log, {shifted})), std::optional(ElemwiseMode::log1p));
    }

    void convolutionTakesTheFactor() { // conv(x, w)·k = conv(x, w·k), k per channel
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 1, 2, 2});
        const VarId w = kit.constant(floats({2, 1, 1, 1}, {3, 5}));
        const VarId conv = kit.opr("Convolution", {x, w}, {GraphKit::param("Convolution")});
        kit.output(kit.elemwise("MUL", {conv, kit.constant(floats({1, 2, 1, 1}, {10, 100}))}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("Convolution"));
        const Opr& weights = (*graph)->producer((*graph)->producer((*graph)->outputs()[0].var).inputs[1]);
        QCOMPARE(to_real(weights.tensors[0].value()->ref()), (std::vector<double>{30, 500}));
    }

    void convolutionWithReadersKeepsItsWeights() { // its own result is needed as well
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 1, 2, 2});
        const VarId conv = kit.opr("Convolution", {x, kit.constant(floats({2, 1, 1, 1}, {3, 5}))}, {GraphKit::param("Convolution")});
        kit.output(kit.elemwise("MUL", {conv, kit.number(10)}));
        kit.output(conv);
        QCOMPARE(optimized(kit), std::string("Convolution MUL"));
    }

    void matrixProductTakesTheFactorAndTheBiasStays() { // (x·w + b)·k = x·(w·k) + b·k
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2, 2});
        const VarId w = kit.constant(floats({2, 2}, {1, 2, 3, 4}));
        const VarId product = kit.opr("MatrixMul", {x, w}, {GraphKit::param("MatrixMul")});
        const VarId sum = kit.elemwise("ADD", {product, kit.constant(floats({1, 2}, {1, 2}))});
        kit.output(kit.elemwise("MUL", {sum, kit.number(2)}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("MatrixMul ADD"));
    }

    void fusedArithmetic() {
        GraphKit kit;
        const VarId a = kit.input("a", DTypeId::float32, {4});
        const VarId b = kit.input("b", DTypeId::float32, {4});
        const VarId c = kit.input("c", DTypeId::float32, {4});
        const VarId d = kit.input("d", DTypeId::float32, {4});
        kit.output(kit.elemwise("ADD", {kit.elemwise("MUL", {a, b}), kit.elemwise("MUL", {c, d})}));
        kit.output(kit.elemwise("ADD", {kit.elemwise("MUL", {a, c}), b}));
        kit.output(kit.elemwise("TANH", {kit.elemwise("ADD", {b, d})}));
        QCOMPARE(optimized(kit), std::string("FUSE_MUL_ADD4 FUSE_MUL_ADD3 FUSE_ADD_TANH"));
    }

    void differencesComeBack() { // x − y is not left as x + (−y)
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4});
        const VarId y = kit.input("y", DTypeId::float32, {4});
        kit.output(kit.elemwise("SUB", {x, y}));
        QCOMPARE(optimized(kit), std::string("SUB"));
    }

    void powersMerge() { // (x^2)^3 = x^6, a constant exponent is PowC
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4});
        kit.output(kit.elemwise("POW", {kit.elemwise("POW", {x, kit.number(2)}), kit.number(3)}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("PowC"));
        QCOMPARE((*graph)->producer((*graph)->outputs()[0].var).param().real("exp"), 6.0);
    }

    void broadcastsMoveBehindUnaryOperators() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 3});
        const VarId wide = kit.opr("Broadcast", {x, kit.integers({5, 3})}, {GraphKit::param("Empty")});
        kit.output(kit.elemwise("EXP", {wide}));
        QCOMPARE(after(kit, delay_broadcast), std::string("EXP Broadcast"));
    }

    void marksAreRemoved() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        const VarId same = kit.opr("Identity", {x}, {GraphKit::param("Empty")});
        kit.output(kit.elemwise("EXP", {same}));
        QCOMPARE(after(kit, remove_non_computing), std::string("EXP"));
    }

    void conversionsThatLoseNothingAreSkipped_data() {
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("outer");
        QTest::addColumn<QString>("left");
        const auto number = [](DTypeId id) { return static_cast<int>(id); };
        QTest::newRow("over a wider float") << number(DTypeId::float32) << number(DTypeId::float16) << "TypeCvt";
        QTest::newRow("over a narrower float") << number(DTypeId::float16) << number(DTypeId::float32) << "TypeCvt TypeCvt";
        QTest::newRow("small integers fit float32") << number(DTypeId::float32) << number(DTypeId::int8) << "TypeCvt";
        QTest::newRow("int32 does not fit float32") << number(DTypeId::float32) << number(DTypeId::int32) << "TypeCvt TypeCvt";
    }
    void conversionsThatLoseNothingAreSkipped() {
        QFETCH(int, inner);
        QFETCH(int, outer);
        QFETCH(QString, left);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::int16, {3});
        const VarId middle = kit.opr("TypeCvt", {x}, {type_param(static_cast<DTypeId>(inner))});
        kit.output(kit.opr("TypeCvt", {middle}, {type_param(static_cast<DTypeId>(outer))}));
        QCOMPARE(after(kit, remove_redundant_type_cvt), left.toStdString());
    }

    void reduceReadsFloat16Itself() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float16, {3, 4});
        const VarId wide = kit.opr("TypeCvt", {x}, {type_param(DTypeId::float32)});
        kit.output(kit.opr("Reduce", {wide}, {reduce_param("SUM", 1)}));
        Workspace workspace(*kit.finish());
        QCOMPARE(combine_type_cvt_and_reduce(workspace), std::size_t{1});
        const auto graph = workspace.finish();
        QCOMPARE(operators(*graph), std::string("Reduce"));
        QCOMPARE(graph->producer(graph->outputs()[0].var).param().enum_name("data_type"), std::string("FLOAT_O32xC32"));
    }

    void sumOverCountIsMean() {
        GraphKit kit;
        const VarId x = kit.elemwise("RELU", {kit.input("x", DTypeId::float32, {3, 4})});
        const VarId sum = kit.opr("Reduce", {x}, {reduce_param("SUM", 1)});
        Param axis = GraphKit::param("OptionalAxisV1");
        axis.set("axis", std::int64_t{1});
        const VarId count = kit.opr("TypeCvt", {kit.opr("GetVarShape", {x}, {axis})}, {type_param(DTypeId::float32)});
        kit.output(kit.elemwise("TRUE_DIV", {sum, count}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("RELU Reduce"));
        QCOMPARE((*graph)->producer((*graph)->outputs()[0].var).param().enum_name("mode"), std::string("MEAN"));
    }

    void meanOfAJoinedImageIsPooling() {
        GraphKit kit;
        const VarId x = kit.elemwise("RELU", {kit.input("x", DTypeId::float32, {2, 3, 4, 5})});
        const VarId joined = kit.opr("Reshape", {x, kit.integers({2, 3, 20})}, {GraphKit::param("OptionalAxisV1")});
        const VarId mean = kit.opr("Reduce", {joined}, {reduce_param("MEAN", 2)});
        Param add = GraphKit::param("AxisAddRemove");
        add.set("desc", std::vector<AxisDesc>{{AxisDesc::Method::add_1, 3}});
        kit.output(kit.opr("AxisAddRemove", {mean}, {add}));
        QCOMPARE(after(kit, fold_global_pooling), std::string("RELU AdaptivePooling"));
    }

    // Eye has no value that MegEngine infers ahead, so what it gives becomes a parameter; parameters are bundled.
    void computedConstantsBecomeParameters() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2, 2});
        const VarId eye = kit.opr("Eye", {kit.integers({2, 2})}, {GraphKit::param("Eye")});
        kit.output(kit.elemwise("ADD", {x, eye}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY2(graph, graph ? "" : graph.error().text().c_str());
        const auto bundle = std::ranges::find((*graph)->oprs(), std::string("MultipleDeviceTensorHolder"), &Opr::type);
        QVERIFY(bundle != (*graph)->oprs().end());
        QCOMPARE(bundle->name, std::string("merged1"));
        QCOMPARE(to_real(bundle->tensors[0].value()->ref()), (std::vector<double>{1, 0, 0, 1}));
    }

    void aConstantOutputIsStored() {
        GraphKit kit;
        kit.output(kit.elemwise("EXP", {kit.constant(floats({2}, {0, 1}))}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string());
        QCOMPARE(real_at((*graph)->oprs()[0].tensors[0].value()->ref(), 0), 1.0);
    }

    void onlyTheChosenBranchStays() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        const auto predicates = kit.oprs("CondExecPred", {kit.number(1), kit.number(2), kit.number(2)},
                                         {GraphKit::with_enum("CondExecPred", "mode", "CASE")}, 2);
        std::vector<VarId> results;
        for (std::size_t k = 0; k < 2; ++k) {
            const VarId marked = kit.opr("CondExecMark", {x, predicates[k]}, {GraphKit::param("CondExecMark")});
            results.push_back(kit.elemwise(k == 0 ? "SIN" : "COS", {marked}));
        }
        kit.output(kit.opr("CondExecMerge", results, {GraphKit::with_enum("CondExecMerge", "mode", "EXACT_ONE")}));
        QCOMPARE(after(kit, fold_const_predicates), std::string("COS"));
    }

    void sharedPredicatesAreLookedAtOnce() { // 2^64 ways lead from the last predicate to the first
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        VarId predicate = kit.oprs("CondExecPred", {kit.number(1), kit.number(1)}, {GraphKit::with_enum("CondExecPred", "mode", "CASE")}, 1).front();
        for (int i = 0; i < 64; ++i)
            predicate = kit.opr("CondExecPredLogical", {predicate, predicate}, {GraphKit::with_enum("CondExecPredLogical", "mode", "AND")});
        kit.output(kit.elemwise("SIN", {kit.opr("CondExecMark", {x, predicate}, {GraphKit::param("CondExecMark")})}));
        QCOMPARE(after(kit, fold_const_predicates), std::string("SIN"));
    }

    void doubledSumsAreBounded_data() {
        QTest::addColumn<QString>("mode");
        QTest::newRow("sums") << "ADD";
        QTest::newRow("products") << "MUL";
        QTest::newRow("maxima") << "MAX";
    }
    void doubledSumsAreBounded() { // 64 times doubled: 2^64 terms
        QFETCH(QString, mode);
        GraphKit kit;
        VarId x = kit.input("x", DTypeId::float32, {3});
        for (int i = 0; i < 64; ++i) x = kit.elemwise(mode.toStdString(), {x, x});
        kit.output(x);
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(!graph);
        QVERIFY2(graph.error().message.ends_with("too many terms."), graph.error().text().c_str());
    }

    void normsNeedGroups() {
        for (const std::int64_t groups : {0, 3, -2}) {
            GraphKit kit;
            const VarId x = kit.input("x", DTypeId::float32, {1, 4, 2, 2});
            const VarId one = kit.number(1);
            Param param = GraphKit::param("GroupNorm");
            param.set("group", groups & 0xffffffff);
            kit.output(kit.oprs("GroupNormBackward", {x, x, one, one, one}, {param}, 3).front());
            const auto graph = to_compatible(kit.finish());
            QVERIFY(!graph);
            QVERIFY2(graph.error().message.find("Its 4 channels do not form") != std::string::npos, graph.error().text().c_str());
        }
    }

    void oprsWithoutOutputsAreLeftOut() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        (void)kit.oprs("Elemwise", {x}, {GraphKit::with_enum("Elemwise", "mode", "COS")}, 0);
        kit.output(kit.elemwise("SIN", {x}));
        QCOMPARE(QString::fromStdString(optimized(kit)), QString("SIN"));
    }

    void rewritingDoesNotMultiplyGraphs() { // 17 times doubled: 131072 terms
        GraphKit kit;
        VarId x = kit.input("x", DTypeId::float32, {3});
        for (int i = 0; i < 17; ++i) x = kit.elemwise("MAX", {x, x});
        kit.output(x);
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(!graph);
        QVERIFY2(graph.error().message.starts_with("The graph grows to too many operators"), graph.error().text().c_str());
    }

    void constantsMayBeDeep() {
        GraphKit kit;
        VarId k = kit.stored(floats({1}, {2}));
        for (int i = 0; i < 8000; ++i) k = kit.elemwise("RELU", {k});
        kit.output(kit.elemwise("ADD", {kit.input("x", DTypeId::float32, {3}), k}));
        const auto source = kit.finish();
        std::string result;
        on_a_small_stack(512 * 1024, [&] {
            const auto graph = optimize_for_inference(source, {}, {});
            result = graph ? operators(**graph) : graph.error().text();
        });
        QCOMPARE(QString::fromStdString(result), QString("MultipleDeviceTensorHolder ADD"));
    }

    void constantsMayNotBeHuge() { // 16 GiB
        GraphKit kit;
        const VarId wide = kit.opr("Broadcast", {kit.stored(floats({1}, {2})), kit.integers({65536, 65536})}, {GraphKit::param("Empty")});
        const VarId sum = kit.opr("Reduce", {wide, kit.integers({1})}, {GraphKit::param("Reduce")});
        kit.output(kit.elemwise("ADD", {kit.input("x", DTypeId::float32, {1}), sum}));
        const auto graph = optimize_for_inference(kit.finish(), {}, {});
        QVERIFY(!graph);
        QVERIFY2(graph.error().message.ends_with("too large to be computed ahead."), graph.error().text().c_str());
    }

    void nobodyWaitsAhead() {
        GraphKit kit;
        Param param = GraphKit::param("MGBSleep");
        param.set("host", true).set("seconds", 1e6);
        const VarId k = kit.opr("Sleep", {kit.stored(floats({1}, {2}))}, {param});
        kit.output(kit.elemwise("ADD", {kit.input("x", DTypeId::float32, {3}), k}));
        QCOMPARE(QString::fromStdString(optimized(kit)), QString("MultipleDeviceTensorHolder Sleep ADD"));
    }

    void halfFloatKeepsTheOutputsType() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 1, 2, 2});
        kit.output(kit.opr("Convolution", {x, kit.constant(floats({1, 1, 1, 1}, {3}))}, {GraphKit::param("Convolution")}));
        const auto graph = optimize_for_inference(kit.finish(), OptimizeOptions::from_bits(65), {});
        QVERIFY(graph);
        QCOMPARE(operators(**graph), std::string("TypeCvt Convolution TypeCvt"));
        const Opr& back = (*graph)->producer((*graph)->outputs()[0].var);
        QCOMPARE(back.param().dtype("dtype").id, DTypeId::float32);
        QCOMPARE((*graph)->producer(back.inputs[0]).param().enum_name("compute_mode"), std::string("FLOAT32"));
    }

    void equalOperatorsAreOne() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        kit.output(x);
        Workspace workspace(*kit.finish());
        QCOMPARE(workspace.opr_count(), std::size_t{1});
        const VarId in = workspace.output(OprId(0U));
        const VarId a = workspace.elemwise(ElemwiseMode::exp, {in});
        const VarId b = workspace.elemwise(ElemwiseMode::exp, {in});
        QCOMPARE(a, b);
        QCOMPARE(workspace.scalar(2, DTypeId::float32, in), workspace.scalar(2, DTypeId::float32, in));
        QVERIFY(workspace.scalar(2, DTypeId::float32, in) != workspace.scalar(3, DTypeId::float32, in));
    }

    void namesShowInputsAndIds() { // MegEngine's default form, ids counted over operators and vars
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        kit.output(x);
        Workspace workspace(*kit.finish());
        const VarId in = workspace.output(OprId(0U));
        const VarId a = workspace.elemwise(ElemwiseMode::exp, {in});
        QCOMPARE(QString::fromStdString(workspace.name(a)), QString("EXP(Host2DeviceCopy0)[2]"));
        const VarId b = workspace.elemwise(ElemwiseMode::add, {a, in});
        QCOMPARE(QString::fromStdString(workspace.name(b)), QString("ADD(EXP[2],Host2DeviceCopy0)[4]"));
        QCOMPARE(workspace.producer(b).inputs[0], in); // kept by id
    }
};

QTEST_APPLESS_MAIN(PassesTest)
#include "test_passes.moc"
