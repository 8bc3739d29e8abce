#include <QtTest>

#include "core/exec/graph_kit.h"
#include "exec/memory/graph_memory.h"
#include "exec/memory/plan_curve.h"
#include "exec/memory/plan_map.h"

using namespace megascope;
using namespace megascope::test;

namespace {

Plan compiled(const std::shared_ptr<const Graph>& graph, bool unfused) {
    CompileOptions options;
    options.unfused = unfused;
    const auto program = find_backend("cpu")->compile(graph, options, {});
    if (!program) qFatal("%s", program.error().text().c_str());
    return (*program)->plan();
}

const PlanBlock* block_of(const Plan& plan, VarId var) {
    for (const PlanBlock& block : plan.blocks)
        if (block.var == var || std::ranges::find(block.sharing, var) != block.sharing.end()) return &block;
    return nullptr;
}

/// Bytes of values alive at a step, without what kernels scribble on.
std::uint64_t values_at(const MemoryMap& map, std::uint32_t step) {
    std::uint64_t bytes = 0;
    for (const std::uint32_t block : map.alive_at(step))
        if (map.blocks[block].kind == MemoryBlock::Kind::var) bytes += map.blocks[block].bytes;
    return bytes;
}

} // namespace

class PlanMapTest : public QObject {
    Q_OBJECT
private slots:
    /// x → a = relu(x) → b = exp(a) → c = a + b, 4000 bytes each. Every step by itself: a has to outlive b, c is the output.
    void lifetimesOfAnUnfusedChain() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1000});
        const VarId a = kit.elemwise("RELU", {x});
        const VarId b = kit.elemwise("EXP", {a});
        const VarId c = kit.elemwise("ADD", {a, b});
        kit.output(c);
        const auto graph = kit.finish();
        const Plan plan = compiled(graph, true);
        QCOMPARE(plan.steps.size(), 4U); // the input is the first one
        QVERIFY(!block_of(plan, x));     // it is the caller's
        for (const VarId var : {a, b, c}) {
            QVERIFY(block_of(plan, var));
            QCOMPARE(block_of(plan, var)->bytes, 4000U);
        }
        QCOMPARE(block_of(plan, a)->first, 1U);
        QCOMPARE(block_of(plan, a)->last, 3U);
        QCOMPARE(block_of(plan, b)->first, 2U);
        QVERIFY(block_of(plan, a) != block_of(plan, b));
        QCOMPARE(block_of(plan, c)->kind, PlanBlock::Kind::output);

        const MemoryMap map = map_of_plan(*graph, infer_graph(*graph), plan);
        QCOMPARE(map.input_bytes, 4000U);
        QCOMPARE(values_at(map, 0), 0U);
        QCOMPARE(values_at(map, 1), 4000U);
        QCOMPARE(values_at(map, 2), 8000U);
        QVERIFY(values_at(map, 3) == 8000U || values_at(map, 3) == 12000U); // c may lie where a or b was
        // Workspaces are there for their step only.
        for (const MemoryBlock& block : map.blocks)
            if (block.kind == MemoryBlock::Kind::workspace) QVERIFY(block.first == block.last && block.name == map.steps[block.first]);
        QCOMPARE(map.steps.size(), map.step_oprs.size());
    }

    /// Fused, nothing in between is ever stored: only the output takes memory.
    void fusedVarsTakeNoMemory() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1000});
        const VarId a = kit.elemwise("RELU", {x});
        const VarId b = kit.elemwise("EXP", {a});
        kit.output(b);
        const auto graph = kit.finish();
        const Plan plan = compiled(graph, false);
        QCOMPARE(plan.steps.size(), 2U);
        QVERIFY(!block_of(plan, a));
        const MemoryMap map = map_of_plan(*graph, infer_graph(*graph), plan);
        QCOMPARE(values_at(map, 1), 4000U);
        QVERIFY(map.steps[1].ends_with("(with 1 more)"));
    }

    void aBackendThatPlansNothingHasNoBlocks() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {10});
        kit.output(kit.elemwise("RELU", {x}));
        const auto graph = kit.finish();
        const auto program = find_backend("reference")->compile(graph, {}, {});
        QVERIFY(program.has_value());
        QVERIFY(map_of_plan(*graph, infer_graph(*graph), (*program)->plan()).blocks.empty());
    }

    /// A chain of twelve SIN of 4000 bytes whose results are all read again backwards: the more memory, the less is computed again.
    void aBudgetCurveTradesMemoryForComputation() {
        GraphKit kit;
        std::vector<VarId> chain = {kit.input("x", DTypeId::float32, {1000})};
        for (int i = 0; i < 12; ++i) chain.push_back(kit.elemwise("SIN", {chain.back()}));
        VarId back = chain.back();
        for (std::size_t i = chain.size() - 1; i-- > 1;) back = kit.elemwise("MUL", {back, chain[i]});
        kit.output(back);
        const auto graph = kit.finish();
        RecomputeConfig config;
        config.dtr.evictee_minimum_size = 0;
        const auto curve = plan_budget_curve(*graph, {}, config);
        QVERIFY2(curve.has_value(), curve ? "" : curve.error().text().c_str());
        QCOMPARE(curve->plain_steps, 23U);
        QVERIFY(curve->plain_peak >= 12 * 4000);
        QCOMPARE(curve->points.size(), 10U);
        QCOMPARE(curve->points.back().budget, curve->plain_peak);
        QVERIFY(curve->points[4].peak < curve->plain_peak);
        QVERIFY(curve->points[4].extra_steps > 0);
        for (std::size_t i = 1; i < curve->points.size(); ++i) QVERIFY(curve->points[i].budget > curve->points[i - 1].budget);
        // One number of the curve is the plan of that budget.
        config.dtr.eviction_threshold = curve->points[5].budget;
        const auto plan = plan_recomputation(*graph, {}, config);
        QVERIFY(plan.has_value());
        QCOMPARE(plan->peak, curve->points[5].peak);
        QCOMPARE(plan->extra_steps, curve->points[5].extra_steps);

        CancelToken cancel;
        cancel.cancel();
        const auto stopped = plan_budget_curve(*graph, {}, config, cancel);
        QVERIFY(!stopped.has_value());
        QCOMPARE(stopped.error().code, ErrorCode::cancelled);
    }
};

QTEST_APPLESS_MAIN(PlanMapTest)
#include "test_plan_map.moc"
