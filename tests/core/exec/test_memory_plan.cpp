// Plans that compute values again: what they promise, and that the executor keeps it.

#include <QtTest>

#include <filesystem>
#include <set>

#include "exec/memory/memory_walk.h"
#include "exec/memory/plan.h"
#include "exec/memory/scheduled_program.h"
#include "graph_kit.h"
#include "small_stack.h"

using namespace megascope;
using namespace megascope::test;

namespace {

struct Training {
    std::shared_ptr<const Graph> graph;
    std::vector<Tensor> inputs;
};

/// Forward and backward of `layers` convolutions with ReLU, weight 8·8·3·3 each, gradients of all weights as outputs.
Training cnn_training(int layers, Shape shape) {
    GraphKit kit;
    std::mt19937 random(5);
    const VarId x = kit.input("x", DTypeId::float32, shape);
    Param conv = GraphKit::param("Convolution");
    conv.set("pad_h", std::int64_t{1}).set("pad_w", std::int64_t{1});
    std::vector<VarId> weights, before{x}, after;
    for (int i = 0; i < layers; ++i) {
        weights.push_back(kit.constant(random_tensor(random, DTypeId::float32, {shape[1], shape[1], 3, 3}, -0.2, 0.2)));
        after.push_back(kit.elemwise("RELU", {kit.opr("Convolution", {before.back(), weights.back()}, {conv})}));
        before.push_back(after.back());
    }
    kit.output(kit.opr("Reduce", {after.back(), kit.integers({1})}, {GraphKit::with_enum("Reduce", "mode", "SUM_SQR")}));
    VarId gradient = kit.elemwise("ADD", {after.back(), after.back()});
    std::vector<VarId> gradients;
    for (int i = layers; i-- > 0;) {
        const VarId inner = kit.elemwise("SWITCH_GT0", {after[static_cast<std::size_t>(i)], gradient});
        gradients.push_back(kit.opr("ConvolutionBackwardFilter", {before[static_cast<std::size_t>(i)], inner, weights[static_cast<std::size_t>(i)]}, {conv}));
        if (i) gradient = kit.opr("ConvolutionBackwardData", {weights[static_cast<std::size_t>(i)], inner, before[static_cast<std::size_t>(i)]}, {conv});
    }
    for (const VarId var : gradients) kit.output(var);
    return {kit.finish(), {random_tensor(random, DTypeId::float32, shape)}};
}

/// The plan's own promises, checked step by step: nothing is read that was dropped, and the bytes add up.
QString check(const Graph& graph, const MemoryPlanResult& plan, std::span<const std::optional<Shape>> shapes) {
    const auto model = model_memory(graph, shapes);
    if (!model) return QString::fromStdString(model.error().text());
    std::set<VarId> have;
    std::set<OprId> ran;
    for (const Opr& opr : graph.oprs())
        if (opr.inputs.empty() && opr.type != "UniformRNG") have.insert(opr.outputs.begin(), opr.outputs.end());
    std::size_t again = 0;
    for (std::size_t i = 0; i < plan.schedule.size(); ++i) {
        const ScheduleStep& step = plan.schedule[i];
        for (const VarId var : graph.opr(step.opr).inputs)
            if (!have.contains(var)) return QString("step %1 reads what is not there").arg(i);
        have.insert(graph.opr(step.opr).outputs.begin(), graph.opr(step.opr).outputs.end());
        if (step.again != !ran.insert(step.opr).second) return QString("step %1 is marked wrongly").arg(i);
        again += step.again;
        std::set<std::uint32_t> pieces;
        for (const VarId var : have)
            if (model->piece_of[var.index()] != MemoryModel::none) pieces.insert(model->piece_of[var.index()]);
        std::size_t bytes = 0;
        for (const std::uint32_t piece : pieces) bytes += model->piece(piece).bytes;
        if (plan.in_use[i] < bytes) return QString("step %1 holds %2 bytes, the plan says %3").arg(i).arg(bytes).arg(plan.in_use[i]);
        for (const VarId var : step.drops) have.erase(var);
    }
    for (const GraphOutput& output : graph.outputs())
        if (!have.contains(output.var)) return "an output was dropped";
    if (again != plan.extra_steps) return "extra steps are miscounted";
    if (*std::ranges::max_element(plan.in_use) != plan.peak) return "the peak is not the largest use";
    return {};
}

struct Ran {
    std::vector<Tensor> outputs;
    std::size_t peak = 0;
};
Expected<Ran> run(const Training& training, const MemoryPlanResult& plan, const char* backend) {
    MGS_ASSIGN(auto program, compile_scheduled(training.graph, plan.schedule, backend));
    MGS_ASSIGN(RunResult result, program->run(training.inputs, nullptr, {}));
    return Ran{std::move(result.outputs), program->measured_peak()};
}

} // namespace

class TestMemoryPlan : public QObject {
    Q_OBJECT
private slots:
    void configurations_are_checked();
    void plain_peak_by_hand();
    void shapes_that_depend_on_values_are_refused();
    void sublinear_saves_on_a_training_graph_data();
    void sublinear_saves_on_a_training_graph();
    void genetic_search_is_not_worse();
    void lower_bound_saves_computation();
    void dtr_keeps_its_threshold();
    void dtr_respects_the_minimum_size();
    void dtr_goes_through_deep_graphs();
    void random_operators_run_once();
    void views_share_their_bytes();
};

void TestMemoryPlan::configurations_are_checked() {
    const SublinearMemoryConfig defaults;
    QCOMPARE(defaults.thresh_nr_try, 10);
    QCOMPARE(defaults.genetic_nr_iter, 0);
    QCOMPARE(defaults.genetic_pool_size, 20);
    QCOMPARE(defaults.lb_memory_mb, 0);
    QVERIFY(defaults.check().has_value());
    QVERIFY(!SublinearMemoryConfig{.thresh_nr_try = -1}.check().has_value());
    QVERIFY(!DtrConfig{}.check().has_value()); // a threshold must be given
    QVERIFY(DtrConfig{.eviction_threshold = 1}.check().has_value());
    QCOMPARE(DtrConfig{}.evictee_minimum_size, std::size_t(1) << 20);
    QVERIFY(!(DtrConfig{.eviction_threshold = 1, .recomp_time_factor = -1}.check().has_value()));
}

void TestMemoryPlan::plain_peak_by_hand() {
    // a = -x, b = exp a, c = a + b (100 floats each): while c is computed all three are there.
    GraphKit kit;
    const VarId x = kit.input("x", DTypeId::float32, {100});
    const VarId a = kit.elemwise("NEGATE", {x});
    const VarId b = kit.elemwise("EXP", {a});
    kit.output(kit.elemwise("ADD", {a, b}));
    const auto graph = kit.finish();
    const auto plan = plan_without_recomputation(*graph, {});
    QVERIFY(plan.has_value());
    QCOMPARE(plan->peak, std::size_t(1200));
    QCOMPARE(plan->fixed_bytes, std::size_t(400));
    QCOMPARE(plan->in_use, (std::vector<std::size_t>{400, 800, 1200}));
    QCOMPARE(plan->extra_steps, std::size_t(0));
}

void TestMemoryPlan::shapes_that_depend_on_values_are_refused() {
    GraphKit kit;
    const VarId x = kit.input("x", DTypeId::float32, {4});
    kit.output(kit.oprs("CondTake", {x, x}, {}, 2).front());
    const auto graph = kit.finish();
    const auto plan = plan_sublinear(*graph, {}, {});
    QVERIFY(!plan.has_value());
    QCOMPARE(plan.error().code, ErrorCode::unsupported);
    QVERIFY(!plan.error().where.empty());
}

void TestMemoryPlan::sublinear_saves_on_a_training_graph_data() {
    QTest::addColumn<QString>("backend");
    QTest::newRow("cpu") << "cpu";
    QTest::newRow("reference") << "reference";
}

void TestMemoryPlan::sublinear_saves_on_a_training_graph() {
    QFETCH(QString, backend);
    const std::string name = backend.toStdString();
    const Training training = cnn_training(16, {1, 8, 12, 12});
    const auto plain = plan_without_recomputation(*training.graph, {});
    const auto plan = plan_sublinear(*training.graph, {}, {});
    QVERIFY(plain && plan);
    QCOMPARE(check(*training.graph, *plain, {}), QString());
    QCOMPARE(check(*training.graph, *plan, {}), QString());
    QCOMPARE(plan->plain_peak, plain->peak);
    const auto before = run(training, *plain, name.c_str()), after = run(training, *plan, name.c_str());
    QVERIFY2(before.has_value(), before ? "" : before.error().text().c_str());
    QVERIFY2(after.has_value(), after ? "" : after.error().text().c_str());
    QCOMPARE(before->peak, plain->peak);
    QCOMPARE(after->peak, plan->peak);
    qInfo("planned %zu -> %zu bytes, measured %zu -> %zu, %zu of %zu operators again, %.0f %% more operations", plain->peak, plan->peak,
          before->peak, after->peak, plan->extra_steps, plan->plain_steps, 100 * plan->extra_flops / plan->plain_flops);
    QVERIFY(static_cast<double>(after->peak) <= 0.6 * static_cast<double>(before->peak));
    QVERIFY(static_cast<double>(plan->peak) <= 0.8 * static_cast<double>(plan->reordered_peak)); // not by the order alone
    // Every forward operator at most about once more.
    QVERIFY(plan->extra_flops < plan->plain_flops);
    QCOMPARE(before->outputs.size(), after->outputs.size());
    for (std::size_t i = 0; i < before->outputs.size(); ++i) QVERIFY(same_bits(before->outputs[i], after->outputs[i]));
    // The backend's own plan computes the same, apart from rounding where it fuses; the plain one in every bit.
    const auto own = find_backend(name)->compile(training.graph, {}, {});
    QVERIFY(own.has_value());
    const auto result = (*own)->run(training.inputs, nullptr, {});
    QVERIFY(result.has_value());
    if (name == "reference")
        for (std::size_t i = 0; i < result->outputs.size(); ++i) QVERIFY(same_bits(result->outputs[i], after->outputs[i]));
}

void TestMemoryPlan::genetic_search_is_not_worse() {
    const Training training = cnn_training(14, {1, 4, 6, 6});
    const auto few = plan_sublinear(*training.graph, {}, {.thresh_nr_try = 2});
    const auto more = plan_sublinear(*training.graph, {}, {.thresh_nr_try = 2, .genetic_nr_iter = 8});
    const auto same = plan_sublinear(*training.graph, {}, {.thresh_nr_try = 2, .genetic_nr_iter = 8});
    QVERIFY(few && more && same);
    QVERIFY(more->peak <= few->peak);
    QCOMPARE(same->peak, more->peak); // the search is deterministic
    QCOMPARE(more->plans_tried, few->plans_tried + 8 * 20);
    QCOMPARE(check(*training.graph, *more, {}), QString());
    const auto none = plan_sublinear(*training.graph, {}, {.thresh_nr_try = 0});
    QVERIFY(none.has_value());
    QCOMPARE(none->extra_steps, std::size_t(0)); // only the order is chosen
    QCOMPARE(none->peak, none->reordered_peak);
}

void TestMemoryPlan::lower_bound_saves_computation() {
    // 16 layers of 1 MiB each: with a bound that the plain plan keeps nothing is computed again.
    const Training training = cnn_training(8, {1, 8, 128, 256});
    const auto free = plan_sublinear(*training.graph, {}, {});
    const auto bound = plan_sublinear(*training.graph, {}, {.lb_memory_mb = 64});
    QVERIFY(free && bound);
    QVERIFY(free->extra_steps > 0);
    QCOMPARE(bound->extra_steps, std::size_t(0));
    const auto between = plan_sublinear(*training.graph, {}, {.lb_memory_mb = 10});
    QVERIFY(between.has_value());
    QVERIFY(between->extra_traffic <= free->extra_traffic);
    QVERIFY(between->peak <= std::max(free->peak, std::size_t(10) << 20));
}

void TestMemoryPlan::dtr_keeps_its_threshold() {
    const Training training = cnn_training(16, {1, 8, 12, 12});
    const auto plain = plan_without_recomputation(*training.graph, {});
    QVERIFY(plain.has_value());
    // Less than the best order alone needs.
    const std::size_t threshold = plan_sublinear(*training.graph, {}, {})->reordered_peak * 8 / 10;
    const auto plan = plan_dtr(*training.graph, {}, {.eviction_threshold = threshold, .evictee_minimum_size = 1024});
    QVERIFY(plan.has_value());
    QCOMPARE(check(*training.graph, *plan, {}), QString());
    const auto before = run(training, *plain, "cpu"), after = run(training, *plan, "cpu");
    QVERIFY(before && after);
    QCOMPARE(after->peak, plan->peak);
    qInfo("planned %zu -> %zu bytes, measured %zu -> %zu, %zu of %zu operators again", plain->peak, plan->peak, before->peak, after->peak,
          plan->extra_steps, plan->plain_steps);
    QVERIFY(plan->peak <= threshold);
    QVERIFY(plan->extra_steps > 0);
    for (std::size_t i = 0; i < before->outputs.size(); ++i) QVERIFY(same_bits(before->outputs[i], after->outputs[i]));
    // A threshold below what one operator needs cannot be kept, but the plan still computes the same.
    const auto tiny = plan_dtr(*training.graph, {}, {.eviction_threshold = 1, .evictee_minimum_size = 1});
    QVERIFY(tiny.has_value());
    QCOMPARE(check(*training.graph, *tiny, {}), QString());
    const auto squeezed = run(training, *tiny, "cpu");
    QVERIFY(squeezed.has_value());
    for (std::size_t i = 0; i < before->outputs.size(); ++i) QVERIFY(same_bits(before->outputs[i], squeezed->outputs[i]));
}

void TestMemoryPlan::dtr_respects_the_minimum_size() {
    const Training training = cnn_training(6, {1, 8, 12, 12}); // values of 4608 bytes
    const auto all = plan_dtr(*training.graph, {}, {.eviction_threshold = 20000, .evictee_minimum_size = 4608});
    const auto none = plan_dtr(*training.graph, {}, {.eviction_threshold = 20000, .evictee_minimum_size = 4609});
    QVERIFY(all && none);
    QVERIFY(all->extra_steps > 0);
    QCOMPARE(none->extra_steps, std::size_t(0));
}

/// All values of a long chain are dropped, and are read again at the end.
void TestMemoryPlan::dtr_goes_through_deep_graphs() {
    constexpr int depth = 700;
    GraphKit kit;
    std::vector<VarId> chain{kit.input("x", DTypeId::float32, {256})};
    for (int i = 0; i < depth; ++i) chain.push_back(kit.elemwise("RELU", {chain.back()}));
    VarId sum = chain.back();
    for (int i = 1; i < depth; ++i) sum = kit.elemwise("ADD", {sum, chain[static_cast<std::size_t>(i)]}, 1);
    kit.output(sum);
    const auto graph = kit.finish();
    std::optional<MemoryPlanResult> plan;
    on_a_small_stack(48 * 1024, [&] {
        if (auto made = plan_dtr(*graph, {}, {.eviction_threshold = 32 * 1024, .evictee_minimum_size = 1024}, {})) plan = std::move(*made);
    });
    QVERIFY(plan);
    QCOMPARE(check(*graph, *plan, {}), QString());
    QVERIFY(plan->extra_steps > 0);
}

void TestMemoryPlan::random_operators_run_once() {
    // A random mask is used in the forward part and again at the end.
    GraphKit kit;
    const VarId x = kit.input("x", DTypeId::float32, {1, 1, 32, 32});
    const VarId mask = kit.opr("UniformRNG", {kit.integers({1, 1, 32, 32})});
    std::vector<VarId> chain{kit.elemwise("MUL", {x, mask})};
    for (int i = 0; i < 12; ++i) chain.push_back(kit.elemwise("SIN", {chain.back()}));
    VarId back = chain.back();
    for (int i = 12; i-- > 0;) back = kit.elemwise("MUL", {back, chain[static_cast<std::size_t>(i)]});
    kit.output(back);
    const auto graph = kit.finish();
    for (const auto& plan : {plan_sublinear(*graph, {}, {}), plan_dtr(*graph, {}, {.eviction_threshold = 6 * 4096, .evictee_minimum_size = 1})}) {
        QVERIFY(plan.has_value());
        QVERIFY(plan->extra_steps > 0);
        QVERIFY(plan->peak < plan->plain_peak);
        QCOMPARE(check(*graph, *plan, {}), QString());
        int runs = 0;
        for (const ScheduleStep& step : plan->schedule) runs += graph->opr(step.opr).type == "UniformRNG";
        QCOMPARE(runs, 1);
    }
}

void TestMemoryPlan::views_share_their_bytes() {
    GraphKit kit;
    const VarId x = kit.input("x", DTypeId::float32, {10, 10});
    const VarId a = kit.elemwise("NEGATE", {x});
    const VarId flat = kit.opr("Reshape", {a, kit.integers({100})});
    kit.output(kit.elemwise("EXP", {flat}));
    const auto graph = kit.finish();
    const auto plan = plan_without_recomputation(*graph, {});
    QVERIFY(plan.has_value());
    QCOMPARE(plan->in_use, (std::vector<std::size_t>{400, 400, 800}));
    const auto program = compile_scheduled(graph, plan->schedule, "reference");
    QVERIFY(program.has_value());
    std::mt19937 random(1);
    const std::vector<Tensor> inputs{random_tensor(random, DTypeId::float32, {10, 10})};
    QVERIFY((*program)->run(inputs, nullptr, {}).has_value());
    QCOMPARE((*program)->measured_peak(), std::size_t(800));
}

QTEST_APPLESS_MAIN(TestMemoryPlan)
#include "test_memory_plan.moc"
