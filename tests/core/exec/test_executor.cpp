#include <QtTest>

#include <map>

#include "core/exec/graph_kit.h"
#include "exec/cpu/memory_plan.h"
#include "exec/order.h"

using namespace megascope;
using namespace megascope::test;

namespace {

struct Recorder final : RunObserver {
    void step_begins(OprId opr, std::uint32_t) override { order.push_back(opr); }
    void step_ended(const StepRecord& record) override {
        records.push_back(record);
        if (cancel_after == records.size()) token.cancel();
    }
    void value(VarId var, const Tensor& value) override { values[var.value()] = value; }

    std::vector<OprId> order;
    std::vector<StepRecord> records;
    std::map<std::uint32_t, Tensor> values;
    std::size_t cancel_after = 0;
    CancelToken token;
};

Tensor floats(Shape shape, std::vector<float> values) { return Tensor::copy_of<float>(DTypeId::float32, shape, values); }

std::vector<double> run_one(const std::string& backend, const std::shared_ptr<const Graph>& graph,
                            const std::vector<Tensor>& inputs, std::string* error = nullptr) {
    auto program = find_backend(backend)->compile(graph, {}, {});
    if (!program) {
        if (error) *error = program.error().text();
        return {};
    }
    auto result = (*program)->run(inputs, nullptr, {});
    if (!result) {
        if (error) *error = result.error().text();
        return {};
    }
    return to_real(result->outputs.front().ref());
}

} // namespace

class ExecutorTest : public QObject {
    Q_OBJECT
private slots:
    void backends_data() { backend_rows(); }
    void backends() {
        QFETCH(QString, backend);
        QVERIFY(find_backend(backend.toStdString()) != nullptr);
        QCOMPARE(find_backend("no such backend"), nullptr);
        QCOMPARE(all_backends().front()->name(), std::string_view("cpu"));
    }

    void whatMegEngineWithdrewNobodyRuns_data() { backend_rows(); }
    void whatMegEngineWithdrewNobodyRuns() {
        QFETCH(QString, backend);
        GraphKit kit;
        Param param = GraphKit::with_enum("Reduce", "data_type", "FLOAT_IO16xC32");
        param.set("axis", std::int64_t{0});
        kit.output(kit.opr("Reduce", {kit.input("x", DTypeId::float32, {4, 3})}, {param}));
        std::string error;
        (void)run_one(backend.toStdString(), kit.finish(), {floats({4, 3}, std::vector<float>(12, 1))}, &error);
        QVERIFY2(error.find("was withdrawn by MegEngine.") != std::string::npos, error.c_str());
    }

    // A reader that cannot read all params of an operator gives it no kind: an input, then, is none.
    void inputsWithUnreadableParamsDoNotRun_data() { backend_rows(); }
    void inputsWithUnreadableParamsDoNotRun() {
        QFETCH(QString, backend);
        Opr opr;
        opr.type = "Host2DeviceCopy";
        GraphBuilder builder;
        QVERIFY(builder.add(std::move(opr), 1));
        QVERIFY(builder.add_output({VarId(0U), 0, {}}));
        std::string error;
        (void)run_one(backend.toStdString(), builder.finish(), {}, &error);
        QVERIFY2(error.find("The operator type Host2DeviceCopy is not known.") != std::string::npos, error.c_str());
    }

    void smallPriorityFirstThenTheFreshestThenTheLargerId() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4});
        const VarId a = kit.elemwise("RELU", {x}, 5);
        const VarId b = kit.elemwise("ABS", {x}, 1);
        const VarId c = kit.elemwise("NEGATE", {b}, 7);
        const VarId d = kit.elemwise("EXP", {x}, 5);
        const VarId e = kit.elemwise("ADD", {a, c}, 5);
        kit.output(kit.elemwise("ADD", {d, e}));
        const auto graph = kit.finish();
        std::vector<std::uint32_t> order;
        for (const OprId id : execution_order(*graph)) order.push_back(id.value());
        // x; b has the smallest priority; of a and d (equal, ready since x) the larger id d; then a; c was the only one left
        // before e; the last one.
        QCOMPARE(order, (std::vector<std::uint32_t>{0, 2, 4, 1, 3, 5, 6}));
    }

    void operatorsThatNoOutputNeedsDoNotRun() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4});
        const VarId unused = kit.elemwise("EXP", {x});
        kit.output(kit.elemwise("RELU", {x}));
        const auto graph = kit.finish();
        QCOMPARE(execution_order(*graph).size(), std::size_t{2});
        const std::vector<VarId> keep = {unused};
        QCOMPARE(execution_order(*graph, keep).size(), std::size_t{3});
    }

    void computes_data() { backend_rows(); }
    void computes() {
        QFETCH(QString, backend);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4});
        const VarId y = kit.elemwise("MUL", {x, kit.number(2)});
        kit.output(kit.elemwise("ADD", {y, kit.number(1)}));
        QCOMPARE(run_one(backend.toStdString(), kit.finish(), {floats({4}, {1, -2, 0.5F, 4})}),
                 (std::vector<double>{3, -3, 2, 9}));
    }

    void aMissingInputIsNamed_data() { backend_rows(); }
    void aMissingInputIsNamed() {
        QFETCH(QString, backend);
        GraphKit kit;
        kit.output(kit.elemwise("RELU", {kit.input("image", DTypeId::float32, {2, 3})}));
        const auto graph = kit.finish();
        std::string error;
        run_one(backend.toStdString(), graph, {}, &error);
        QCOMPARE(error, std::string("image: This input has no value (float32, shape 2×3)."));
        run_one(backend.toStdString(), graph, {Tensor::copy_of<std::int32_t>(DTypeId::int32, {1}, std::vector<std::int32_t>{1})},
                &error);
        QCOMPARE(error, std::string("image: This input takes float32, but a value of int32 was given."));
        run_one(backend.toStdString(), graph, {floats({1}, {1}), floats({1}, {1})}, &error);
        QCOMPARE(error, std::string("The graph has 1 inputs, but 2 values were given."));
    }

    void anOperatorThatDoesNotFitIsNamed_data() { backend_rows(); }
    void anOperatorThatDoesNotFitIsNamed() {
        QFETCH(QString, backend);
        GraphKit kit;
        const VarId a = kit.input("a", DTypeId::float32, {2, 3});
        const VarId b = kit.input("b", DTypeId::float32, {2, 3});
        kit.output(kit.elemwise("ADD", {a, b}));
        std::string error;
        run_one(backend.toStdString(), kit.finish(), {floats({2}, {1, 2}), floats({3}, {1, 2, 3})}, &error);
        QVERIFY2(error.starts_with("Elemwise2: "), error.c_str());
    }

    void anOperatorWithoutKernelIsRefusedByName_data() { backend_rows(); }
    void anOperatorWithoutKernelIsRefusedByName() {
        QFETCH(QString, backend);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2});
        kit.output(kit.opr("TensorRTRuntimeOpr", {x}));
        const auto graph = kit.finish();
        const auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        QVERIFY(!program);
        QCOMPARE(program.error().code, ErrorCode::unsupported);
        QCOMPARE(program.error().where, std::string("TensorRTRuntimeOpr1"));
        QVERIFY(!find_backend(backend.toStdString())->supports(*graph, OprId(1u)).ok);
    }

    void cancellingStopsBetweenSteps_data() { backend_rows(); }
    void cancellingStopsBetweenSteps() {
        QFETCH(QString, backend);
        const auto graph = branchy_graph();
        auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        QVERIFY(program);
        Recorder recorder;
        recorder.cancel_after = 2;
        const std::vector<Tensor> inputs = {image(1)};
        const auto result = (*program)->run(inputs, &recorder, recorder.token);
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::cancelled);
        QCOMPARE(recorder.records.size(), std::size_t{2});
        // The program is as good as before.
        QVERIFY((*program)->run(inputs, nullptr, {}));
    }

    void everyStepIsRecordedInOrder_data() { backend_rows(); }
    void everyStepIsRecordedInOrder() {
        QFETCH(QString, backend);
        auto program = find_backend(backend.toStdString())->compile(branchy_graph(), {}, {});
        QVERIFY(program);
        Recorder recorder;
        const std::vector<Tensor> inputs = {image(1)};
        QVERIFY((*program)->run(inputs, &recorder, {}));
        const Plan& plan = (*program)->plan();
        QCOMPARE(recorder.records.size(), plan.steps.size());
        double before = 0;
        for (std::size_t i = 0; i < recorder.records.size(); ++i) {
            const StepRecord& r = recorder.records[i];
            QCOMPARE(r.step, static_cast<std::uint32_t>(i));
            QCOMPARE(r.opr, plan.steps[i].oprs.front());
            QVERIFY(r.start >= before && r.kern >= r.start && r.end >= r.kern);
            before = r.end;
        }
    }

    // "Looking changes nothing": the same bits with and without taps, on the fused and on the unfused plan, and every var is
    // there.
    void keepingVarsDoesNotChangeOutputs_data() {
        QTest::addColumn<QString>("backend");
        QTest::addColumn<bool>("unfused");
        for (const char* backend : {"cpu", "reference"})
            for (const bool unfused : {false, true})
                QTest::addRow("%s %s", backend, unfused ? "unfused" : "fused") << backend << unfused;
    }
    void keepingVarsDoesNotChangeOutputs() {
        QFETCH(QString, backend);
        QFETCH(bool, unfused);
        const auto graph = branchy_graph();
        CompileOptions plain, keeping;
        plain.unfused = keeping.unfused = unfused;
        for (const Var& var : graph->vars()) keeping.keep.push_back(var.id);
        const auto engine = find_backend(backend.toStdString());
        auto without = engine->compile(graph, plain, {});
        auto with = engine->compile(graph, keeping, {});
        QVERIFY(without && with);
        QCOMPARE((*with)->plan().steps.size(), (*without)->plan().steps.size());
        QCOMPARE((*with)->plan().arena_bytes, (*without)->plan().arena_bytes);

        std::map<std::uint32_t, Tensor> reference;
        {
            auto program = find_backend("reference")->compile(graph, keeping, {});
            Recorder recorder;
            const std::vector<Tensor> inputs = {image(7)};
            QVERIFY((*program)->run(inputs, &recorder, {}));
            reference = recorder.values;
        }
        for (int round = 0; round < 3; ++round) {
            const std::vector<Tensor> inputs = {image(7)};
            Recorder recorder;
            const auto a = (*without)->run(inputs, nullptr, {});
            const auto b = (*with)->run(inputs, &recorder, {});
            QVERIFY(a && b);
            for (std::size_t i = 0; i < a->outputs.size(); ++i) QVERIFY(same_bits(a->outputs[i], b->outputs[i]));
            QCOMPARE(recorder.values.size(), graph->vars().size());
            for (const auto& [var, value] : recorder.values) {
                const Tensor& expected = reference.at(var);
                QCOMPARE(value.shape(), expected.shape());
                const auto x = to_real(expected.ref()), y = to_real(value.ref());
                for (std::size_t i = 0; i < x.size(); ++i)
                    QVERIFY2(std::abs(x[i] - y[i]) <= 1e-5 * std::max(1.0, std::abs(x[i])),
                             qPrintable(QString("var %1 at %2: %3 %4").arg(var).arg(i).arg(x[i]).arg(y[i])));
            }
        }
    }

    void resultsStayWhenTheProgramRunsAgain_data() { backend_rows(); }
    void resultsStayWhenTheProgramRunsAgain() {
        QFETCH(QString, backend);
        auto program = find_backend(backend.toStdString())->compile(branchy_graph(), {}, {});
        QVERIFY(program);
        const std::vector<Tensor> one = {image(1)}, two = {image(2)};
        const auto first = (*program)->run(one, nullptr, {});
        QVERIFY(first);
        const std::vector<double> before = to_real(first->outputs[0].ref());
        const auto second = (*program)->run(two, nullptr, {});
        QVERIFY(second);
        QCOMPARE(to_real(first->outputs[0].ref()), before);
        QVERIFY(to_real(second->outputs[0].ref()) != before);
        const auto third = (*program)->run(one, nullptr, {});
        QVERIFY(third);
        QVERIFY(same_bits(third->outputs[0], first->outputs[0]));
    }

    void otherInputShapesAreFine_data() { backend_rows(); }
    void otherInputShapesAreFine() {
        QFETCH(QString, backend);
        const auto graph = branchy_graph();
        auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        auto reference = find_backend("reference")->compile(graph, {}, {});
        QVERIFY(program && reference);
        std::mt19937 generator(5);
        for (const Shape& shape :
             {Shape{1, 4, 8, 8}, Shape{3, 4, 5, 9}, Shape{2, 4, 7, 7}, Shape{1, 4, 8, 8}, Shape{1, 4, 3, 3}, Shape{4, 4, 4, 4}}) {
            const std::vector<Tensor> inputs = {random_tensor(generator, DTypeId::float32, shape)};
            const auto a = (*program)->run(inputs, nullptr, {});
            const auto b = (*reference)->run(inputs, nullptr, {});
            QVERIFY(a && b);
            QCOMPARE(a->outputs[0].shape(), b->outputs[0].shape());
            const auto x = to_real(a->outputs[0].ref()), y = to_real(b->outputs[0].ref());
            for (std::size_t i = 0; i < x.size(); ++i) QVERIFY(std::abs(x[i] - y[i]) < 1e-5);
        }
    }

    // What a convolution leaves in a packed layout is unpacked for a reader whose shapes are decided while the graph runs.
    void packedValuesReachDynamicReaders() {
        std::mt19937 generator(7);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 16, 12, 12});
        Param p = GraphKit::param("Convolution");
        p.set("pad_h", std::int64_t{1}).set("pad_w", std::int64_t{1});
        VarId y = x;
        for (int i = 0; i < 2; ++i)
            y = kit.elemwise(
                "RELU", {kit.opr("Convolution",
                                 {y, kit.constant(random_tensor(generator, DTypeId::float32, {16, 16, 3, 3}, -0.3, 0.3))}, {p})});
        const std::vector<VarId> taken = kit.oprs("CondTake", {y, x}, {GraphKit::with_enum("CondTake", "mode", "GT")}, 2);
        kit.output(taken[0]);
        const auto graph = kit.finish();
        const Tensor image = random_tensor(generator, DTypeId::float32, {1, 16, 12, 12});
        const std::vector<double> expected = run_one("reference", graph, {image});
        const std::vector<double> got = run_one("cpu", graph, {image});
        QVERIFY(expected.size() > 100);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(std::abs(got[i] - expected[i]) < 1e-4);
    }

    // CondTake's output size depends on values: everything after it is decided while the graph runs.
    void shapesThatDependOnValues_data() { backend_rows(); }
    void shapesThatDependOnValues() {
        QFETCH(QString, backend);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {6});
        const VarId mask = kit.input("mask", DTypeId::float32, {6});
        Param take = GraphKit::with_enum("CondTake", "mode", "GT");
        const std::vector<VarId> taken = kit.oprs("CondTake", {x, mask}, {take}, 2);
        const VarId doubled = kit.elemwise("MUL", {taken[0], kit.number(2)});
        const VarId count = kit.opr("GetVarShape", {doubled});
        const VarId more = kit.elemwise("ADD", {doubled, kit.number(1)});
        kit.output(more);
        kit.output(count);
        const auto graph = kit.finish();
        auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        QVERIFY2(program.has_value(), program ? "" : program.error().text().c_str());
        const Tensor values = floats({6}, {1, 2, 3, 4, 5, 6});
        std::vector<Tensor> inputs = {values, floats({6}, {1, 0, 1, 0, 0, 1})};
        auto result = (*program)->run(inputs, nullptr, {});
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        QCOMPARE(to_real(result->outputs[0].ref()), (std::vector<double>{3, 7, 13}));
        QCOMPARE(to_real(result->outputs[1].ref()), (std::vector<double>{3}));
        inputs[1] = floats({6}, {0, 0, 0, 0, 0, 0});
        result = (*program)->run(inputs, nullptr, {});
        QVERIFY(result);
        QCOMPARE(result->outputs[0].shape(), (Shape{0}));
    }

    void anOutputMayBeAnInputOrAConstant_data() { backend_rows(); }
    void anOutputMayBeAnInputOrAConstant() {
        QFETCH(QString, backend);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {2, 2});
        kit.output(x);
        kit.output(kit.number(5));
        kit.output(kit.opr("Reshape", {x, kit.integers({4})}));
        kit.output(kit.elemwise("ADD", {kit.number(2), kit.number(3)}));
        auto program = find_backend(backend.toStdString())->compile(kit.finish(), {}, {});
        QVERIFY(program);
        const std::vector<Tensor> inputs = {floats({2, 2}, {1, 2, 3, 4})};
        const auto result = (*program)->run(inputs, nullptr, {});
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        QVERIFY(same_bits(result->outputs[0], inputs[0]));
        QCOMPARE(to_real(result->outputs[1].ref()), (std::vector<double>{5}));
        QCOMPARE(result->outputs[2].shape(), (Shape{4}));
        QCOMPARE(to_real(result->outputs[3].ref()), (std::vector<double>{5}));
    }

    void threadsDoNotChangeWhatIsComputed() {
        const auto graph = branchy_graph();
        CompileOptions one, all;
        all.threads = 0;
        auto a = find_backend("cpu")->compile(graph, one, {});
        auto b = find_backend("cpu")->compile(graph, all, {});
        QVERIFY(a && b);
        const std::vector<Tensor> inputs = {image(3)};
        const auto x = (*a)->run(inputs, nullptr, {});
        const auto y = (*b)->run(inputs, nullptr, {});
        QVERIFY(x && y);
        const auto p = to_real(x->outputs[0].ref()), q = to_real(y->outputs[0].ref());
        for (std::size_t i = 0; i < p.size(); ++i) QVERIFY(std::abs(p[i] - q[i]) < 1e-6);
    }

    void memoryPlansNeverOverlap() {
        std::mt19937 generator(11);
        for (int round = 0; round < 50; ++round) {
            std::vector<MemoryDemand> demands(40);
            std::size_t sum = 0;
            for (MemoryDemand& d : demands) {
                d.bytes = generator() % 5 == 0 ? 0 : generator() % 3000;
                d.first = generator() % 30;
                d.last = d.first + generator() % 6;
                sum += (d.bytes + 63) / 64 * 64;
            }
            const MemoryPlan plan = plan_memory(demands);
            QVERIFY(plan.bytes <= sum);
            for (std::size_t i = 0; i < demands.size(); ++i) {
                QCOMPARE(plan.offsets[i] % 64, std::size_t{0});
                QVERIFY(plan.offsets[i] + demands[i].bytes <= plan.bytes);
                for (std::size_t j = 0; j < i; ++j) {
                    const bool together = demands[i].first <= demands[j].last && demands[j].first <= demands[i].last;
                    const bool apart = plan.offsets[i] + demands[i].bytes <= plan.offsets[j] ||
                                       plan.offsets[j] + demands[j].bytes <= plan.offsets[i];
                    QVERIFY(!together || apart || demands[i].bytes == 0 || demands[j].bytes == 0);
                }
            }
        }
    }

private:
    static void backend_rows() {
        QTest::addColumn<QString>("backend");
        QTest::newRow("cpu") << "cpu";
        QTest::newRow("reference") << "reference";
    }

    static Tensor image(unsigned seed) {
        std::mt19937 generator(seed);
        return random_tensor(generator, DTypeId::float32, {1, 4, 8, 8});
    }

    /// A residual block with everything that fusion likes, and a var that is read twice.
    static std::shared_ptr<const Graph> branchy_graph() {
        std::mt19937 generator(99);
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 4, 8, 8});
        const auto conv = [&](VarId src, std::int64_t in, std::int64_t out) {
            Param p = GraphKit::param("Convolution");
            p.set("pad_h", std::int64_t{1}).set("pad_w", std::int64_t{1});
            return kit.opr("Convolution",
                           {src, kit.constant(random_tensor(generator, DTypeId::float32, {out, in, 3, 3}, -0.3, 0.3))}, {p});
        };
        const auto channel = [&](std::int64_t c) {
            return kit.constant(random_tensor(generator, DTypeId::float32, {1, c, 1, 1}));
        };
        const VarId a = kit.elemwise("RELU", {kit.elemwise("ADD", {conv(x, 4, 6), channel(6)})});
        const VarId scaled = kit.elemwise("FUSE_MUL_ADD3", {conv(a, 6, 6), channel(6), channel(6)});
        const VarId sum = kit.elemwise("FUSE_ADD_RELU", {scaled, a});
        const VarId gate = kit.elemwise("SIGMOID", {sum});
        const VarId gated = kit.elemwise("MUL", {sum, gate});
        const VarId clipped =
            kit.elemwise("MIN", {kit.elemwise("MAX", {conv(gated, 6, 4), kit.number(-0.5F)}), kit.number(0.5F)});
        kit.output(kit.elemwise("ADD", {clipped, x}));
        return kit.finish();
    }
};

QTEST_APPLESS_MAIN(ExecutorTest)
#include "test_executor.moc"
